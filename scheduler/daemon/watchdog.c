// SPDX-License-Identifier: MIT
#include "scheduler/daemon/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/own_names.h"
#include "common/wait.h"
#include "scheduler/daemon/admission/greeter.h"
#include "scheduler/daemon/child.h"
#include "scheduler/daemon/executor/executor.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/metrics/metrics_http.h"
#include "scheduler/daemon/privileges.h"
#include "scheduler/daemon/reader/reader.h"
#include "scheduler/daemon/recording/record.h"
#include "scheduler/daemon/systemd.h"
#include "scheduler/daemon/worker.h"

#define MS 1000000ull
#define CHECK_NS (50 * MS)	    /* period of the watchdog's loop */
#define HEARTBEAT_MAX_NS (500 * MS) /* maximum age of the worker's heartbeat */
/* maximum age before the worker's loop runs; longer, because nothing is suspended at that time */
#define START_MAX_NS (5000 * MS)
#define LEAVE_MAX_NS (15000 * MS)    /* time for a worker to end after SIGTERM */
#define ADMISSION_MAX_NS (1000 * MS) /* age of the heartbeat of kfdschedd-door */
#define OWN_FILES 8
#define FILES (OWN_FILES + RECORD_FILES)
/* maximum time from the end of the worker, which ends all debug sessions, to that of its executor
 * processes */
#define END_MAX_NS (2000 * MS)

struct watchdog {
	struct shared_state *shared;
	struct reload *reload;
	int signals;
	struct admission_process admission_process;
	int channel; /* the worker's end of the channel */
	char lock[128];
	struct daemon_child worker, admission;
	struct daemon_child http; /* only with a socket for metrics */
	struct daemon_child reader;
	struct daemon_child record; /* only with --record */
	/* connection between the worker ([0]) and kfdschedd-read ([1]) */
	int reader_ends[2];
	int files[FILES]; /* all that children inherit; -1: none */
	struct executors *executors;
	int lock_error; /* error of the last attempt to take the lock, which was logged */
	unsigned late;	/* checks in a row that found the heartbeat too old */
	/* checks in a row that found the heartbeat of kfdschedd-door too old */
	unsigned admission_late;
	uint64_t stopping_since; /* when the end of the daemon was requested; 0: not yet */
	uint64_t left_since;	 /* when the last worker ended; 0: not yet */
	bool children;		 /* a child may have ended or stopped */
	bool reloading;		 /* systemd was notified of a reload */
};

static bool too_old(const struct watchdog *w, uint64_t now)
{
	uint64_t most_ns = __atomic_load_n(&w->shared->serving, __ATOMIC_ACQUIRE) ? HEARTBEAT_MAX_NS
										  : START_MAX_NS;

	return now >= __atomic_load_n(&w->shared->heartbeat_ns, __ATOMIC_ACQUIRE) + most_ns;
}

static void check_child(struct watchdog *w, uint64_t now)
{
	if (!w->worker.pid || w->worker.killed)
		return;
	/* Two checks in a row must fail, because the watchdog itself may have been delayed. */
	w->late = too_old(w, now) ? w->late + 1 : 0;
	if (w->late >= 2)
		log_error("worker %d %s; killing it and its executors, and the driver resumes "
			  "the processes that they have suspended",
			  (int)w->worker.pid,
			  child_is_stopped(&w->worker) ? "is stopped" : "hangs");
	else if (w->stopping_since && now > w->stopping_since + LEAVE_MAX_NS)
		log_error("worker %d does not end; killing it", (int)w->worker.pid);
	else
		return;
	child_kill(&w->worker);
	/* kill the executors even if the worker cannot end, because it is in a driver call */
	executors_kill(w->executors, now);
}

/* ---- the lock that ensures one worker for a socket, even across daemons ---- */

/* A killed worker, with its debug sessions, can live on for seconds in a driver call that does not
 * return. If the watchdog was killed, too, the next daemon is not informed about that worker. So a
 * worker holds a lock on a file beside the socket until its last thread has ended, and no watchdog
 * starts a worker without the lock. */

/* Opens and locks the lock file, without waiting. Returns the descriptor; -EWOULDBLOCK if another
 * process holds the lock; or another negative errno. Also returns -EWOULDBLOCK if the last holder
 * of the lock has removed the file between open() and flock() here: the lock then has no effect,
 * because the file has no name any more, and the caller must try again. */
static int take_once(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	int error;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0) {
		if (st.st_nlink > 0)
			return fd;
		errno = EAGAIN;
	}
	error = -errno;
	close(fd);
	return error == -EAGAIN ? -EWOULDBLOCK : error;
}

/* Opens and locks the lock file, without waiting. Copies of the descriptor made by fork() hold the
 * lock, too. Returns the descriptor; -EWOULDBLOCK: another process holds the lock; or another
 * negative errno. */
static int lock_take(const char *path)
{
	int fd = -EWOULDBLOCK;

	for (int i = 0; i < 3 && fd == -EWOULDBLOCK; i++)
		fd = take_once(path);
	return fd;
}

/* Removes the lock file, unless another process holds the lock. */
static void lock_remove(const char *path)
{
	int fd = lock_take(path);

	if (fd < 0)
		return;
	unlink(path);
	close(fd);
}

/* Returns a descriptor that holds the worker's lock; < 0: not available now. */
static int take_lock(struct watchdog *w)
{
	int fd = lock_take(w->lock);

	if (fd < 0 && fd != w->lock_error) {
		if (fd == -EWOULDBLOCK)
			log_info("the worker of an earlier daemon still runs; waiting for its end");
		else
			log_error("cannot start a worker without %s: %s; retrying", w->lock,
				  strerror(-fd));
	}
	w->lock_error = fd < 0 ? fd : 0;
	return fd;
}

/* Closes, in a new child, the inherited descriptors except `a`, `b` and `c` (-1: none). */
static void keep_files(const struct watchdog *w, int a, int b, int c)
{
	for (int i = 0; i < FILES; i++)
		if (w->files[i] >= 0 && w->files[i] != a && w->files[i] != b && w->files[i] != c)
			close(w->files[i]);
}

static void start(struct watchdog *w, uint64_t now)
{
	bool again = w->worker.since_ns != 0;
	int lock = take_lock(w);
	pid_t pid;

	if (lock < 0)
		return;
	executors_reset(w->executors, now);
	__atomic_store_n(&w->shared->serving, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&w->shared->heartbeat_ns, now, __ATOMIC_RELEASE);
	pid = daemon_child_start(&w->worker, now);
	if (pid == 0) {
		keep_files(w, w->channel, w->reader_ends[0], record_pipe());
		_exit(worker_run(w->channel, w->reader_ends[0], w->reload, w->shared,
				 &w->admission_process.shared->refused,
				 w->executors)); /* it has inherited the lock */
	}
	close(lock);
	if (pid < 0)
		return;
	if (again)
		__atomic_fetch_add(&w->shared->restarts, 1, __ATOMIC_RELAXED);
	w->late = 0;
}

static void reap(struct watchdog *w, uint64_t now)
{
	int status;

	if (!child_reap(&w->worker, &status))
		return;
	metrics_share_worker_ended();
	executors_kill(w->executors, now); /* the worker may have ended without being killed */
	if (!w->stopping_since)
		child_failed(&w->worker, status, now);
}

/* Closes the write end of the recording's pipe, so that kfdschedd-rec writes the rest and ends. */
static void end_record(struct watchdog *w)
{
	record_close();
	/* forget closed descriptors, whose numbers may be reused */
	record_files(w->files + OWN_FILES);
}

/* Returns true if the daemon is to stop, the worker has ended, and its executor processes,
 * kfdschedd-http and kfdschedd-rec have ended, too. Also returns true END_MAX_NS after the end of
 * the worker; the kernel then kills those that still run (child.h). */
static bool have_all_ended(struct watchdog *w, uint64_t now)
{
	if (w->worker.pid || !w->stopping_since)
		return false;
	if (!w->left_since)
		w->left_since = now;
	child_kill(&w->http);
	end_record(w);
	return (!w->http.pid && !w->record.pid && executors_gone(w->executors)) ||
	       now > w->left_since + END_MAX_NS;
}

/* Keeps kfdschedd-door running. Kills it if two checks in a row find its heartbeat too old; one is
 * not enough, because the watchdog itself may have been delayed. The kill does no harm, because
 * kfdschedd-door holds no debug session. */
static void check_admission(struct watchdog *w, uint64_t now)
{
	int status;

	if (child_reap(&w->admission, &status))
		child_failed(&w->admission, status, now);
	if (!w->admission.pid && now >= w->admission.next_start_ns && !w->stopping_since) {
		__atomic_store_n(&w->admission_process.shared->heartbeat_ns, now, __ATOMIC_RELEASE);
		if (daemon_child_start(&w->admission, now) == 0) {
			keep_files(w, w->admission_process.channel, w->admission_process.listener,
				   w->admission_process.root_listener);
			executors_close(w->executors);
			log_count_in(&w->admission_process.shared->log);
			_exit(admission_run(&w->admission_process));
		}
	}
	if (now <= __atomic_load_n(&w->admission_process.shared->heartbeat_ns, __ATOMIC_ACQUIRE) +
			   ADMISSION_MAX_NS)
		w->admission_late = 0;
	else if (++w->admission_late >= 2)
		child_kill(&w->admission);
}

/* Keeps kfdschedd-read running, which reads in /proc for the worker. */
static void check_reader(struct watchdog *w, uint64_t now)
{
	struct reader_state *state = &w->shared->reader;
	pid_t pid = w->reader.pid, stuck = __atomic_load_n(&state->stuck, __ATOMIC_ACQUIRE);
	int status;

	if (pid && pid == stuck)
		child_kill(&w->reader);
	if (child_reap(&w->reader, &status)) {
		if (pid == stuck)
			w->reader.next_start_ns = now;
		else
			child_failed(&w->reader, status, now);
		__atomic_store_n(&state->pid, w->reader.next_start_ns > now ? -1 : 0,
				 __ATOMIC_RELEASE);
	}
	if (w->reader.pid || now < w->reader.next_start_ns)
		return;
	pid = daemon_child_start(&w->reader, now);
	if (pid == 0) {
		keep_files(w, w->reader_ends[1], -1, -1);
		executors_close(w->executors);
		_exit(reader_run(w->reader_ends[1], w->shared, &w->shared->refused_calls));
	}
	__atomic_store_n(&state->pid, pid > 0 ? pid : -1, __ATOMIC_RELEASE);
}

/* Keeps kfdschedd-http running, which serves metrics. */
static void check_http(struct watchdog *w, uint64_t now)
{
	int status;

	if (child_reap(&w->http, &status) && !w->stopping_since)
		child_failed(&w->http, status, now);
	if (w->http.pid || w->stopping_since || metrics_http_listener() < 0 ||
	    now < w->http.next_start_ns)
		return;
	if (daemon_child_start(&w->http, now) == 0)
		_exit(metrics_http_run());
}

/* Starts kfdschedd-rec, which writes the recording, and reaps it. It is not restarted, because the
 * recording could then lack lines in its middle. */
static void check_record(struct watchdog *w, uint64_t now)
{
	const int *files = w->files + OWN_FILES;
	int status;

	if (child_reap(&w->record, &status)) {
		end_record(w);
		if (WIFSIGNALED(status))
			log_error("the recording has ended: %s was ended by signal %d",
				  w->record.name, WTERMSIG(status));
	}
	if (w->record.since_ns || record_pipe() < 0 || now < w->record.next_start_ns ||
	    daemon_child_start(&w->record, now) != 0)
		return;
	keep_files(w, files[0], files[1], -1);
	executors_close(w->executors);
	_exit(record_run(&w->shared->refused_calls));
}

static void take_signals(struct watchdog *w, uint64_t now)
{
	struct signalfd_siginfo info;

	while (read(w->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		w->children |= info.ssi_signo == SIGCHLD;
		if (info.ssi_signo == SIGCHLD || w->stopping_since)
			continue;
		if (info.ssi_signo == SIGHUP) {
			reload_begin(w->reload, now);
			service_reloading();
			w->reloading = true;
			continue;
		}
		w->stopping_since = now;
		service_stopping();
		if (w->worker.pid)
			kill(w->worker.pid, SIGTERM);
	}
}

static void notify_service(struct watchdog *w, uint64_t now)
{
	bool well = w->worker.pid && !w->worker.killed && w->late == 0 &&
		    __atomic_load_n(&w->shared->serving, __ATOMIC_ACQUIRE);

	if (!w->stopping_since)
		service_check(w->worker.pid, well, now);
	if (w->reloading && !reload_busy(w->reload)) {
		w->reloading = false;
		service_reloaded();
	}
}

static int watchdog_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* ^Z would stop watchdog and worker, and suspended processes would stay suspended */
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Creates two pairs of connected sockets: one from kfdschedd-door to the worker, one between the
 * worker and kfdschedd-read. The watchdog keeps all ends, so that connections that kfdschedd-door
 * has passed on wait for the next worker. */
static int open_channel(struct watchdog *w)
{
	const int least = 0; /* the kernel's minimum, which has room for about five connections */
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0 ||
	    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)) < 0)
		return -errno;
	w->admission_process.channel = ends[0];
	w->channel = ends[1];
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, w->reader_ends) < 0 ? -errno
											 : 0;
}

/* Returns zeroed memory that is shared with processes forked later; NULL with errno. */
static void *shared_page(size_t size)
{
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

static int watchdog_open(struct watchdog *w, const struct listener *listener)
{
	w->signals = watchdog_signals();
	w->shared = shared_page(sizeof(*w->shared));
	w->executors =
		w->shared ? executors_create(w->files, FILES, &w->shared->refused_calls) : NULL;
	w->admission_process.shared = shared_page(sizeof(*w->admission_process.shared));
	if (w->signals < 0 || !w->executors || !w->admission_process.shared || open_channel(w) ||
	    (metrics_http_listener() >= 0 && metrics_share_create())) {
		log_error("cannot start: %s", strerror(errno));
		return -errno;
	}
	log_count_in(&w->shared->log);
	w->admission_process.listener = listener->fd;
	w->admission_process.root_listener = listener->root_fd;
	w->admission_process.reload = w->reload;
	if (!listener_path(listener->fd, ".lock", w->lock, sizeof(w->lock))) {
		log_error("cannot start: the socket that was passed has no path");
		return -EINVAL;
	}
	w->shared->started_ns = clock_ns();
	memcpy(w->files,
	       (int[OWN_FILES]){w->signals, w->channel, w->admission_process.channel, listener->fd,
				listener->root_fd, metrics_http_listener(), w->reader_ends[0],
				w->reader_ends[1]},
	       OWN_FILES * sizeof(*w->files));
	record_files(w->files + OWN_FILES);
	return 0;
}

int watchdog_run(const struct listener *listener, struct reload *reload)
{
	struct watchdog w = {.reload = reload,
			     .worker = {.name = NAME_WORKER},
			     .admission = {.name = NAME_ADMISSION},
			     .http = {.name = NAME_HTTP},
			     .reader = {.name = NAME_READER},
			     .record = {.name = NAME_RECORD}};
	struct pollfd p[2];
	uint64_t now;

	if (watchdog_open(&w, listener))
		return 1;
	memory_prepare();
	privilege_drop(FILTER_WATCHDOG, &w.shared->refused_calls);
	p[0] = (struct pollfd){.fd = w.signals, .events = POLLIN};
	p[1] = (struct pollfd){.fd = executors_want_fd(w.executors), .events = POLLIN};
	for (;;) {
		now = clock_ns();
		take_signals(&w, now);
		reap(&w, now);
		check_admission(&w, now);
		check_http(&w, now);
		check_reader(&w, now);
		check_record(&w, now);
		executors_check(w.executors, w.children, now);
		w.children = false;
		if (have_all_ended(&w, now))
			break;
		if (!w.worker.pid && !w.stopping_since && now >= w.worker.next_start_ns)
			start(&w, now);
		else
			check_child(&w, now);
		if (reload_check(reload, now) && w.worker.pid)
			kill(w.worker.pid, SIGHUP);
		filter_report();
		notify_service(&w, now);
		poll_until_ns(p, 2, now + CHECK_NS);
	}
	child_kill(&w.admission);
	child_kill(&w.reader);
	lock_remove(w.lock);
	return 0;
}
