// SPDX-License-Identifier: MIT
/*
 * Manages KFD processes: finds or creates the process of a caller, detects its end, and releases
 * what belongs to it.
 *
 * The kernel's KFD process belongs to an address space. kfdsim does not see open(), exec and exit.
 * A new process is detected at its first ioctl, the end of an address space by a read from an fd of
 * its /proc/PID/mem.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/proc.h"
#include "sim/driver/files.h"
#include "sim/driver/memory.h"

#define SLOTS_MAX 8192u
/* doorbell areas in the kfd file, one for each process and node */
#define DOORBELL_SLOTS (1u << 16)
#define PASID_FIRST 0x8001u /* PASIDs have 16 bits; 0x8000 is the driver's own */

struct process *process_of_thread(struct sim *sim, pid_t tid)
{
	size_t i = (size_t)tid % (sizeof sim->tids / sizeof *sim->tids);

	return sim->tids[i].tid == tid ? sim->tids[i].process : NULL;
}

static void remember_thread(struct sim *sim, pid_t tid, struct process *process)
{
	size_t i = (size_t)tid % (sizeof sim->tids / sizeof *sim->tids);

	sim->tids[i].tid = tid;
	sim->tids[i].process = process;
}

void process_forget_thread(struct sim *sim, pid_t tid)
{
	remember_thread(sim, tid, NULL);
}

void process_ref(struct process *process)
{
	process->refs++;
}

void process_unref(struct process *process)
{
	if (--process->refs)
		return;
	free(process->ns_pid);
	free(process);
}

/* Reads from /proc/PID/mem at address 0: an error while the address space exists in which the file
 * was opened, end of file afterwards. */
bool process_mm_alive(const struct process *process)
{
	char byte;

	return pread(process->mem_fd, &byte, 1, 0) != 0;
}

/* Allocates the lowest free slot of doorbell pages. Returns 0 or -ENOMEM. */
static int slot_take(struct sim *sim, uint64_t *slot)
{
	for (uint64_t i = 0; i < SLOTS_MAX && (i + 1) * sim->nodes_n < DOORBELL_SLOTS; i++) {
		if (sim->slots[i / 64] >> (i % 64) & 1)
			continue;
		sim->slots[i / 64] |= 1ull << (i % 64);
		*slot = i;
		return 0;
	}
	return -ENOMEM;
}

static int map_doorbells(struct process *process)
{
	struct sim *sim = process->sim;

	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		void *page = mmap(NULL, DOORBELL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
				  sim->config.kfd_fd, (off_t)doorbell_offset(process, i));

		if (page == MAP_FAILED)
			return -errno;
		process->doorbells[i] = page;
	}
	return 0;
}

static void unmap_doorbells(struct process *process)
{
	struct sim *sim = process->sim;

	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		if (!process->doorbells[i])
			continue;
		munmap((void *)(uintptr_t)process->doorbells[i], DOORBELL_PAGE);
		process->doorbells[i] = NULL;
		fallocate(sim->config.kfd_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)doorbell_offset(process, i), DOORBELL_PAGE);
	}
	sim->slots[process->slot / 64] &= ~(1ull << (process->slot % 64));
}

/* Opens two fds that identify the process later: mem_fd for its address space, and its pidfd. Reads
 * its pids. Returns 0 or a negative errno. */
static int process_identify(struct process *process, const char *status)
{
	pid_t ns[PROC_NS_LEVELS_MAX];
	char path[64];

	process->ns_levels = proc_status_ns_pids(status, ns);
	if (!process->ns_levels)
		return -ESRCH;
	process->ns_pid = malloc(process->ns_levels * sizeof *ns);
	if (!process->ns_pid)
		return -ENOMEM;
	memcpy(process->ns_pid, ns, process->ns_levels * sizeof *ns);
	process->ns_ino = proc_namespace(process->pid, "pid");
	if (!process->ns_ino)
		return -errno;
	snprintf(path, sizeof path, "/proc/%d/mem", process->pid);
	process->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (process->mem_fd < 0)
		return -errno;
	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	return process->pidfd < 0 ? -errno : 0;
}

static struct process_record *record_new(struct sim *sim, const struct process *process,
					 const char *status)
{
	struct process_record *record = calloc(1, sizeof *record);
	const char *name = proc_status_field(status, "Name:\t");

	if (!record)
		return NULL;
	record->pid = process->ns_pid[process->ns_levels > 1 ? 1 : 0];
	record->open_only = true;
	if (name)
		snprintf(record->comm, sizeof record->comm, "%.*s", (int)strcspn(name, "\n"), name);
	STAILQ_INIT(&record->queues);
	STAILQ_INSERT_TAIL(&sim->records, record, link);
	return record;
}

/* Returns the lowest PASID that no living process has. */
static uint32_t pasid_take(const struct sim *sim)
{
	const struct process *process;

	for (uint32_t pasid = PASID_FIRST;; pasid++) {
		TAILQ_FOREACH(process, &sim->processes, link)
		if (process->pasid == pasid)
			break;
		if (!process)
			return pasid;
	}
}

static struct process *process_by_pid(struct sim *sim, pid_t pid)
{
	struct process *process;

	TAILQ_FOREACH(process, &sim->processes, link)
	if (process->pid == pid && !process->primary)
		return process;
	return NULL;
}

/* Returns true if --break makes a process keep a queue id of its parent or earlier program. */
static bool starts_wrong(const struct process *process, const char *status)
{
	const struct sim *sim = process->sim;
	const char *parent = proc_status_field(status, "\nPPid:");
	const struct process_record *record;

	if (!rule_holds(sim, RULE_forked_child_is_a_process_of_its_own))
		return parent && process_by_pid(process->sim, atoi(parent));
	if (rule_holds(sim, RULE_exec_begins_anew))
		return false;
	STAILQ_FOREACH(record, &sim->records, link)
	if (record->pid == process->record->pid && record != process->record)
		return true;
	return false;
}

/* Returns the lowest free number for a new context. */
static uint32_t context_number(const struct process *process)
{
	const struct process *other;

	for (uint32_t number = 0;; number++) {
		TAILQ_FOREACH(other, &process->sim->processes, link)
		if (other->primary == process && other->context == number)
			break;
		if (!other)
			return number;
	}
}

/* Creates a KFD process with its doorbell pages, report record and files. @primary: the process
 * whose secondary context this becomes; NULL: none. Returns NULL on failure. */
static struct process *make(struct sim *sim, pid_t pid, const char *status, struct process *primary)
{
	struct epoll_event watch = {.events = EPOLLIN};
	struct process *process = calloc(1, sizeof *process);

	if (!process)
		return NULL;
	process->sim = sim;
	process->refs = 1;
	process->pid = pid;
	process->primary = primary;
	process->event_fd = process->pidfd = process->mem_fd = -1;
	process->token = ++sim->next_token;
	process->acting = NODE_ANY;
	process->runtime_state = KFDABI_RUNTIME_DISABLED;
	TAILQ_INIT(&process->blocked);
	TAILQ_INIT(&process->runtime_sleepers);
	TAILQ_INIT(&process->queues);
	LIST_INIT(&process->waiters);
	if (process_identify(process, status) || slot_take(sim, &process->slot))
		goto fail;
	watch.data.ptr = process;
	/* A secondary context ends with its process, so its pidfd is not polled. */
	if (map_doorbells(process) ||
	    (!primary && epoll_ctl(sim->poll_fd, EPOLL_CTL_ADD, process->pidfd, &watch)) ||
	    !(process->record = record_new(sim, process, status))) {
		unmap_doorbells(process);
		goto fail;
	}
	process->pasid = pasid_take(sim);
	process->queue_ids[0] = starts_wrong(process, status);
	if (primary) {
		primary->contexts++;
		process->context = context_number(primary);
	}
	TAILQ_INSERT_TAIL(&sim->processes, process, link);
	procfs_process_new(process);
	debugfs_process_new(process);
	debugfs_changed(sim);
	return process;
fail:
	if (process->mem_fd >= 0)
		close(process->mem_fd);
	if (process->pidfd >= 0)
		close(process->pidfd);
	process_unref(process);
	return NULL;
}

struct process *process_new(struct sim *sim, pid_t tid)
{
	char status[PROC_STATUS_BYTES];
	struct process *process;
	const char *tgid;
	pid_t pid;

	if (proc_status_read(tid, status, sizeof status) ||
	    !(tgid = proc_status_field(status, "\nTgid:")))
		return NULL;
	pid = atoi(tgid);
	process = process_by_pid(sim, pid);
	if (process && !process_mm_alive(process)) {
		process_die(process);
		process = NULL;
	}
	/* The pids and the name are those of the lead thread, whichever thread made the call. */
	if (!process && (tid == pid || !proc_status_read(pid, status, sizeof status)))
		process = make(sim, pid, status, NULL);
	if (process)
		remember_thread(sim, tid, process);
	return process;
}

/* Executes a call that was blocked, or drops it if its caller is gone. */
static void execute_late(struct call *call)
{
	if (call->process->dead || !call_alive(call))
		call_drop(call);
	else
		ioctl_execute(call);
}

/* Ends the process's secondary contexts without an open fd, or all of them if @all is set. */
static void contexts_end(struct process *process, bool all)
{
	struct process *other, *next;

	if (!process->contexts)
		return;
	for (other = TAILQ_FIRST(&process->sim->processes); other; other = next) {
		next = TAILQ_NEXT(other, link);
		if (other->primary == process && (all || !process_holds_mark(other)) &&
		    (all || rule_holds(process->sim, RULE_context_ends_with_descriptor)))
			process_die(other);
	}
}

/* Ends the queues (even suspended ones) and the debug sessions of a process whose address space is
 * gone, as the kernel does. */
void process_die(struct process *process)
{
	struct sim *sim = process->sim;
	struct call_list blocked = TAILQ_HEAD_INITIALIZER(blocked);
	struct call *call;

	if (process->dead)
		return;
	contexts_end(process, true);
	process->dead = true;
	if (process->primary)
		process->primary->contexts--;
	TAILQ_REMOVE(&sim->processes, process, link);
	for (size_t i = 0; i < sizeof sim->tids / sizeof *sim->tids; i++)
		if (sim->tids[i].process == process)
			sim->tids[i].process = NULL;
	epoll_ctl(sim->poll_fd, EPOLL_CTL_DEL, process->pidfd, NULL);
	descriptors_forget(process);
	calls_forget(process);
	close(process->pidfd);
	close(process->mem_fd);
	procfs_process_end(process);
	debugfs_process_end(process);
	smi_process_end(process);
	events_release(process);
	debug_process_died(process);
	kernels_release(process);
	pin_forget(process);
	process->locked = false;
	TAILQ_CONCAT(&blocked, &process->blocked, link);
	while ((call = TAILQ_FIRST(&blocked))) {
		TAILQ_REMOVE(&blocked, call, link);
		execute_late(call);
	}
	queues_tear_down(process);
	memory_release(process);
	unmap_doorbells(process);
	process_unref(process);
}

struct process *context_of(struct process *process, const struct caller_file *file)
{
	struct process *other;
	off_t mark = file->mark;

	if (!process->contexts)
		return process;
	if (mark < 0)
		mark = process_seek_fd(process, file->fd, 0, SEEK_CUR);
	TAILQ_FOREACH(other, &process->sim->processes, link)
	if (other->primary == process && (off_t)other->token == mark)
		return other;
	return process;
}

int ioctl_create_process(struct call *call)
{
	struct process *process = call->process, *context = NULL;
	const struct sim *sim = call->sim;
	char status[PROC_STATUS_BYTES];

	if (process->primary)
		return rule_errno(sim, RULE_context_of_a_context_is_einval, -EINVAL, 0);
	if (!proc_status_read(process->pid, status, sizeof status))
		context = make(call->sim, process->pid, status, process);
	if (!context)
		return -ENOMEM;
	if (process_seek_fd(process, call->fd, (off_t)context->token, SEEK_SET) < 0 &&
	    !context->dead) {
		process_die(context);
		return -EINVAL;
	}
	if (!rule_holds(sim, RULE_context_has_own_queue_ids))
		context->queue_ids[0] = process->queue_ids[0];
	return 0;
}

void process_reap(struct sim *sim)
{
	struct epoll_event events[16];
	int n = epoll_wait(sim->poll_fd, events, 16, 0);

	for (int i = 0; i < n; i++)
		if (events[i].data.ptr == sim)
			drm_files_reap(sim);
		else if (events[i].data.ptr == sim->debugfs)
			debugfs_written(sim);
		else
			process_die(events[i].data.ptr);
}

void process_check_all(struct sim *sim)
{
	struct process *process, *next;

	smi_sweep(sim);
	for (process = TAILQ_FIRST(&sim->processes); process; process = next) {
		next = TAILQ_NEXT(process, link);
		if (!process_mm_alive(process)) {
			process_die(process);
			next = TAILQ_FIRST(&sim->processes);
		} else {
			contexts_end(process, false);
			debug_check(process);
			next = TAILQ_NEXT(process, link);
		}
	}
}

void process_lock(struct process *process)
{
	process->locked = true;
	process_ref(process);
}

void process_block(struct process *process, struct call *call)
{
	TAILQ_INSERT_TAIL(&process->blocked, call, link);
}

void process_unlock(struct process *process)
{
	struct call *call;

	process->locked = false;
	if (process->disable_later && !process->dead) {
		process->disable_later = false;
		debug_session_end(process);
	}
	while (!process->locked && !process->dead && (call = TAILQ_FIRST(&process->blocked))) {
		TAILQ_REMOVE(&process->blocked, call, link);
		execute_late(call);
	}
	process_unref(process);
}

/* Returns true if @pid is the id that @caller sees for a thread of @process. @ns: the thread's ids
 * in @levels nested PID namespaces. */
static bool named(const struct process *process, const struct process *caller, const pid_t *ns,
		  unsigned levels, pid_t pid)
{
	unsigned level = caller->ns_levels - 1;

	if (!rule_holds(caller->sim, RULE_debug_pid_is_of_callers_namespace))
		return ns[levels > 1] == pid;
	if (levels <= level || ns[level] != pid)
		return false;
	return levels != caller->ns_levels || process->ns_ino == caller->ns_ino;
}

/* Returns true if a thread other than the leader has the id @pid in @caller's PID namespace. */
static bool names_thread(const struct process *process, const struct process *caller, pid_t pid)
{
	char path[48], status[PROC_STATUS_BYTES];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", process->pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		pid_t ns[PROC_NS_LEVELS_MAX], tid = atoi(entry->d_name);

		if (tid > 0 && tid != process->pid && !proc_status_read(tid, status, sizeof status))
			found = named(process, caller, ns, proc_status_ns_pids(status, ns), pid);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool process_pid_alive(const struct process *process)
{
	char status[PROC_STATUS_BYTES];
	const char *state;

	if (proc_status_read(process->pid, status, sizeof status))
		return false;
	state = proc_status_field(status, "\nState:\t");
	return state && *state != 'Z' && *state != 'X';
}

bool process_holds_kfd(const struct process *process)
{
	char path[288];
	struct dirent *entry;
	bool found = false;
	struct stat st;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", process->pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		snprintf(path, sizeof path, "/proc/%d/fd/%s", process->pid, entry->d_name);
		found = !stat(path, &st) && st.st_ino == process->sim->kfd_ino &&
			st.st_dev == process->sim->kfd_dev;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Returns true if the lead thread lives. After its end the driver finds no address space by its
 * pid, even if other threads still run. */
static bool leader_alive(const struct process *process)
{
	return process_pid_alive(process) ||
	       !rule_holds(process->sim, RULE_debug_exited_leader_is_esrch);
}

struct process *process_by_ns_pid(struct process *caller, pid_t pid)
{
	struct process *process;

	TAILQ_FOREACH(process, &caller->sim->processes, link)
	if (named(process, caller, process->ns_pid, process->ns_levels, pid) &&
	    (!process->contexts || rule_holds(caller->sim, RULE_context_is_not_debugged)))
		return process_mm_alive(process) && leader_alive(process) ? process : NULL;
	if (!rule_holds(caller->sim, RULE_debug_any_thread_names_target))
		return NULL;
	TAILQ_FOREACH(process, &caller->sim->processes, link)
	if (names_thread(process, caller, pid))
		return process_mm_alive(process) ? process : NULL;
	return NULL;
}

/* Searches all processes in /proc, because the pid in kfdsim's namespace is not known yet. */
struct process *process_new_traced(struct process *caller, pid_t pid, pid_t tracer)
{
	char status[PROC_STATUS_BYTES];
	struct process *made = NULL;
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && !made && (entry = readdir(dir))) {
		pid_t ns[PROC_NS_LEVELS_MAX], host = atoi(entry->d_name);
		const char *by;
		unsigned levels;

		if (host <= 0 || proc_status_read(host, status, sizeof status))
			continue;
		by = proc_status_field(status, "\nTracerPid:");
		levels = proc_status_ns_pids(status, ns);
		if (by && atoi(by) == tracer && levels >= caller->ns_levels &&
		    ns[caller->ns_levels - 1] == pid)
			made = process_new(caller->sim, host);
	}
	if (dir)
		closedir(dir);
	return made;
}

int process_tracer(const struct process *process)
{
	return proc_status_number(process->pid, "\nTracerPid:");
}
