// SPDX-License-Identifier: MIT
/*
 * Collects the facts about the processes that the daemon knows or the driver lists, and about the
 * one that the user named, with its queues.
 *
 * Files of other users' processes can only be read with the right to trace them; what cannot be
 * read stays unknown.
 */
#include "cli/doctor/facts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/inspect/snapshot.h"
#include "cli/inspect/sources.h"
#include "cli/util/read_files.h"
#include "common/allocate.h"
#include "common/proc_file.h"
#include "kfd/device.h"
#include "kfd/sysfs.h"

#define FILES 4096u /* maximum number of open files that are checked in a process */
#define CGROUPS "/sys/fs/cgroup"

/* Returns the entry of process `pid`, which is added if there is none. */
static struct doctor_process *process_of(struct doctor_facts *facts, int pid)
{
	struct doctor_process *process;

	for (size_t i = 0; i < facts->process_count; i++)
		if (facts->processes[i].pid == pid)
			return &facts->processes[i];
	facts->processes = allocate_next(facts->processes, facts->process_count,
					 &facts->process_room, sizeof(*process));
	process = &facts->processes[facts->process_count++];
	doctor_process_init(process, pid);
	process->registered = DOCTOR_NO;
	return process;
}

/* Records that the process uses the node. */
static void on_node(struct doctor_process *p, int64_t gpu_id)
{
	for (size_t i = 0; i < p->node_count; i++)
		if (p->gpu_ids[i] == gpu_id)
			return;
	if (p->node_count < sizeof(p->gpu_ids) / sizeof(p->gpu_ids[0]))
		p->gpu_ids[p->node_count++] = (uint32_t)gpu_id;
}

static const char *const level_names[] = {"trap", "self", "gate", "weight", "observe", "none", "-"};
static const char *const running[] = {"running"};
static const char *const runtimes[] = {[DOCTOR_NO] = "never", [DOCTOR_YES] = "enabled"};

const char *doctor_level_name(enum doctor_level level)
{
	return level_names[level];
}

/* Returns the index of a word in a list of names, or `other` if `word` is NULL or not in the
 * list. */
static int find_name(const char *word, const char *const *names, int n, int other)
{
	for (int i = 0; word && i < n; i++)
		if (!strcmp(word, names[i]))
			return i;
	return other;
}

static enum doctor_level find_level(const char *word, int n)
{
	return (enum doctor_level)find_name(word, level_names, n, LEVEL_UNKNOWN);
}

/* Converts the words for level, runtime and state in the daemon's reply. */
static void read_words(struct doctor_process *p, const json_t *entry)
{
	const char *state = json_string_value(json_object_get(entry, "state"));

	p->level = find_level(json_string_value(json_object_get(entry, "level")), LEVEL_UNKNOWN);
	p->runtime = (enum doctor_known)find_name(
		json_string_value(json_object_get(entry, "runtime")), runtimes, 2, DOCTOR_UNKNOWN);
	if (state)
		p->held = find_name(state, running, 1, -1) ? DOCTOR_YES : DOCTOR_NO;
}

/* Adds the processes in the daemon's reply. Clients in other pid namespaces are only counted. */
static void add_registered(struct doctor_facts *facts, const json_t *status)
{
	bool otherwise = facts->daemon.here != DOCTOR_YES;
	json_t *entry, *queue;
	size_t i, k;

	json_array_foreach(json_object_get(status, "processes"), i, entry)
	{
		const json_t *priority = json_object_get(entry, "priority");
		int pid = source_daemon_number(entry, otherwise);
		struct doctor_process *p;

		if (pid <= 0) {
			facts->daemon.elsewhere++;
			continue;
		}
		p = process_of(facts, pid);
		p->registered = DOCTOR_YES;
		p->external = json_is_false(json_object_get(entry, "shim"));
		read_word(p->comm, sizeof(p->comm), entry, "comm");
		read_words(p, entry);
		read_word(p->reason.text, sizeof(p->reason.text), entry, "reason");
		p->reason.code =
			reason_find(json_string_value(json_object_get(entry, "reason_code")));
		p->suspends = read_integer(entry, "suspends");
		p->suspended_us = read_integer(entry, "suspended_us");
		p->priority = json_is_integer(priority) ? json_integer_value(priority) : -1;
		json_array_foreach(json_object_get(entry, "queues"), k, queue)
		{
			const char *type = json_string_value(json_object_get(queue, "type"));

			p->drm_queues += type && !strcmp(type, "drm");
			on_node(p, json_integer_value(json_object_get(queue, "gpu_id")));
		}
	}
}

/* Reads the driver's list of the queues of one process. Counts compute queues on their nodes,
 * because each needs a slot there. Records the nodes on which the process has queues or VRAM,
 * unless p is NULL (then the process is not examined). */
static void read_listed(struct doctor_facts *facts, struct doctor_process *p, pid_t pid)
{
	struct sysfs_queue queues[SYSFS_QUEUES];
	int n = sysfs_queues(pid, queues, SYSFS_QUEUES);

	for (int i = 0; p && i < n; i++)
		on_node(p, queues[i].gpu_id);
	for (size_t k = 0; k < facts->node_count; k++) {
		struct doctor_node *node = &facts->nodes[k];
		int64_t bytes = 0;

		for (int i = 0; i < n; i++)
			node->compute_queues +=
				queues[i].gpu_id == node->gpu_id && sysfs_is_compute(&queues[i]);
		if (p &&
		    !read_number(&bytes, SYSFS_PROCESSES "/%d/vram_%u", (int)pid, node->gpu_id) &&
		    bytes > 0)
			on_node(p, node->gpu_id);
	}
}

/* Adds the processes in the driver's list, and counts the queues of all processes on each node. In
 * a container the driver's list has pids of the host, so only the queues are counted. */
static void add_seen(struct doctor_facts *facts)
{
	/* named: the driver's list has pids of the machine's first pid namespace, and this process
	 * is in that namespace. */
	bool named = observe_names_match();
	struct gpu_processes list;

	if (access(SYSFS_PROCESSES, F_OK))
		return;
	gpu_processes_of_driver(&list);
	for (size_t i = 0; i < facts->node_count; i++)
		facts->nodes[i].compute_queues = 0;
	facts->processes_hidden = !named && list.count;
	for (size_t i = 0; i < list.count; i++) {
		struct doctor_process *p = NULL;

		if (named && !process_is_ours(list.pid[i])) {
			p = process_of(facts, list.pid[i]);
			p->uses_gpu = DOCTOR_YES;
		}
		read_listed(facts, p, list.pid[i]);
	}
	gpu_processes_free(&list);
}

/* Reads from /proc/PID/maps whether the shim is loaded, and the path of the HSA runtime. */
static void read_maps(struct doctor_process *p)
{
	int shim = proc_maps_find(p->pid, "libkfdshim.so", NULL, 0);

	if (shim < 0)
		return;
	p->shim = shim ? DOCTOR_YES : DOCTOR_NO;
	proc_maps_find(p->pid, "libhsa-runtime64.so", p->rocr, sizeof(p->rocr));
}

/* Reads the facts of the program file that decide whether the dynamic linker preloads libraries:
 * set-ID, file capabilities, ELF class, and whether it is linked dynamically (has PT_INTERP). */
static void read_program(struct doctor_process *p)
{
	Elf64_Ehdr head;
	char path[64];
	struct proc_files files;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	proc_files_begin(&files, p->pid);
	fd = proc_files_open(&files, AT_FDCWD, path);
	proc_files_end(&files);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0)
		p->set_id = st.st_mode & (S_ISUID | S_ISGID) ||
					    fgetxattr(fd, "security.capability", NULL, 0) > 0
				    ? DOCTOR_YES
				    : DOCTOR_NO;
	if (pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    !memcmp(head.e_ident, ELFMAG, SELFMAG)) {
		p->other_class = head.e_ident[EI_CLASS] == ELFCLASS64 ? DOCTOR_NO : DOCTOR_YES;
		p->static_program = p->other_class ? DOCTOR_UNKNOWN : DOCTOR_YES;
		for (unsigned i = 0; p->other_class == DOCTOR_NO && i < head.e_phnum; i++) {
			Elf64_Phdr part;

			if (pread(fd, &part, sizeof(part),
				  (off_t)(head.e_phoff + i * sizeof(part))) == sizeof(part) &&
			    part.p_type == PT_INTERP)
				p->static_program = DOCTOR_NO;
		}
	}
	close(fd);
}

/* Reads which process traces this one, and the parent of that tracer. */
static void read_tracer(struct doctor_process *p)
{
	int64_t thread, tracer;

	if (read_property(&thread, "TracerPid", "/proc/%d/status", p->pid))
		return;
	/* TracerPid can be that of a thread: find the process to which the thread belongs. */
	if (thread <= 0 || read_property(&tracer, "Tgid", "/proc/%lld/status", (long long)thread))
		tracer = thread;
	p->tracer = tracer;
	if (tracer <= 0)
		return;
	read_text(p->tracer_name, sizeof(p->tracer_name), "/proc/%lld/comm", (long long)tracer);
	if (read_property(&p->tracer_parent, "PPid", "/proc/%lld/status", (long long)tracer))
		p->tracer_parent = -1;
}

/* Reads whether /dev/kfd is open. */
static void read_descriptors(struct doctor_process *p)
{
	int has = kfd_device_opened_by(p->pid, FILES);

	p->kfd_open = has == 1 ? DOCTOR_YES : has == 0 ? DOCTOR_NO : DOCTOR_UNKNOWN;
}

/* Returns whether a file exists in the root directory of the process. Unknown if the path contains
 * a symbolic link, which proc_files_find() does not follow. */
static enum doctor_known is_there(int pid, const char *path)
{
	struct proc_files files;
	int rc;

	proc_files_begin(&files, pid);
	rc = proc_files_find(&files, path);
	proc_files_end(&files);
	return rc == 0 ? DOCTOR_YES : rc == -ENOENT ? DOCTOR_NO : DOCTOR_UNKNOWN;
}

/* Finds the first libkfdshim.so in the value of LD_PRELOAD, and checks whether that file exists in
 * the root directory of the process. */
static void read_preload(struct doctor_process *p, const char *value)
{
	static const char name[] = "libkfdshim.so";

	while (*value) {
		size_t length = strcspn(value, " :");

		if (length >= strlen(name) && length < sizeof(p->preload) &&
		    !memcmp(value + length - strlen(name), name, strlen(name))) {
			snprintf(p->preload, sizeof(p->preload), "%.*s", (int)length, value);
			if (p->preload[0] == '/')
				p->preload_there = is_there(p->pid, p->preload);
			return;
		}
		value += length + (value[length] != '\0');
	}
}

/* Reads one entry of the environment, "NAME=VALUE", if doctor needs it. */
static void read_variable(struct doctor_process *p, const char *entry)
{
	static const char name[] = "KFDSHIM_", preload[] = "LD_PRELOAD=";
	const char *value = strchr(entry, '=');

	if (!strncmp(entry, preload, strlen(preload)))
		read_preload(p, entry + strlen(preload));
	if (!value || strncmp(entry, name, strlen(name)))
		return;
	value++;
	entry += strlen(name);
	if (!strncmp(entry, "PRIORITY=", 9))
		snprintf(p->env_priority, sizeof(p->env_priority), "%s", value);
	else if (!strncmp(entry, "LEVEL=", 6))
		p->env_level = find_level(value, LEVELS);
	else if (!strncmp(entry, "SOCKET=", 7))
		snprintf(p->env_socket, sizeof(p->env_socket), "%s", value);
	else if (!strncmp(entry, "DISABLE=", 8))
		p->env_disabled = !strcmp(value, "1");
	else if (!strncmp(entry, "VRAM_LIMIT=", 11))
		read_bytes(&p->vram_limit, value);
}

/* Reads the environment with which the process was started. Sets environment_read to DOCTOR_NO if
 * this user is not allowed to read it. */
static void read_environment(struct doctor_process *p)
{
	size_t bytes;
	char *text = read_whole(&bytes, "/proc/%d/environ", p->pid);

	p->environment_read = text ? DOCTOR_YES : DOCTOR_NO;
	for (size_t at = 0; text && at < bytes; at += strlen(text + at) + 1)
		read_variable(p, text + at);
	free(text);
	/* Without the shim the VRAM limit has no effect. */
	if (p->shim == DOCTOR_NO || p->env_disabled)
		p->vram_limit = -1;
}

static int by_pid(const void *a, const void *b)
{
	const struct doctor_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void doctor_collect_processes(struct doctor_facts *facts, const json_t *status)
{
	add_registered(facts, status);
	add_seen(facts);
	if (facts->chosen_pid)
		process_of(facts, facts->chosen_pid);
	for (size_t i = 0; i < facts->process_count; i++) {
		struct doctor_process *p = &facts->processes[i];

		if (p->uses_gpu == DOCTOR_UNKNOWN && !facts->processes_hidden)
			p->uses_gpu = DOCTOR_NO;
		if (!p->comm[0])
			read_text(p->comm, sizeof(p->comm), "/proc/%d/comm", p->pid);
		read_maps(p);
		read_descriptors(p);
		read_program(p);
		read_tracer(p);
		read_environment(p);
	}
	if (facts->process_count)
		qsort(facts->processes, facts->process_count, sizeof(*facts->processes), by_pid);
}

/* ---- the process that the user named ---- */

/* Reads the number of threads of the process, and its parent. */
static void read_status(struct doctor_named *named)
{
	named->threads = (unsigned)proc_status_number(named->identity.pid, "\nThreads:");
	named->parent = proc_status_number(named->identity.pid, "\nPPid:");
	if (named->parent > 0)
		read_text(named->parent_name, sizeof(named->parent_name), "/proc/%d/comm",
			  (int)named->parent);
}

/* Reads whether the process is dumpable: if it is, the files in /proc/PID belong to its user,
 * otherwise to root (task_dump_owner(), fs/proc/base.c). For a process of root both are the same
 * user, so its dumpable state stays unknown. */
static void read_dumpable(struct doctor_named *named)
{
	struct stat st;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)named->identity.pid);
	if (named->identity.uid != 0 && stat(path, &st) == 0)
		named->dumpable = st.st_uid == named->identity.uid ? DOCTOR_YES : DOCTOR_NO;
}

static void read_user_namespace(struct doctor_named *named)
{
	uint64_t its = proc_namespace(named->identity.pid, "user"),
		 ours = proc_namespace(0, "user");

	if (its && ours)
		named->same_user_namespace = its == ours ? DOCTOR_YES : DOCTOR_NO;
}

/* Reads whether a cgroup of the process is frozen, which is how a container is paused. `line`: one
 * line of /proc/PID/cgroup, "ID:CONTROLLERS:PATH", which is modified. A line without controllers is
 * that of the unified hierarchy (cgroup.events); in older hierarchies only that of the controller
 * "freezer" is read. */
static void read_cgroup(struct doctor_named *named, char *line)
{
	char *controllers = strchr(line, ':'),
	     *path = controllers ? strchr(controllers + 1, ':') : NULL;
	int64_t frozen;
	char text[32];

	/* A path that begins with /.. lies above the cgroup namespace of this process and cannot be
	 * opened. */
	if (!path || !strncmp(path, ":/..", 4))
		return;
	*path++ = '\0';
	controllers++;
	if (!controllers[0] &&
	    !read_property(&frozen, "frozen", CGROUPS "%s/cgroup.events", path)) {
		named->paused = frozen ? DOCTOR_YES : DOCTOR_NO;
		snprintf(named->thaw, sizeof(named->thaw), CGROUPS "%s/cgroup.freeze", path);
	} else if (!strcmp(controllers, "freezer") &&
		   !read_text(text, sizeof(text), CGROUPS "/freezer%s/freezer.state", path)) {
		named->paused = strcmp(text, "THAWED") ? DOCTOR_YES : DOCTOR_NO;
	}
}

/* Checks the cgroup of each hierarchy until one shows whether the process is frozen. */
static void read_paused(struct doctor_named *named)
{
	size_t bytes;
	char *text = read_whole(&bytes, "/proc/%d/cgroup", (int)named->identity.pid), *rest = text;

	for (char *line; text && (line = strsep(&rest, "\n"));)
		if (named->paused == DOCTOR_UNKNOWN)
			read_cgroup(named, line);
	free(text);
}

/* Identifies the process that the user named, and its owner. If the number is that of a thread,
 * identifies the process of the thread. Returns 0 or a negative errno. */
static int identify(struct doctor_named *named)
{
	int rc = process_identify(named->queried, &named->identity);
	const struct passwd *user;

	if (rc == -EINVAL)
		rc = process_identify(proc_status_number(named->queried, "\nTgid:"),
				      &named->identity);
	if (rc) /* -EINVAL again: no process or thread has this number any more */
		return rc == -EINVAL ? -ESRCH : rc;
	user = getpwuid(named->identity.uid);
	if (user)
		snprintf(named->user, sizeof(named->user), "%s", user->pw_name);
	else
		snprintf(named->user, sizeof(named->user), "uid %u", (unsigned)named->identity.uid);
	return 0;
}

const struct doctor_process *doctor_named_process(const struct doctor_facts *facts)
{
	const struct doctor_process *p = facts->processes;

	while (p->pid != facts->named.identity.pid)
		p++;
	return p;
}

const char *doctor_name_process(char text[48], const char *name, int64_t pid, const char *unknown)
{
	snprintf(text, 48, "%s (%lld)", name[0] ? name : "process", (long long)pid);
	return pid > 0 ? text : unknown;
}

bool doctor_is_dead(const struct doctor_named *named)
{
	char state = named->identity.state;

	/* A process whose first thread has ended is a zombie too, while its other threads run. */
	return named->identity.kernel || ((state == 'Z' || state == 'X') && named->threads <= 1);
}

int doctor_collect_named(struct doctor_named *named, pid_t pid)
{
	int rc;

	named->queried = pid;
	rc = identify(named);
	if (rc) {
		named->identity.pid = 0;
		return rc == -EACCES ? 0 : rc;
	}
	read_status(named);
	read_dumpable(named);
	read_user_namespace(named);
	read_paused(named);
	return 0;
}

int doctor_collect_queues(struct doctor_facts *facts, const char *socket)
{
	struct doctor_named *named = &facts->named;
	const struct snapshot_request request = {
		.pids = &named->identity.pid, .count = 1, .sources = OBSERVE_ALL};

	if (!named->identity.pid)
		return -EACCES;
	if (!doctor_is_dead(named)) {
		struct snapshot_reader *reader = snapshot_open(socket);
		struct snapshot_process *process = snapshot_read(reader, &request)->processes[0];

		named->seen = process->seen;
		process->seen = (struct observation){0};
		snapshot_close(reader);
	}
	/* The process may have ended meanwhile, and another one may have its number. */
	return process_is(&named->identity) ? 0 : -ESRCH;
}
