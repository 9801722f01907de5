// SPDX-License-Identifier: MIT
/*
 * Collects the facts about the processes that the daemon knows or the driver lists, and about the
 * one that the user named.
 *
 * Files of other users' processes can only be read with the right to trace them; what cannot be
 * read stays unknown.
 */
#include "cli/doctor/facts.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/inspect/gpu_processes.h"
#include "cli/inspect/process.h"
#include "cli/inspect/sources.h"
#include "cli/util/read_files.h"
#include "common/proc_file.h"
#include "common/proc_maps.h"
#include "kfd/device.h"
#include "kfd/sysfs.h"

#define FILES 4096u /* open files that are checked; a process can have any number */

/* Finds or adds the process. NULL: no memory. */
static struct doctor_process *process_of(struct doctor_facts *facts, int pid)
{
	struct doctor_process *list = facts->processes;

	for (size_t i = 0; i < facts->process_count; i++)
		if (list[i].pid == pid)
			return &list[i];
	list = reallocarray(list, facts->process_count + 1, sizeof(*list));
	if (!list)
		return NULL;
	facts->processes = list;
	list += facts->process_count++;
	doctor_process_init(list, pid);
	list->registered = DOCTOR_NO;
	return list;
}

/* Notes that the process uses the node. */
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

/* Returns the place of a word in a list of names; `other` if it is not there, or NULL. */
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

/* Reads level, runtime and state, whose words in the daemon's reply are known here only. */
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
static int add_registered(struct doctor_facts *facts, const json_t *status)
{
	bool otherwise = facts->daemon.here != DOCTOR_YES;
	json_t *entry, *queue;
	size_t i, k;

	json_array_foreach(json_object_get(status, "processes"), i, entry)
	{
		const json_t *priority = json_object_get(entry, "priority");
		int pid = source_daemon_number(entry, otherwise);
		struct doctor_process *p = pid > 0 ? process_of(facts, pid) : NULL;

		if (pid <= 0) {
			facts->daemon.elsewhere++;
			continue;
		}
		if (!p)
			return -ENOMEM;
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
	return 0;
}

/* Counts a queue in the driver's list on its node, because every compute queue needs a slot there,
 * and notes the node for process `p` (NULL: it is not examined). */
static void add_queue(struct doctor_facts *facts, struct doctor_process *p,
		      const struct sysfs_queue *queue)
{
	if (p)
		on_node(p, queue->gpu_id);
	for (size_t i = 0; i < facts->node_count; i++)
		if (facts->nodes[i].gpu_id == queue->gpu_id && sysfs_is_compute(queue))
			facts->nodes[i].compute_queues++;
}

/* Reads the directory of one process in the driver's list: its queues, and the nodes on which it
 * has VRAM. p NULL: only the queues are counted. */
static void read_dir(struct doctor_facts *facts, struct doctor_process *p, const char *process)
{
	const struct dirent *entry;
	struct sysfs_queue queue;
	char path[PATH_MAX];
	DIR *dir;

	snprintf(path, sizeof(path), SYSFS_PROCESSES "/%s/queues", process);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (sysfs_queue_read(dirfd(dir), entry->d_name, &queue))
			add_queue(facts, p, &queue);
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), SYSFS_PROCESSES "/%s", process);
	dir = p ? opendir(path) : NULL;
	while (dir && (entry = readdir(dir))) {
		int64_t bytes = 0;
		unsigned gpu_id;

		if (sscanf(entry->d_name, "vram_%u", &gpu_id) == 1 &&
		    !read_number(&bytes, "%s/%s", path, entry->d_name) && bytes > 0)
			on_node(p, gpu_id);
	}
	if (dir)
		closedir(dir);
}

/* Adds the processes in the driver's list, and counts the queues of all processes on each node. In
 * a container the list has pids of another namespace, so only the queues are counted. */
static int add_seen(struct doctor_facts *facts)
{
	/* The driver lists processes by their pids in the machine's first pid namespace. */
	bool named = observe_names_match();
	const struct dirent *entry;
	DIR *dir = opendir(SYSFS_PROCESSES);
	int rc = 0;

	if (!dir)
		return 0;
	for (size_t i = 0; i < facts->node_count; i++)
		facts->nodes[i].compute_queues = 0;
	while (!rc && (entry = readdir(dir))) {
		int pid = atoi(entry->d_name);
		struct doctor_process *p = NULL;

		if (pid <= 0)
			continue;
		if (!named) {
			facts->processes_hidden = true;
		} else if (!process_is_ours(pid)) {
			p = process_of(facts, pid);
			if (p)
				p->uses_gpu = DOCTOR_YES;
			else
				rc = -ENOMEM;
		}
		read_dir(facts, p, entry->d_name);
	}
	closedir(dir);
	return rc;
}

/* Reads from the memory map whether the shim is loaded, and which HSA runtime. */
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

/* Reads which process traces this one, and that process's parent. */
static void read_tracer(struct doctor_process *p)
{
	int64_t thread, tracer;

	if (read_property(&thread, "TracerPid", "/proc/%d/status", p->pid))
		return;
	/* TracerPid can be a thread: find the process to which it belongs. */
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

/* Finds the first libkfdshim.so in the value of LD_PRELOAD, and whether that file exists for the
 * process. */
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

/* Reads one entry of the environment. */
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

/* Reads the variables with which the process was started. environment_read NO: this user is not
 * allowed to read them. */
static void read_environment(struct doctor_process *p)
{
	size_t bytes;
	char *text = read_whole(&bytes, "/proc/%d/environ", p->pid);

	p->environment_read = text ? DOCTOR_YES : DOCTOR_NO;
	for (size_t at = 0; text && at < bytes; at += strlen(text + at) + 1)
		read_variable(p, text + at);
	free(text);
	/* Without the shim the limit has no effect. */
	if (p->shim == DOCTOR_NO || p->env_disabled)
		p->vram_limit = -1;
}

static int by_pid(const void *a, const void *b)
{
	const struct doctor_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int doctor_collect_processes(struct doctor_facts *facts, const json_t *status)
{
	int rc = add_registered(facts, status);

	if (!rc)
		rc = add_seen(facts);
	if (!rc && facts->chosen_pid && !process_of(facts, facts->chosen_pid))
		rc = -ENOMEM;
	if (rc)
		return rc;
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
	return 0;
}
