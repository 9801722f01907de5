// SPDX-License-Identifier: MIT
/* kfdsched workload: starts kfdreplay, which runs a recorded model on the GPU, so that users can
 * try the other commands on it. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "cli/util/parse_options.h"
#include "cli/util/subprocess.h"
#include "common/allocate.h"

/* Online models get requests at a low load, offline models run as fast as they can. */
static const struct preset {
	const char *name;
	const char *trace;
	const char *what;
	const char *load; /* NULL: --closed */
} presets[] = {
	{"gemm", "offline_gemm4000_f32.csv", "products of two 4000 x 4000 matrices", NULL},
	{"cnn", "online_resnet50_b1.csv", "requests to ResNet-50, at 20 % load", "0.2"},
	{"transformer", "offline_gpt2m_train_8x1024.csv", "training steps of GPT-2 medium", NULL},
	{"llm-decode", "online_llama1b_decode_b1.csv", "tokens of a Llama of 1.1B parameters",
	 NULL},
};
#define PRESETS (sizeof(presets) / sizeof(presets[0]))
#define ARGUMENTS 24 /* most arguments of one kfdreplay */

struct job {
	const struct preset *preset;
	struct option_number seconds;
	const char *priority, *api, *device;
	bool all_gpus, json;
	char replay[PATH_MAX], trace[PATH_MAX];
};

/* Finds a trace in traces/ of the build, or in the installation. Returns 0 or -ENOENT. */
static int find_trace(const char *name, char path[PATH_MAX])
{
	static const char *const dirs[] = {"traces", "../share/kfdshim/traces"};
	char tried[256];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(tried, sizeof(tried), "%s/%s", dirs[i], name);
		if (cli_beside(tried, path) == 0)
			return 0;
	}
	return -ENOENT;
}

/* Fills list[] with kfdreplay and the arguments that do not depend on the GPU. Returns their
 * number. */
static size_t replay_arguments(const struct job *job, const char *list[static ARGUMENTS])
{
	size_t n = 0;

	list[n++] = job->replay;
	list[n++] = "--trace";
	list[n++] = job->trace;
	list[n++] = "--seconds";
	list[n++] = job->seconds.text;
	list[n++] = job->preset->load ? "--load" : "--closed";
	if (job->preset->load)
		list[n++] = job->preset->load;
	if (job->api) {
		list[n++] = "--api";
		list[n++] = job->api;
	}
	return n;
}

/* Executes kfdreplay on one GPU in place of this program, so that the process id stays the same.
 * Returns the exit code if that fails. */
static int become_replay(const struct job *job)
{
	const char *list[ARGUMENTS + 8];
	char self[PATH_MAX];
	size_t n = 0;

	if (job->priority) {
		/* Let "kfdsched run" start kfdreplay, with libkfdshim.so. */
		if (cli_beside("kfdsched", self))
			return cli_failed(&cmd_workload, "cannot find the directory of kfdsched");
		list[n++] = self;
		list[n++] = "run";
		list[n++] = "--priority";
		list[n++] = job->priority;
		list[n++] = "--";
	}
	n += replay_arguments(job, list + n);
	if (job->device) {
		list[n++] = "--device";
		list[n++] = job->device;
	}
	if (job->json) {
		list[n++] = "--json";
		list[n++] = "-";
	}
	list[n] = NULL;
	execv(list[0], (char *const *)(uintptr_t)list);
	return cli_failed(&cmd_workload, "cannot start %s: %s", list[0], strerror(errno));
}

/* ---- on all GPUs: a kfdreplay for each, as the ranks of one job ---- */

struct rank {
	const struct gpu_name *gpu;
	struct subprocess *child; /* in the process group */
	int file;		  /* memfd into which kfdreplay writes its result; -1: none */
	json_t *result;		  /* NULL: kfdreplay has left no result */
};

struct ranks {
	struct process_group children;
	struct rank list[GPU_NODES_MAX];
	size_t count;
	char shim[PATH_MAX]; /* libkfdshim.so; empty: none */
	char priority[48], group[48];
};

/* Starts kfdreplay on the GPU of `rank`. Returns 0 or a negative errno. */
static int start(struct ranks *ranks, const struct job *job, struct rank *rank)
{
	const char *argv[ARGUMENTS + 5], *environment[3] = {0};
	char name[48], device[16], path[32];
	size_t n = replay_arguments(job, argv);

	/* The memfd is not closed on exec, because kfdreplay opens it by its path in /proc. */
	rank->file = memfd_create("result", 0);
	if (rank->file < 0)
		return -errno;
	snprintf(name, sizeof(name), "GPU %u kfdreplay", rank->gpu->index);
	snprintf(device, sizeof(device), "%u", rank->gpu->index);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", rank->file);
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

/* Starts a rank on each GPU. After an error the ranks started so far are still in the process
 * group, which ends them. Returns 0 or a negative errno. */
static int start_all(struct ranks *ranks, const struct job *job)
{
	const struct gpu_name *gpus = gpus_all(&ranks->count);
	int rc = 0;

	for (size_t i = 0; i < ranks->count; i++)
		ranks->list[i] = (struct rank){.gpu = &gpus[i], .file = -1};
	for (size_t i = 0; !rc && i < ranks->count; i++)
		rc = start(ranks, job, &ranks->list[i]);
	return rc;
}

static bool all_have_ended(const struct ranks *ranks)
{
	for (unsigned i = 0; i < ranks->children.count; i++)
		if (!ranks->children.list[i].ended)
			return false;
	return true;
}

/* Waits for the end of all ranks. Returns the exit code of the first one that failed. A signal ends
 * all of them, and the exit code is then CLI_DONE. */
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

#include "cli/colocate/workload.def"

static void print_table(const struct ranks *ranks)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < ranks->count; i++) {
		json_t *row = gpus_entry(ranks->list[i].gpu), *result = ranks->list[i].result;
		json_t *latency = json_object_get(result, "latency_us");

		if (result)
			json_object_update_missing(row, result);
		json_object_set(row, "p50_us", json_object_get(latency, "p50"));
		json_object_set(row, "p99_us", json_object_get(latency, "p99"));
		json_array_append_new(rows, row);
	}
	render_table(fields_workload_row,
		     "index,requests,rate_per_s,gpu_busy_ratio,p50_us,p99_us,NAME", rows, stdout);
}

static void print_json(const struct ranks *ranks)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ranks->count; i++) {
		json_t *gpu = gpus_entry(ranks->list[i].gpu), *result = ranks->list[i].result;

		json_object_set_new(gpu, "result", result ? json_incref(result) : json_null());
		json_array_append_new(list, gpu);
	}
	render_print(json_pack("{so}", "gpus", list), JSON_INDENT(2) | JSON_REAL_PRECISION(12));
}

/* Prepares what all ranks have in common. If job->priority is set, puts the ranks into one group,
 * so that a daemon suspends and resumes them together. Returns CLI_GO_ON or the exit code. */
static int set_up(struct ranks *ranks, const struct job *job)
{
	size_t n;

	gpus_all(&n);
	if (!n) {
		cli_failed(&cmd_workload, "there is no GPU here");
		return CLI_IMPOSSIBLE;
	}
	if (!job->priority)
		return CLI_GO_ON;
	if (cli_need(&cmd_workload, "libkfdshim.so", true, ranks->shim))
		return CLI_FAILED;
	snprintf(ranks->priority, sizeof(ranks->priority), "KFDSHIM_PRIORITY=%s", job->priority);
	snprintf(ranks->group, sizeof(ranks->group), "KFDSHIM_GROUP=workload-%d", (int)getpid());
	return CLI_GO_ON;
}

static int run_ranks(struct ranks *ranks, const struct job *job)
{
	int code, rc = start_all(ranks, job);

	if (rc)
		return cli_failed(&cmd_workload, "cannot start a process: %s", strerror(-rc));
	code = wait_for_all(ranks);
	read_results(ranks);
	if (job->json)
		print_json(ranks);
	else
		print_table(ranks);
	return code;
}

/* Starts a rank on each GPU, waits until all have ended, and prints their results. A signal ends
 * the ranks early; their results are printed all the same. Returns the exit code: that of the first
 * rank that failed, else CLI_DONE. */
static int run_on_all(const struct job *job)
{
	struct ranks *ranks = allocate(1, sizeof(*ranks));
	int code = set_up(ranks, job);
	int rc = code == CLI_GO_ON ? process_group_open(&ranks->children) : 0;

	if (rc)
		code = cli_failed(&cmd_workload, "cannot handle signals: %s", strerror(-rc));
	if (code == CLI_GO_ON) {
		code = run_ranks(ranks, job);
		process_group_close(&ranks->children);
	}
	for (size_t i = 0; i < ranks->count; i++) {
		json_decref(ranks->list[i].result);
		if (ranks->list[i].file >= 0)
			close(ranks->list[i].file);
	}
	free(ranks);
	return code;
}

static int run(int argc, char **argv)
{
	const char *names[PRESETS + 1] = {NULL};
	struct job job = {.seconds = {30, "30"}};
	unsigned preset = 0;
	const struct cli_option options[] = {
		{OPTION_NUMBER("seconds", &job.seconds, 0, "a number above 0")},
		{OPTION_PRIORITY(&job.priority)},
		{OPTION_TEXT("api", &job.api)},
		{OPTION_TEXT("device", &job.device)},
		{OPTION_FLAG("all-gpus", &job.all_gpus)},
		{OPTION_JSON(&job.json)},
		{OPTION_CHOICE("workload", &preset, names), .word = true},
		{0},
	};
	int code;

	for (size_t i = 0; i < PRESETS; i++)
		names[i] = presets[i].name;
	code = options_read(&cmd_workload, argc, argv, options);
	if (code != CLI_GO_ON)
		return code;
	if (job.all_gpus && job.device)
		return cli_usage(&cmd_workload, "--all-gpus and --device exclude each other");
	job.preset = &presets[preset];
	if (cli_need(&cmd_workload, "kfdreplay", false, job.replay))
		return CLI_FAILED;
	if (find_trace(job.preset->trace, job.trace))
		return cli_failed(&cmd_workload,
				  "%s is neither in traces/ beside kfdsched nor in "
				  "../share/kfdshim/traces: build or install it there",
				  job.preset->trace);
	fprintf(stderr, "kfdsched workload: process %d: %s, for %s s%s\n", (int)getpid(),
		job.preset->what, job.seconds.text, job.all_gpus ? ", on each GPU" : "");
	return job.all_gpus ? run_on_all(&job) : become_replay(&job);
}

const struct cli_command cmd_workload = {
	.name = "workload",
	.summary = "run GPU work for experiments: a recorded model",
	.usage = "gemm|cnn|transformer|llm-decode [--seconds N] [--priority P] [--api hsa|hip] "
		 "[--device N | --all-gpus] [--json]",
	.help = "Replays a recorded model through the GPU's runtime until the time is over, or Ctrl-C, and\n"
		"prints the durations of its requests. It runs kfdreplay with these recordings:\n"
		"\n"
		"  gemm           products of two 4000 x 4000 matrices, one after the other\n"
		"  cnn            single requests to ResNet-50, at 20 % load\n"
		"  transformer    training steps of GPT-2 medium, one after the other\n"
		"  llm-decode     tokens of a Llama of 1.1B parameters, one after the other\n"
		"\n"
		"  --seconds N    wall time, default 30\n"
		"  --priority P   online, offline or 0 to 15: runs with the shim, as by 'kfdsched run';\n"
		"                 default: without the shim\n"
		"  --api NAME     hsa (default) or hip\n"
		"  --device N     index of the GPU, from 0\n"
		"  --all-gpus     a process on each GPU, all at once; with a priority they are one group,\n"
		"                 which is suspended and resumed together\n"
		"  --json         the result on stdout (docs/reference/kfdreplay.md)\n"
		"\n"
		"Examples:\n"
		"  kfdsched workload transformer --priority offline --seconds 600 &\n"
		"  kfdsched workload gemm --all-gpus --json | jq '.gpus[] | {index, rate: .result.rate_per_s}'\n",
	.run = run,
};
