// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/inspect/sources.h"
#include "cli/record/record.h"
#include "cli/util/daemon_query.h"
#include "cli/util/gpus.h"
#include "common/allocate.h"
#include "common/json_util.h"

/* The latest raw text of one debugfs file. A new file is written only when the text has changed. */
struct raw {
	const char *kind;
	char *text;
	char name[32];
};

struct recorder {
	int dir, index;
	unsigned long samples;
	struct raw mqds, hqds;
	char path[PATH_MAX]; /* as given by the user, for messages */
};

/* ---- nodes of this machine ---- */

json_t *recording_nodes(struct snapshot_reader *reader)
{
	size_t count;
	const struct topology_gpu *gpus = snapshot_gpus(reader, &count);
	json_t *nodes = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct topology_gpu *g = &gpus[i];
		json_t *node = json_pack(
			"{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "gpu_id", (json_int_t)g->gpu_id,
			"node", (json_int_t)g->node, "gfx_target_version",
			(json_int_t)g->gfx_target_version, "xccs", (json_int_t)g->xccs,
			"compute_slots", (json_int_t)g->cp_queues, "sdma_engines",
			(json_int_t)g->sdma_engines, "xgmi_engines", (json_int_t)g->xgmi_engines,
			"sdma_queues", (json_int_t)g->sdma_queues);

		gpus_add(node, gpus_name(g->gpu_id));
		json_array_append_new(nodes, node);
	}
	return nodes;
}

/* ---- processes that use a GPU ---- */

json_t *gpu_users_now(const char *socket)
{
	bool otherwise = source_daemon_counts_otherwise(socket);
	json_t *list, *status = NULL;
	char why[OBSERVE_WHY];
	struct gpu_processes users;

	if (observe_can_list(socket, why))
		return json_null();
	gpu_processes_read(OBSERVE_ALL, socket, &users);
	/* Without a daemon `status` stays NULL, and every role is null. */
	query_daemon(socket, 0, &status);
	list = json_array();
	for (size_t i = 0; i < users.count && i < RECORDED_USERS; i++) {
		char comm[16];
		/* A process that the daemon does not know has no role: JSON null. */
		json_t *role = json_object_get(
			source_daemon_process(status, otherwise, users.pid[i]), "role");

		proc_comm(users.pid[i], comm);
		json_array_append_new(list,
				      json_pack("{s:I,s:o,s:O?}", "pid", (json_int_t)users.pid[i],
						"comm", plain_or_null(comm), "role", role));
	}
	gpu_processes_free(&users);
	json_decref(status);
	return list;
}

/* ---- directory ---- */

static int cannot(struct recorder *r, const char *what, const char *name, char why[RECORDING_WHY])
{
	int error = errno;

	snprintf(why, RECORDING_WHY, "cannot %s %.200s%s%s: %s%s", what, r->path, name ? "/" : "",
		 name ? name : "", strerror(error),
		 error == ENOSPC   ? "; free space, or choose another directory"
		 : error == EACCES ? "; choose a directory with write permission"
				   : "");
	return -error;
}

static bool is_empty(int fd)
{
	int copy = dup(fd);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	bool empty = dir != NULL;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(dir);
	return empty;
}

static int open_dir(struct recorder *r, char why[RECORDING_WHY])
{
	if (mkdir(r->path, 0700) && errno != EEXIST)
		return cannot(r, "create the directory", NULL, why);
	/* O_NOFOLLOW: a symbolic link could lead into a directory of another user, which matters
	 * if root records. */
	r->dir = open(r->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->dir < 0)
		return cannot(r, "use as a directory", NULL, why);
	if (!is_empty(r->dir)) {
		snprintf(why, RECORDING_WHY,
			 "%.200s exists and is not empty; choose a directory that does not exist",
			 r->path);
		return -EEXIST;
	}
	return 0;
}

int recorder_file(struct recorder *r, const char *name, char why[RECORDING_WHY])
{
	int fd = openat(r->dir, name,
			O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : cannot(r, "make", name, why);
}

static int write_whole(struct recorder *r, int fd, const char *name, const char *text, size_t bytes,
		       char why[RECORDING_WHY])
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return cannot(r, "write", name, why);
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Writes the line by one write(2), so that a kill does not leave half a line on a local file
 * system. */
static int write_line(struct recorder *r, const json_t *line, char why[RECORDING_WHY])
{
	char *text = allocated(json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9)));
	size_t bytes = strlen(text);

	text[bytes] = '\n'; /* replaces the NUL */
	int rc = write_whole(r, r->index, RECORDING_INDEX, text, bytes + 1, why);

	free(text);
	return rc;
}

int recorder_open(const char *dir, json_t *head, struct snapshot_reader *reader,
		  struct recorder **out, char why[RECORDING_WHY])
{
	struct recorder *r;
	json_t *line;
	int rc;

	*out = NULL;
	if (strlen(dir) >= sizeof(r->path)) {
		snprintf(why, RECORDING_WHY, "the name of the directory is too long");
		return -ENAMETOOLONG;
	}
	r = allocate(1, sizeof(*r));
	r->dir = r->index = -1;
	r->mqds.kind = "mqds";
	r->hqds.kind = "hqds";
	strcpy(r->path, dir);
	rc = open_dir(r, why);
	if (rc == 0) {
		r->index = recorder_file(r, RECORDING_INDEX, why);
		rc = r->index < 0 ? r->index : 0;
	}
	if (rc == 0) {
		line = json_pack("{s:i}", "kfdsched_recording", RECORDING_VERSION);
		json_object_update(line, head);
		json_object_set_new(line, "nodes", recording_nodes(reader));
		rc = write_line(r, line, why);
		json_decref(line);
	}
	if (rc) {
		recorder_close(r);
		return rc;
	}
	*out = r;
	return 0;
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	if (r->index >= 0)
		close(r->index);
	if (r->dir >= 0)
		close(r->dir);
	free(r->mqds.text);
	free(r->hqds.text);
	free(r);
}

/* ---- samples ---- */

struct recorded_process recorded_from(const struct snapshot_process *process)
{
	const char *unknown;
	int error;
	struct recorded_process out = {
		.pid = process->identity.pid,
		.host_pid = process->identity.host_pid,
		.started = process->identity.started,
	};

	out.queues = *observation_queues(&process->seen, &out.source, &error, &unknown);
	snprintf(out.comm, sizeof(out.comm), "%s", process->identity.comm);
	if (out.source == OBSERVE_NO_SOURCE)
		snprintf(out.unknown, sizeof(out.unknown), "%s", unknown);
	return out;
}

json_t *recorded_process_json(const struct recorded_process *process)
{
	json_t *queues = json_array();
	bool known = process->source != OBSERVE_NO_SOURCE;

	for (size_t i = 0; i < process->queues.count; i++)
		json_array_append_new(queues, observe_json(&process->queues.queue[i]));
	return json_pack(
		"{s:I,s:o,s:I,s:o,s:o,s:o,s:o}", "pid", (json_int_t)process->pid, "host_pid",
		json_number(process->host_pid > 0, process->host_pid), "started_ticks",
		(json_int_t)process->started, "comm", plain_json(process->comm), "source",
		known ? json_string(observe_source_name(process->source)) : json_null(), "unknown",
		known ? json_null() : json_string(process->unknown), "queues", queues);
}

/* Writes the raw text to a new file if it differs from the text before. Sets *name, for the index,
 * to the name of the file that has this text, or to JSON null if `text` is NULL. Returns 0 or a
 * negative errno. */
static int keep_raw(struct recorder *r, struct raw *raw, const char *text, json_t **name,
		    char why[RECORDING_WHY])
{
	int rc = 0;

	*name = NULL;
	if (text && (!raw->text || strcmp(raw->text, text) != 0)) {
		snprintf(raw->name, sizeof(raw->name), "%s.%06lu.txt", raw->kind, r->samples);
		int fd = recorder_file(r, raw->name, why);

		if (fd < 0)
			return fd;
		rc = write_whole(r, fd, raw->name, text, strlen(text), why);
		close(fd);
		free(raw->text);
		raw->text = allocated(strdup(text));
	}
	if (rc == 0)
		*name = text ? json_string(raw->name) : json_null();
	return rc;
}

int recorder_sample(struct recorder *r, const char *phase, double seconds, json_t *processes,
		    const char *mqds, const char *hqds, char why[RECORDING_WHY])
{
	json_t *mqds_name = NULL, *hqds_name = NULL;

	r->samples++;
	int rc = keep_raw(r, &r->mqds, mqds, &mqds_name, why);

	if (rc == 0)
		rc = keep_raw(r, &r->hqds, hqds, &hqds_name, why);
	if (rc) {
		json_decref(mqds_name);
		json_decref(processes);
		return rc;
	}
	json_t *line = json_pack("{s:I,s:s,s:f,s:o,s:o,s:o}", "sample", (json_int_t)r->samples,
				 "phase", phase, "seconds", seconds, "processes", processes, "mqds",
				 mqds_name, "hqds", hqds_name);

	rc = write_line(r, line, why);
	json_decref(line);
	return rc;
}

int recorder_end(struct recorder *r, json_t *end, char why[RECORDING_WHY])
{
	json_t *line = json_pack("{s:o,s:I}", "end", end, "samples", (json_int_t)r->samples);
	int rc = write_line(r, line, why);

	json_decref(line);
	return rc;
}
