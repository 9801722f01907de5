// SPDX-License-Identifier: MIT
/* Queries kfdschedd about a process. The reply has the daemon's own data and the content of the
 * client's shared memory (struct client_shm), which the daemon reads. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "common/proc.h"
#include "include/kfdsched.h"

/* Returns true if `pid` is a process of the caller's pid namespace. Returns true also if its
 * namespace may not be read (process of another user), because the process has at least a pid in
 * the caller's namespace. */
static bool same_namespace(pid_t pid)
{
	uint64_t its = proc_namespace(pid, "pid");

	return !its || its == proc_namespace(0, "pid");
}

/* Returns true if the daemon runs in another pid namespace, that is outside of the caller's
 * container. Then its pids differ from the caller's, so a query by the caller's pid would return
 * the data of a wrong process. */
bool source_daemon_counts_otherwise(const char *path)
{
	const char *named = getenv("KFDSHIM_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer = {.pid = -1};
	socklen_t size = sizeof(peer);
	int fd;

	if (!path)
		path = named && named[0] ? named : PROTOCOL_SOCKET;
	if (strlen(path) >= sizeof(address.sun_path))
		return false;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		peer.pid = -1;
	close(fd);
	return peer.pid == 0 || (peer.pid > 0 && !same_namespace(peer.pid));
}

/* Adds the queue in `json` with the values that both parts of the daemon's reply have: its status
 * and its dump of the shared memory. Returns NULL if `json` is no queue. */
static struct observe_queue *add(struct observe_list *list, const json_t *json,
				 enum observe_source source)
{
	static const enum observe_field fields[] = {
		OBSERVE_TYPE,	      OBSERVE_RING_BYTES,   OBSERVE_PERCENT,
		OBSERVE_CU_BITS,      OBSERVE_RING_ADDRESS, OBSERVE_RPTR_ADDRESS,
		OBSERVE_WPTR_ADDRESS, OBSERVE_HSA_QUEUE,    OBSERVE_CWSR_ADDRESS,
	};
	json_int_t id = json_integer_value(json_object_get(json, "id"));
	json_int_t gpu_id = json_integer_value(json_object_get(json, "gpu_id"));
	json_int_t context = json_integer_value(json_object_get(json, "context"));
	struct observe_queue *queue;

	if (id < 0 || id >= OBSERVE_NO_ID || gpu_id <= 0 || gpu_id > UINT32_MAX || context < 0 ||
	    context > UINT32_MAX)
		return NULL;
	queue = observe_list_add(list);
	queue->id = (uint32_t)id;
	queue->gpu_id = (uint32_t)gpu_id;
	queue->context = (uint32_t)context;
	queue->source_mask = OBSERVE_BIT(source);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		observe_read(queue, fields[i],
			     json_object_get(json, observe_field_info(fields[i])->key), source);
	observe_read(queue, OBSERVE_PRIORITY, json_object_get(json, "priority"), source);
	if (observe_known(queue, OBSERVE_CWSR_ADDRESS))
		observe_read(queue, OBSERVE_CWSR_BYTES, json_object_get(json, "cwsr_bytes"),
			     source);
	return queue;
}

/* Sets OBSERVE_SUSPENDED of a queue from the state and level of its process. Only the levels "trap"
 * and "self" suspend queues, and only compute queues. During a transition ("suspending",
 * "resuming") nothing is set, because it is not known whether the queue is suspended. */
static void set_suspended(struct observe_queue *queue, const json_t *process)
{
	const char *state = json_string_value(json_object_get(process, "state"));
	const char *level = json_string_value(json_object_get(process, "level"));
	bool taken_off = level && (!strcmp(level, "trap") || !strcmp(level, "self"));

	if (!state)
		return;
	if (!strcmp(state, "running") || !taken_off ||
	    !observe_is_compute(queue->field[OBSERVE_TYPE].value))
		observe_set(queue, OBSERVE_SUSPENDED, 0, OBSERVE_DAEMON);
	else if (!strcmp(state, "suspended"))
		observe_set(queue, OBSERVE_SUSPENDED, 1, OBSERVE_DAEMON);
}

json_t *source_daemon_shm(const json_t *reply)
{
	json_t *shm = json_object_get(reply, "client_shm");

	return shm ? shm : json_object_get(reply, "lane");
}

static void read_shm(const json_t *root, struct observe_list *daemon, struct observe_list *shm)
{
	const json_t *process = json_object_get(root, "process");
	const json_t *list = json_object_get(source_daemon_shm(root), "queues"), *json;
	size_t i;

	json_array_foreach(list, i, json)
	{
		const char *state = json_string_value(json_object_get(json, "state"));
		struct observe_queue *queue = add(shm, json, OBSERVE_SHM), *word;

		if (!queue)
			continue;
		if (state)
			observe_set(queue, OBSERVE_ACTIVE, strcmp(state, "idle") != 0, OBSERVE_SHM);
		word = observe_list_add(daemon);
		word->id = queue->id;
		word->gpu_id = queue->gpu_id;
		word->context = queue->context;
		word->source_mask = OBSERVE_BIT(OBSERVE_DAEMON);
		word->field[OBSERVE_TYPE] = queue->field[OBSERVE_TYPE];
		set_suspended(word, process);
	}
}

/* Adds the queues that the daemon found in a process without the shim, so without shared memory. */
static void read_external(const json_t *root, struct observe_list *daemon)
{
	const json_t *process = json_object_get(root, "process"), *json;
	size_t i;

	json_array_foreach(json_object_get(process, "queues"), i, json)
	{
		struct observe_queue *queue = add(daemon, json, OBSERVE_DAEMON);

		if (!queue)
			continue;
		observe_read(queue, OBSERVE_ACTIVE, json_object_get(json, "active"),
			     OBSERVE_DAEMON);
		set_suspended(queue, process);
	}
}

/* Sets the faults that the daemon's debug session has seen. If the session has seen none of a
 * queue, the faults of the queue stay unknown, because the session does not see faults from before
 * its begin, and its last snapshot can be old. */
static void read_exceptions(const json_t *process, struct observe_list *daemon)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(process, "exceptions"), i, entry)
	{
		json_int_t id = json_integer_value(json_object_get(entry, "queue_id"));
		struct observe_queue *queue = id >= 0 && id < OBSERVE_NO_ID
						      ? observe_list_find(daemon, 0, (uint32_t)id)
						      : NULL;
		uint64_t mask;

		if (queue && !observe_faults_read(json_object_get(entry, "names"), &mask) && mask)
			observe_set(queue, OBSERVE_EXCEPTIONS, mask, OBSERVE_DAEMON);
	}
}

/* Returns the daemon's status of all processes, or NULL if there is no reply. */
static json_t *all_processes(struct kfdsched *queried)
{
	char *text = NULL;
	json_t *root = kfdsched_status(queried, 0, &text) ? NULL : json_loads(text, 0, NULL);

	free(text);
	return root;
}

static json_int_t number(const json_t *process, const char *key)
{
	return json_integer_value(json_object_get(process, key));
}

pid_t source_daemon_number(const json_t *process, bool otherwise)
{
	json_int_t pid = number(process, otherwise ? "own_pid" : "pid");
	uint64_t ours = proc_namespace(0, "pid");

	if (otherwise && (!ours || (uint64_t)number(process, "pid_namespace") != ours))
		return 0;
	return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

const json_t *source_daemon_process(const json_t *status, bool otherwise, pid_t pid)
{
	const json_t *process;
	size_t i;

	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		if (source_daemon_number(process, otherwise) == pid)
			return process;
	}
	return NULL;
}

/* Translates a pid of the caller's pid namespace into the pid in the daemon's pid namespace.
 * Returns 0 if the daemon does not know the process. */
static pid_t number_there(struct kfdsched *queried, pid_t pid)
{
	json_t *status = all_processes(queried);
	pid_t found = (pid_t)number(source_daemon_process(status, true, pid), "pid");

	json_decref(status);
	return found;
}

size_t source_daemon_processes(const char *socket, pid_t *out, size_t max)
{
	bool otherwise = source_daemon_counts_otherwise(socket);
	struct kfdsched *queried = allocated(kfdsched_open(socket));
	json_t *status = all_processes(queried), *process;
	size_t n = 0, i;

	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		pid_t pid = source_daemon_number(process, otherwise);

		if (pid && n < max)
			out[n++] = pid;
	}
	json_decref(status);
	kfdsched_close(queried);
	return n;
}

int source_daemon(const char *path, bool otherwise, pid_t pid, struct observe_list *daemon,
		  struct observe_list *shm, WHY)
{
	struct kfdsched *queried = allocated(kfdsched_open(path));
	char *text = NULL;
	json_t *root = NULL;
	int rc;

	if (otherwise)
		pid = number_there(queried, pid);
	if (!pid) {
		snprintf(why, OBSERVE_WHY,
			 "the daemon runs in another pid namespace, and has no such process of "
			 "this one");
		rc = -ENOENT;
		goto out;
	}
	rc = kfdsched_status(queried, pid, &text);
	if (rc) {
		snprintf(why, OBSERVE_WHY, "%s", kfdsched_errmsg(queried));
		if (rc == -ESRCH || rc == -ECONNREFUSED)
			rc = -ENOENT;
		goto out;
	}
	root = json_loads(text, 0, NULL);
	if (!root || !json_is_object(json_object_get(root, "process"))) {
		snprintf(why, OBSERVE_WHY,
			 "the daemon's reply cannot be parsed: use the kfdsched of its version");
		rc = -EPROTO;
		goto out;
	}
	/* Read the shared memory only if the process has the shim. Without it, the reply can have
	 * shared memory, too, but without queues. */
	if (json_is_object(source_daemon_shm(root)) &&
	    !json_is_false(json_object_get(json_object_get(root, "process"), "shim")))
		read_shm(root, daemon, shm);
	else
		read_external(root, daemon);
	read_exceptions(json_object_get(root, "process"), daemon);
out:
	json_decref(root);
	free(text);
	kfdsched_close(queried);
	return rc;
}
