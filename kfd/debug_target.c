// SPDX-License-Identifier: MIT
#include "kfd/debug_target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "kfd/exception.h"
#include "kfd/ptrace.h"

struct trap {
	pid_t pid;
	int pidfd;     /* owned by the caller of trap_create() */
	int kfd_fd;    /* owned by the caller of trap_attach() */
	int events_fd; /* owned; read end of the driver's event pipe; -1: no session */
	bool seized;   /* this thread traces the target */
	struct kfd_debug_cost enable; /* cost of ENABLE in the last trap_attach() */
	struct kfd_debug_session session;
};

/* Repeats a call with the ids of the target's other threads until the driver knows one, and keeps
 * that id. Returns as ioctl(). */
static int call_by_other_threads(struct trap *trap, unsigned long request,
				 struct kfdabi_dbg_trap *args)
{
	int r = -1, error = ESRCH;
	struct dirent *entry;
	char path[64];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)trap->pid);
	threads = opendir(path);
	while (error == ESRCH && threads && (entry = readdir(threads))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0 || thread == trap->session.target)
			continue;
		args->pid = (uint32_t)thread;
		r = ioctl(trap->kfd_fd, request, args);
		error = r < 0 ? errno : 0;
	}
	if (!error)
		trap->session.target = (pid_t)args->pid;
	if (threads)
		closedir(threads);
	errno = error;
	return r;
}

/* Makes an ioctl for the target. The driver finds no process by the id of a thread that has ended.
 * So if the driver does not find the target, tries the ids of the target's other threads. Without
 * that, a target whose first thread ends while it is suspended could not be resumed. */
static int call_device(void *context, unsigned long request, void *arg)
{
	struct trap *trap = context;
	int r = ioctl(trap->kfd_fd, request, arg);

	if (r < 0 && errno == ESRCH && poll_now(trap->pidfd, POLLIN) == 0)
		return call_by_other_threads(trap, request, arg);
	return r;
}

struct trap *trap_create(pid_t pid, int pidfd)
{
	struct trap *trap = calloc(1, sizeof(*trap));

	if (!trap)
		return NULL;
	trap->pid = pid;
	trap->pidfd = pidfd;
	trap->events_fd = -1;
	trap->session.ioctl = call_device;
	trap->session.context = trap;
	trap->session.target = pid;
	return trap;
}

void trap_destroy(struct trap *trap)
{
	if (!trap)
		return;
	if (trap->events_fd >= 0)
		close(trap->events_fd);
	free(trap);
}

int trap_events_fd(const struct trap *trap)
{
	return trap->events_fd;
}

int trap_serve(struct trap *trap)
{
	int error;

	if (!trap->seized)
		return 0;
	error = tracer_serve(trap->pid);
	if (error == -ESRCH)
		trap->seized = false;
	return error;
}

bool trap_pending(const struct trap *trap)
{
	return tracer_pending(trap->pid);
}

static void post_runtime_event(struct trap *trap)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_SEND_RUNTIME_EVENT};

	args.u.send_runtime_event.exception_mask = kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME);
	kfd_debug_call(&trap->session, &args);
}

void trap_handle_runtime(struct trap *trap)
{
	char events[64];
	ssize_t n = read(trap->events_fd, events, sizeof(events));

	/* Each byte is one change of the runtime, which consumed the runtime event that was posted
	 * in advance. So post another for each. */
	for (; n > 0; n--)
		post_runtime_event(trap);
}

int trap_watch_queues(struct trap *trap)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_SET_EXCEPTIONS_ENABLED};

	args.u.set_exceptions_enabled.exception_mask =
		kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME) | kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
	return kfd_debug_call(&trap->session, &args);
}

/* Returns true if the runtime has turned on or off since the last query; *enabled: the new
 * state. */
static bool runtime_changed(struct trap *trap, bool *enabled)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_QUERY_EXCEPTION_INFO};
	struct kfdabi_runtime_info info = {0};

	args.u.query_info.info_ptr = (uintptr_t)&info;
	args.u.query_info.info_size = sizeof(info);
	args.u.query_info.exception_code = KFDABI_EC_PROCESS_RUNTIME;
	args.u.query_info.clear_exception = 1;
	if (kfd_debug_call(&trap->session, &args) < 0)
		return false;
	*enabled = info.runtime_state == KFDABI_RUNTIME_ENABLED;
	return true;
}

int trap_handle_events(struct trap *trap, bool *enabled)
{
	uint32_t before = trap->session.n_new, fresh;
	char events[64];
	ssize_t n = read(trap->events_fd, events, sizeof(events));
	int error = trap_collect(trap);

	/* The fd delivers one byte for each new queue and one for each change of the runtime. Each
	 * change consumed the runtime event that was posted in advance, so post as many again. */
	fresh = trap->session.n_new - before;
	if (runtime_changed(trap, enabled))
		for (ssize_t left = n > (ssize_t)fresh ? n - (ssize_t)fresh : 1; left > 0; left--)
			post_runtime_event(trap);
	return error;
}

static void end_session(struct trap *trap)
{
	if (kfd_debug_is_enabled(&trap->session))
		post_runtime_event(trap);
	kfd_debug_disable(&trap->session);
	close(trap->events_fd);
	trap->events_fd = -1;
}

static int session_failed(const struct trap *trap, int error, struct reason *reason)
{
	const char *why;

	switch (-error) {
	case EALREADY:
		why = "another debugger opened a session first";
		break;
	case EBUSY:
		why = "it uses global wave sync, with which this GPU cannot be debugged";
		break;
	case ENODEV:
		why = "it uses a GPU older than gfx9";
		break;
	case EPERM:
		why = "the driver does not accept this process as its tracer";
		break;
	default:
		why = strerror(-error);
	}
	return reason_set(reason, REASON_session_failed, trap->pid, error, "%s", why);
}

/* Opens a session. *state: KFDABI_RUNTIME_* of the target. Returns 0, or a negative errno with
 * `reason`. */
static int open_session(struct trap *trap, uint32_t *state, struct reason *reason)
{
	int ends[2];
	int error;

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
		return session_failed(trap, -errno, reason);
	/* Use a pipe, because the driver writes one byte, which does nothing on an eventfd. The
	 * read end stays open for the whole session, because the driver's write would otherwise
	 * raise SIGPIPE in the target. */
	trap->enable.entry_ns = clock_ns();
	error = kfd_debug_enable(&trap->session, kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME), ends[1],
				 state);
	trap->enable.duration_ns = clock_ns() - trap->enable.entry_ns;
	close(ends[1]); /* only the driver holds it now, so the end of the session is a hang-up */
	if (error) {
		close(ends[0]);
		return session_failed(trap, error, reason);
	}
	trap->events_fd = ends[0];
	return 0;
}

static int start_session(struct trap *trap, struct reason *reason)
{
	uint32_t state;
	int error = open_session(trap, &state, reason);

	if (error)
		return error;
	if (state == KFDABI_RUNTIME_ENABLED) {
		post_runtime_event(trap);
		return 0;
	}
	end_session(trap);
	if (state == KFDABI_RUNTIME_BUSY)
		return reason_set(reason, REASON_gpu_busy, trap->pid, -EBUSY, NULL);
	return reason_set(reason,
			  state == KFDABI_RUNTIME_DISABLED ? REASON_runtime_disabled
							   : REASON_runtime_error,
			  trap->pid, -EPROTO, "%u", state);
}

static int settle_queues(struct trap *trap, struct kfd_debug_cost *cost, struct reason *reason)
{
	int error = kfd_debug_settle(&trap->session, cost);

	if (!error)
		return 0;
	reason_set(reason, REASON_first_suspend_failed, trap->pid, error, NULL);
	reason->error = -EIO;
	end_session(trap);
	return -EIO;
}

static int has_ended(const struct trap *trap, struct reason *reason)
{
	if (poll_now(trap->pidfd, POLLIN) == 0)
		return 0;
	return reason_set(reason, REASON_process_ended, trap->pid, -ESRCH, NULL);
}

/* Detaches from the target if the driver accepts calls of the session's owner without ptrace (Linux
 * 6.12.103 and later). An untraced process does not stop at each of its signals, and cannot be
 * stuck in a stop because this process hangs. No version number shows whether the driver accepts
 * them (AMD's own driver has none for that), so this detaches and probes, and attaches again on
 * EPERM. */
static int try_without(struct trap *trap, struct reason *reason)
{
	int error = tracer_detach(trap->pid);

	if (error == -ETIMEDOUT)
		return 0; /* the target is still traced, which every driver accepts */
	trap->seized = false;
	if (error) {
		reason_set(reason, REASON_process_ended, trap->pid, error, NULL);
	} else if (kfd_debug_probe(&trap->session) == -EPERM) {
		error = tracer_seize(trap->pid, reason);
		trap->seized = error == 0;
		if (!error) /* while detached, the pid may have become another process's */
			error = has_ended(trap, reason);
	}
	if (error)
		end_session(trap);
	return error;
}

static int check_target(struct trap *trap, struct reason *reason)
{
	/* The target is seized, so its pid cannot be reused from here on. If the pidfd shows that
	 * the process has ended, the pid had already been reused before. */
	int error = has_ended(trap, reason);

	if (error)
		return error;
	trap->enable = (struct kfd_debug_cost){.entry_ns = clock_ns()};
	error = kfd_debug_probe(&trap->session);
	trap->enable.waited_ns = clock_ns() - trap->enable.entry_ns;
	if (error == -EINVAL)
		return 0;
	if (error >= 0)
		return reason_set(reason, REASON_session_exists, trap->pid, -EAGAIN, NULL);
	if (error == -ESRCH)
		return reason_set(reason, REASON_device_not_used, trap->pid, error, NULL);
	return session_failed(trap, error, reason);
}

int trap_attach(struct trap *trap, int kfd_fd, struct kfd_debug_cost *settled,
		struct reason *reason)
{
	int error = tracer_seize(trap->pid, reason);

	*settled = (struct kfd_debug_cost){0};
	if (error)
		return error;
	trap->seized = true;
	trap->kfd_fd = kfd_fd;
	error = check_target(trap, reason);
	if (!error)
		error = start_session(trap, reason);
	if (!error)
		error = settle_queues(trap, settled, reason);
	if (!error)
		error = try_without(trap, reason);
	if (error && trap->seized) {
		tracer_detach(trap->pid);
		trap->seized = false;
	}
	return error;
}

struct kfd_debug_cost trap_enable_cost(const struct trap *trap)
{
	return trap->enable;
}

int trap_list_queues(struct trap *trap, int kfd_fd, struct kfdabi_queue_snapshot *out, uint32_t max,
		     struct reason *reason)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_GET_QUEUE_SNAPSHOT};
	int error = tracer_seize(trap->pid, reason);
	uint32_t state;

	if (error)
		return error;
	trap->kfd_fd = kfd_fd;
	error = check_target(trap, reason);
	if (!error)
		error = open_session(trap, &state, reason);
	if (!error) {
		args.u.queue_snapshot.snapshot_buf_ptr = (uintptr_t)out;
		args.u.queue_snapshot.num_queues = max;
		args.u.queue_snapshot.entry_size = sizeof(*out);
		error = kfd_debug_call(&trap->session, &args);
		if (error < 0)
			reason_set(reason, REASON_no_snapshot, trap->pid, error, NULL);
		end_session(trap);
	}
	tracer_detach(trap->pid);
	return error < 0 ? error : (int)args.u.queue_snapshot.num_queues;
}

void trap_detach(struct trap *trap)
{
	struct kfd_debug_cost cost;

	if (trap->events_fd >= 0) {
		kfd_debug_resume(&trap->session, &cost);
		end_session(trap);
	}
	if (trap->seized)
		tracer_detach(trap->pid);
	trap->seized = false;
}

/* ---- queues ---- */

struct kfd_debug_session *trap_session(struct trap *trap)
{
	return &trap->session;
}

bool trap_is_gone(struct trap *trap, int error)
{
	if (error == -EINVAL && kfd_debug_is_enabled(&trap->session))
		kfd_debug_probe(&trap->session);
	return error == -ESRCH || (error == -EINVAL && !kfd_debug_is_enabled(&trap->session));
}

uint32_t trap_exceptions(const struct trap *trap, uint64_t *out, uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < trap->session.n_queues && n < room; i++) {
		const struct kfd_debug_queue *q = &trap->session.queues[i];
		uint64_t faults = q->exceptions & EXCEPTION_FAULTS;

		if (faults)
			out[n++] = (uint64_t)q->id << 32 | faults;
	}
	return n;
}

int trap_collect(struct trap *trap)
{
	int error;

	/* Ignore a failed snapshot: it means that the process or the session is ending, which the
	 * pidfd or trap_events_fd() reports. */
	if (kfd_debug_refresh(&trap->session) != 0 || !kfd_debug_is_holding(&trap->session))
		return 0;
	error = kfd_debug_suspend(&trap->session, NULL);
	return error == -ESRCH || error == -EINVAL ? 0 : error;
}
