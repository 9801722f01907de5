// SPDX-License-Identifier: MIT
/*
 * Communication with seccomp: receives trapped calls, filters out those that are not for a
 * simulated device, and answers the others, at once or later.
 *
 * The server thread waits in the ioctl SECCOMP_IOCTL_NOTIF_RECV, not in poll(), and has ordinary
 * priority and nice value. With SYNC_WAKE_UP the kernel then switches directly from the caller to
 * the server, and back as soon as the answer is given. If the server had a better nice value than
 * its callers, it would first run until its next wait, which makes each call a third slower. With
 * real-time priority (which the main loop in sim.c has) calls are slower still.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc.h"
#include "common/wait.h"
#include "sim/driver/memory.h"
#include "sim/driver/queue.h"

/* ---- process_vm_readv() and process_vm_writev() ----
 * Refuses process_vm_readv() and process_vm_writev() on device memory, as the kernel does. On a
 * real GPU, what a process has mapped from a render node or from /dev/kfd is VM_IO and VM_PFNMAP
 * (drivers/gpu/drm/ttm/ttm_bo_vm.c, kfd_doorbell.c, kfd_events.c), and the kernel does not pin such
 * pages (mm/process_vm_access.c: EFAULT). Loads and stores reach them, and so does /proc/PID/mem,
 * for which TTM has a function of its own. In the simulation the mappings are pages of files, which
 * the kernel would pin.
 *
 * Only the ranges of the other process that the call names are checked. A call that reaches device
 * memory only after other memory is refused as a whole.
 */

#define RANGES_MAX 64u /* further ranges are not checked */

/* The same indexes are valid for process_vm_readv() and process_vm_writev(). */
enum { ARG_PID, ARG_LOCAL, ARG_LOCAL_N, ARG_REMOTE, ARG_REMOTE_N };

/* Argument of the ioctl by which Linux 6.11 and later answer queries about a process's mappings
 * (Documentation/filesystems/proc.rst); system headers may be older. */
struct procmap_question {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_bytes, offset, inode;
	uint32_t major, minor;
	uint32_t name_bytes, build_id_bytes;
	uint64_t name, build_id;
};
_Static_assert(sizeof(struct procmap_question) == 104, "struct procmap_query");
#define PROCMAP_ASK _IOWR('f', 17, struct procmap_question)
#define COVERING_OR_NEXT 0x10u
#define FILE_BACKED 0x20u

static bool is_device(const struct sim *sim, unsigned major, unsigned minor,
		      unsigned long long inode)
{
	return makedev(major, minor) == sim->kfd_dev &&
	       (inode == sim->kfd_ino || inode == sim->render_ino);
}

/* Finds the first file mapping that contains @address or begins after it. Returns 0 or -1. */
static int query(int maps, struct procmap_question *question, uint64_t address)
{
	*question = (struct procmap_question){
		.size = sizeof *question,
		.flags = COVERING_OR_NEXT | FILE_BACKED,
		.address = address,
	};
	return ioctl(maps, PROCMAP_ASK, question);
}

/* Returns true if [start, end) intersects a mapping of a device. */
static bool wanted(const struct sim *sim, int maps, uint64_t start, uint64_t end)
{
	struct procmap_question question;

	while (start < end && !query(maps, &question, start) && question.start < end) {
		if (is_device(sim, question.major, question.minor, question.inode))
			return true;
		start = question.end;
	}
	return false;
}

/* Used on kernels before 6.11. Reads the list of mappings as text, and returns true if one of the
 * ranges intersects a mapping of a device. Closes @maps. */
static bool listed(const struct sim *sim, int maps, const struct iovec *ranges, size_t n)
{
	unsigned long long from, to, inode;
	FILE *list = fdopen(maps, "r");
	unsigned major, minor;
	bool found = false;
	char line[512];

	if (!list) {
		close(maps);
		return false;
	}
	while (!found && fgets(line, sizeof line, list)) {
		if (sscanf(line, "%llx-%llx %*s %*x %x:%x %llu", &from, &to, &major, &minor,
			   &inode) != 5 ||
		    !is_device(sim, major, minor, inode))
			continue;
		for (size_t i = 0; i < n; i++) {
			uint64_t start = (uint64_t)(uintptr_t)ranges[i].iov_base;

			found = found || (start < to && start + ranges[i].iov_len > from);
		}
	}
	fclose(list);
	return found;
}

/* Returns true if process_vm_readv() or process_vm_writev() with these arguments, called by the
 * thread @tid, reaches device memory. No lock is needed. */
static bool vm_access_refused(const struct sim *sim, pid_t tid, const uint64_t *args)
{
	size_t n = args[ARG_REMOTE_N] < RANGES_MAX ? (size_t)args[ARG_REMOTE_N] : RANGES_MAX;
	struct iovec ranges[RANGES_MAX];
	struct procmap_question question;
	bool refused = false;
	char path[64];
	int maps;

	if (!rule_holds(sim, RULE_device_memory_is_not_for_process_vm) || !n ||
	    task_memory(tid, args[ARG_REMOTE], ranges, n * sizeof ranges[0], false))
		return false;
	/* In the caller's own /proc the pids are those of the caller's PID namespace. */
	snprintf(path, sizeof path, "/proc/%d/root/proc/%d/maps", tid, (int)args[ARG_PID]);
	maps = open(path, O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return false;
	if (query(maps, &question, 0) && errno != ENOENT)
		return listed(sim, maps, ranges, n);
	for (size_t i = 0; i < n && !refused; i++) {
		uint64_t start = (uint64_t)(uintptr_t)ranges[i].iov_base;

		refused = wanted(sim, maps, start, start + ranges[i].iov_len);
	}
	close(maps);
	return refused;
}

/* Since Linux 6.6; system headers may be older. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define SYNC_WAKE_UP 1ull
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1ul << 1)
#endif

#define MODULES_PATH "/proc/modules"
#define SERVER_SIGNAL SIGUSR2 /* interrupts the server's wait */
#define UNDELIVERED_MAX 64u   /* each belongs to another thread */
#define WAKES_TRIES 50u

void sim_log(const char *format, ...)
{
	va_list args;

	fputs("kfdsim: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

bool notify_alive(struct sim *sim, uint64_t id)
{
	return !ioctl(sim->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id);
}

static int send_response(struct sim *sim, struct seccomp_notif_resp response)
{
	sim->woken++;
	return ioctl(sim->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) ? -errno : 0;
}

/* Answers notification @id with @result: 0 or more, or a negative errno. */
static int respond(struct sim *sim, uint64_t id, int result)
{
	return send_response(sim, (struct seccomp_notif_resp){.id = id,
							      .val = result > 0 ? result : 0,
							      .error = result < 0 ? result : 0});
}

void notify_refuse(struct sim *sim, uint64_t id, int error)
{
	respond(sim, id, error);
}

/* Lets the kernel execute the trapped call itself. */
static void let_pass(struct sim *sim, uint64_t id)
{
	send_response(sim, (struct seccomp_notif_resp){.id = id,
						       .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE});
}

bool call_alive(const struct call *call)
{
	return notify_alive(call->sim, call->id);
}

int call_read(const struct call *call, uint64_t address, void *to, size_t n)
{
	return task_memory(call->tid, address, to, n, false);
}

int call_write(const struct call *call, uint64_t address, const void *from, size_t n)
{
	return task_memory(call->tid, address, (void *)(uintptr_t)from, n, true);
}

int call_add_fd(const struct call *call, int fd, uint32_t flags)
{
	struct seccomp_notif_addfd add = {
		.id = call->id, .srcfd = (uint32_t)fd, .newfd_flags = flags};
	int r = ioctl(call->sim->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return r < 0 ? -errno : r;
}

int call_stat(const struct call *call, int fd, struct stat *st)
{
	char path[64];

	if (call->process)
		snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", call->process->pid, call->tid,
			 fd);
	else
		snprintf(path, sizeof path, "/proc/%d/fd/%d", call->tid, fd);
	return stat(path, st) ? -EBADF : 0;
}

void call_drop(struct call *call)
{
	if (call->process)
		process_unref(call->process);
	free(call);
}

static void take_out(struct call *call)
{
	TAILQ_REMOVE(&call->sim->undelivered, call, link);
	call->sim->n_undelivered--;
}

static void forget(struct call *call)
{
	take_out(call);
	call_drop(call);
}

/* Keeps the answer of a call whose caller was interrupted before it got the answer, so that the
 * repeated call gets it (call_replied_before()).
 *
 * In the driver a signal only interrupts calls that wait. seccomp lets a signal interrupt every
 * call, and the call is repeated after the signal, by the kernel or, if the program got EINTR, by
 * the runtime. If it were executed twice, a FREE would fail. (Not detected: a signal in the
 * fraction of a microsecond in which the kernel takes the answer and reports it as delivered.
 * WAIT_KILLABLE_RECV would prevent that, but also SIGSTOP and signal handlers during a
 * WAIT_EVENTS.) */
static void keep_undelivered(struct call *call, int result)
{
	struct sim *sim = call->sim;

	if (call->begins_anew || (call->process && call->process->dead) ||
	    !rule_holds(sim, RULE_signals_repeat_no_call)) {
		call_drop(call);
		return;
	}
	call->result = result;
	TAILQ_INSERT_TAIL(&sim->undelivered, call, link);
	if (++sim->n_undelivered > UNDELIVERED_MAX)
		forget(TAILQ_FIRST(&sim->undelivered));
}

bool call_replied_before(struct call *again)
{
	struct sim *sim = again->sim;
	const struct call *outer = sim->serving;
	struct call *call;

	TAILQ_FOREACH(call, &sim->undelivered, link)
	if (call->tid == again->tid)
		break;
	if (!call)
		return false;
	if (call->type != again->type || call->nr != again->nr || call->fd != again->fd ||
	    call->user_arg != again->user_arg || call->process != again->process) {
		forget(call); /* the thread has continued without it */
		return false;
	}
	take_out(call);
	call->id = again->id;
	call_drop(again);
	sim->serving = call;
	call_reply(call, call->result);
	sim->serving = outer;
	return true;
}

void calls_forget(const struct process *process)
{
	struct call *call, *next;

	for (call = TAILQ_FIRST(&process->sim->undelivered); call; call = next) {
		next = TAILQ_NEXT(call, link);
		if (call->process == process)
			forget(call);
	}
}

void calls_forget_all(struct sim *sim)
{
	while (!TAILQ_EMPTY(&sim->undelivered))
		forget(TAILQ_FIRST(&sim->undelivered));
}

/* Returns true if the caller still waits for the answer. If a signal has just woken the caller, the
 * notification stays valid until the caller has run a little, so its state is polled as well. */
static bool still_waits(const struct call *call)
{
	struct proc_stat thread;

	for (unsigned i = 0; i < WAKES_TRIES; i++) {
		if (!call_alive(call))
			return false;
		if (proc_stat(call->tid, &thread) && thread.state == 'S')
			return true;
		sleep_ns(10000);
	}
	return call_alive(call);
}

/* Answers the call with @result. Copies its results back even with an error, as the driver does. If
 * the caller no longer waits, keeps the answer and returns -ENOENT. */
int call_reply(struct call *call, int result)
{
	bool late = call != call->sim->serving;
	int r;

	/* If the answer is late, the thread id may belong to another thread by now. */
	if (late && ((call->process && call->process->dead) || !call_alive(call))) {
		keep_undelivered(call, result);
		return -ENOENT;
	}
	if (!rule_holds(call->sim, RULE_results_come_back_with_an_error) && result < 0)
		call->copy_back = false;
	if (call->copy_back && call->user_size &&
	    call_write(call, call->user_arg, call->data, call->user_size) &&
	    rule_holds(call->sim, RULE_unwritable_results_are_efault))
		result = -EFAULT;
	r = late && !still_waits(call) ? -ENOENT : respond(call->sim, call->id, result);
	if (r == -ENOENT)
		keep_undelivered(call, result);
	else
		call_drop(call);
	return r;
}

/* Answers openat("/proc/modules") with modules_fd: libkmod reads that file, which a host without
 * modules does not have. */
static void serve_open(struct sim *sim, const struct seccomp_notif *n)
{
	char path[sizeof MODULES_PATH] = "";
	struct seccomp_notif_addfd add = {
		.id = n->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)sim->config.modules_fd,
		.newfd_flags = (uint32_t)n->data.args[2] & O_CLOEXEC,
	};

	if (task_memory((pid_t)n->pid, n->data.args[1], path, sizeof path, false) ||
	    memcmp(path, MODULES_PATH, sizeof path) || !notify_alive(sim, n->id)) {
		let_pass(sim, n->id);
		return;
	}
	lseek(sim->config.modules_fd, 0, SEEK_SET);
	if (ioctl(sim->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
		let_pass(sim, n->id);
}

/* Serves an ioctl on the KFD device. @process: the caller's process, or NULL if it is not known
 * yet. An ioctl of a vfork() child is refused, because the child runs in its parent's memory but is
 * not the process that opened the device. */
static void serve_kfd(struct sim *sim, struct process *process, struct notif *notif)
{
	pid_t tid = notif->tid, lender = process ? 0 : process_lender(tid);

	if (lender && rule_holds(sim, RULE_vfork_child_is_ebadf)) {
		notify_refuse(sim, notif->id, -EBADF);
		return;
	}
	if (!process) {
		/* The kernel frees what a process had (when it releases the mm) before the parent
		 * is notified of the end. A process that is started after the notification must
		 * find these resources free here, too, so handle ended processes first. */
		process_reap(sim);
		process = process_new(sim, lender ? lender : tid);
		/* The process was identified through a pid, which is only valid if the call still
		 * waits. */
		if (!process || !notify_alive(sim, notif->id)) {
			notify_refuse(sim, notif->id, -ESRCH);
			return;
		}
		descriptor_remember(process, tid, &notif->file);
	}
	ioctl_kfd(sim, process, notif);
}

/* Serves an ioctl if its fd is one of a simulated device. If not, the kernel executes the ioctl. */
static void serve_ioctl(struct sim *sim, const struct seccomp_notif *n)
{
	struct notif notif = {
		.id = n->id,
		.tid = (pid_t)n->pid,
		.cmd = (uint32_t)n->data.args[1],
		.arg = n->data.args[2],
		.file.fd = (int)n->data.args[0],
	};
	struct caller_file *file = &notif.file;
	struct process *known;
	int node, r = descriptor_file(sim, notif.tid, &known, file);

	if (r || file->device != sim->kfd_dev)
		let_pass(sim, n->id);
	else if (_IOC_TYPE(notif.cmd) == KFDABI_TYPE && file->inode == sim->kfd_ino)
		serve_kfd(sim, known, &notif);
	else if (_IOC_TYPE(notif.cmd) == 'd' && file->inode == sim->render_ino &&
		 (node = drm_node(sim, notif.tid, file->fd)) >= 0)
		ioctl_drm(sim, (uint32_t)node, &notif);
	else
		let_pass(sim, n->id);
}

/* Serves process_vm_readv() and process_vm_writev(), and returns false for other calls. Needs no
 * lock: it does not use the GPUs, but reads the program's list of mappings. */
static bool serve_vm_access(struct sim *sim, const struct seccomp_notif *n)
{
	if (n->data.nr != SYS_process_vm_readv && n->data.nr != SYS_process_vm_writev)
		return false;
	if (vm_access_refused(sim, (pid_t)n->pid, (const uint64_t *)n->data.args))
		notify_refuse(sim, n->id, -EFAULT);
	else
		let_pass(sim, n->id);
	return true;
}

static void serve(struct sim *sim, const struct seccomp_notif *n)
{
	if (n->data.nr == SYS_ioctl)
		serve_ioctl(sim, n);
	else if (n->data.nr == SYS_openat && sim->config.modules_fd >= 0)
		serve_open(sim, n);
	else
		let_pass(sim, n->id);
}

/* Checks after a call whether something is due before the main loop would wake up. Does at once
 * what is due now, because that saves the wake-up of a thread. Returns true if the main loop has to
 * wake up earlier than planned. */
static bool serve_due(struct sim *sim)
{
	uint64_t due = engine_due(sim);

	if (due < sim->sleeps_until_ns && due <= clock_ns()) {
		engine_run(sim);
		due = engine_due(sim);
	}
	return due < sim->sleeps_until_ns;
}

static bool receive(const struct sim *sim, struct seccomp_notif *n)
{
	*n = (struct seccomp_notif){0};
	return !ioctl(sim->listener, SECCOMP_IOCTL_NOTIF_RECV, n);
}

void notify_serve(struct sim *sim)
{
	struct seccomp_notif n;

	if (!receive(sim, &n) || time_serve(sim, &n) || serve_vm_access(sim, &n))
		return;
	engine_catch_up(sim);
	serve(sim, &n);
}

/* Runs the server thread: receives trapped calls and serves each under sim->lock. */
static void *serve_all(void *arg)
{
	struct sim *sim = arg;
	const uint64_t one = 1;

	while (!__atomic_load_n(&sim->server_stops, __ATOMIC_ACQUIRE)) {
		struct seccomp_notif n;
		bool wake;

		if (!receive(sim, &n)) {
			/* Either the caller was interrupted meanwhile, or all tasks have ended,
			 * which the main loop detects. */
			if (errno != EINTR)
				sleep_ns(1000);
			continue;
		}
		if (serve_vm_access(sim, &n))
			continue;
		sim_lock(sim);
		engine_catch_up(sim);
		serve(sim, &n);
		wake = serve_due(sim);
		pthread_mutex_unlock(&sim->lock);
		if (wake && write(sim->wake_fd, &one, sizeof one) < 0)
			continue; /* the eventfd is readable already */
	}
	return NULL;
}

static void interrupted(int signal)
{
	(void)signal;
}

int notify_start(struct sim *sim, int listener)
{
	struct sigaction action = {.sa_handler = interrupted}; /* without SA_RESTART */
	int r;

	sim->listener = listener;
	/* Without this flag trapped calls are slower, because each wake-up goes through the run
	 * queues. Nothing else differs. */
	sim->sync_wake = !ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP);
	if (sigaction(SERVER_SIGNAL, &action, NULL))
		return -errno;
	r = pthread_create(&sim->server, NULL, serve_all, sim);
	return -r;
}

void notify_stop(struct sim *sim)
{
	__atomic_store_n(&sim->server_stops, true, __ATOMIC_RELEASE);
	/* Send the signal repeatedly: a signal just before the thread waits has no effect. */
	while (pthread_tryjoin_np(sim->server, NULL) == EBUSY) {
		pthread_kill(sim->server, SERVER_SIGNAL);
		sleep_ns(1000000);
	}
}
