// SPDX-License-Identifier: MIT
#include "cli/colocate/workload.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/util/command.h"
#include "cli/util/gpus.h"
#include "cli/util/subprocess.h"
#include "common/text.h"

struct rank {
	const struct gpu_name *gpu;
	struct subprocess *child; /* in the process group */
	int file;		  /* memfd into which kfdreplay writes its result; -1: none */
	json_t *result;		  /* NULL: it has left none */
};

struct ranks {
	struct process_group children;
	struct rank list[GPU_NODES_MAX];
	size_t count;
	char shim[PATH_MAX]; /* libkfdshim.so; empty: none */
	char priority[48], group[48];
};

/* Starts kfdreplay on the GPU of `rank`. Returns 0 or a negative errno. */
static int start(struct ranks *ranks, const struct workload *workload, struct rank *rank)
{
	const char *argv[WORKLOAD_ARGUMENTS + 5], *environment[3] = {0};
	char name[48], device[16], path[32];
	size_t n = 0;

	/* Not closed on exec: kfdreplay opens it by its path in /proc. */
	rank->file = memfd_create("result", 0);
	if (rank->file < 0)
		return -errno;
	snprintf(name, sizeof(name), "GPU %u kfdreplay", rank->gpu->index);
	snprintf(device, sizeof(device), "%u", rank->gpu->index);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", rank->file);
	for (; n < WORKLOAD_ARGUMENTS && workload->argv[n]; n++)
		argv[n] = workload->argv[n];
	argv[n++] = "--device";
	argv[n++] = device;
	argv[n++] = "--json";
	argv[n++] = path;
	argv[n] = NULL;
	if (ranks->shim[0]) {
		environment[0] = ranks->priority;
		environment[1] = ranks->group;
	}
	rank->child = process_group_start(&ranks->children,
					  &(struct child_spec){
						  .name = name,
						  .argv = argv,
						  .environment = environment,
						  .shim = ranks->shim[0] ? ranks->shim : NULL,
						  .death_signal = SIGTERM,
					  });
	return rank->child ? 0 : -errno;
}

/* Starts a rank on each GPU. After an error the ranks that were started are in the process group. Returns
 * 0 or a negative errno. */
static int start_all(struct ranks *ranks, const struct workload *workload)
{
	const struct gpu_name *gpus = gpus_all(&ranks->count);
	int rc = 0;

	for (size_t i = 0; i < ranks->count; i++)
		ranks->list[i] = (struct rank){.gpu = &gpus[i], .file = -1};
	for (size_t i = 0; !rc && i < ranks->count; i++)
		rc = start(ranks, workload, &ranks->list[i]);
	return rc;
}

static bool all_have_ended(const struct ranks *ranks)
{
	for (unsigned i = 0; i < ranks->children.count; i++)
		if (!ranks->children.list[i].ended)
			return false;
	return true;
}

/* Waits for the end of all ranks. Returns the exit code of the first one that failed. After a
 * signal all are ended, and none has failed. */
static int wait_for_all(struct ranks *ranks)
{
	int rc = 0, code = CLI_DONE;

	while (!rc && !all_have_ended(ranks))
		rc = process_group_pump(&ranks->children, 1000);
	for (unsigned i = 0; !rc && !code && i < ranks->children.count; i++)
		code = cli_exit_code(ranks->children.list[i].status);
	process_group_empty(&ranks->children);
	if (rc && rc != -EINTR)
		return cli_failed(&cmd_workload, "cannot wait for the processes: %s",
				  strerror(-rc));
	return code;
}

static void read_results(struct ranks *ranks)
{
	for (size_t i = 0; i < ranks->count; i++) {
		struct rank *rank = &ranks->list[i];

		if (rank->file >= 0 && lseek(rank->file, 0, SEEK_SET) == 0)
			rank->result = json_loadfd(rank->file, 0, NULL);
	}
}

/* ---- output ---- */

/* Returns NAN if the result does not have the number, as the latency of no request. */
static double number(const json_t *result, const char *key)
{
	const json_t *value = json_object_get(result, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static int print_table(const struct ranks *ranks)
{
	struct table *table = table_new("GPU|REQUESTS|PER SECOND|GPU BUSY %|P50|P99|<NAME");
	char text[QUANTITY_BYTES], name[GPU_NAME_LONG];
	int rc;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < ranks->count; i++) {
		const json_t *result = ranks->list[i].result;
		const json_t *latency = json_object_get(result, "latency_us");

		table_row(table);
		table_cell(table, "%u", ranks->list[i].gpu->index);
		if (result) {
			table_cell(table, "%.0f", number(result, "requests"));
			table_cell(table, "%.1f", number(result, "rate_per_s"));
			table_cell(table, "%.1f", 100 * number(result, "gpu_busy_ratio"));
			table_cell(table, "%s", quantity_us(text, number(latency, "p50")));
			table_cell(table, "%s", quantity_us(text, number(latency, "p99")));
		} else {
			for (unsigned c = 0; c < 5; c++)
				table_cell(table, TABLE_UNKNOWN);
		}
		table_cell(table, "%s", gpu_name_long(name, ranks->list[i].gpu));
	}
	rc = table_print(table, stdout);
	table_free(table);
	return rc;
}

static int print_json(const struct ranks *ranks)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ranks->count; i++) {
		json_t *gpu = gpus_entry(ranks->list[i].gpu), *result = ranks->list[i].result;

		json_object_set_new(gpu, "result", result ? json_incref(result) : json_null());
		json_array_append_new(list, gpu);
	}
	return render_print(json_pack("{so}", "gpus", list),
			    JSON_INDENT(2) | JSON_REAL_PRECISION(12));
}

/* ---- command ---- */

/* Prepares what all ranks have in common. With a priority they are one group, so that a daemon
 * holds and resumes them together. Returns CLI_GO_ON or the exit code. */
static int set_up(struct ranks *ranks, const struct workload *workload)
{
	size_t n;

	gpus_all(&n);
	if (!n) {
		cli_failed(&cmd_workload, "there is no GPU here");
		return CLI_IMPOSSIBLE;
	}
	if (!workload->priority)
		return CLI_GO_ON;
	if (cli_beside("libkfdshim.so", ranks->shim))
		return cli_failed(&cmd_workload,
				  "libkfdshim.so is neither in the directory of kfdsched nor in "
				  "../lib: build or install it there");
	snprintf(ranks->priority, sizeof(ranks->priority), "KFDSHIM_PRIORITY=%s",
		 workload->priority);
	snprintf(ranks->group, sizeof(ranks->group), "KFDSHIM_GROUP=workload-%d", (int)getpid());
	return CLI_GO_ON;
}

static int run_all(struct ranks *ranks, const struct workload *workload)
{
	int code, rc = start_all(ranks, workload);

	if (rc)
		return cli_failed(&cmd_workload, "cannot start a process: %s", strerror(-rc));
	code = wait_for_all(ranks);
	read_results(ranks);
	rc = workload->json ? print_json(ranks) : print_table(ranks);
	return rc ? cli_failed(&cmd_workload, "out of memory for the results") : code;
}

int workload_on_all(const struct workload *workload)
{
	struct ranks *ranks = calloc(1, sizeof(*ranks));
	int code = ranks ? set_up(ranks, workload) : cli_failed(&cmd_workload, "out of memory");
	int rc = code == CLI_GO_ON ? process_group_open(&ranks->children) : 0;

	if (rc)
		code = cli_failed(&cmd_workload, "cannot handle signals: %s", strerror(-rc));
	if (code == CLI_GO_ON) {
		code = run_all(ranks, workload);
		process_group_close(&ranks->children);
	}
	for (size_t i = 0; ranks && i < ranks->count; i++) {
		json_decref(ranks->list[i].result);
		if (ranks->list[i].file >= 0)
			close(ranks->list[i].file);
	}
	free(ranks);
	return code;
}
