// SPDX-License-Identifier: MIT
#include "scheduler/daemon/watchdog.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc_stat.h"
#include "scheduler/daemon/beat.h"
#include "scheduler/daemon/filter.h"
#include "scheduler/daemon/lock.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/metrics_http.h"
#include "scheduler/daemon/privilege.h"
#include "scheduler/daemon/service.h"
#include "scheduler/daemon/worker.h"

#define MS 1000000ull
#define LOOK_MS 50
#define BEAT_MAX_NS (500 * MS)
#define SUSPEND_MAX_NS (10000 * MS) /* the firmware's own timeout is 9 s */
#define LEAVE_MAX_NS (15000 * MS)
#define QUICK_NS (5000 * MS)	  /* a worker that died sooner died quickly */
#define PAUSE_FIRST_NS (100 * MS) /* before the third in a row */
#define PAUSE_MAX_NS (5000 * MS)

struct watchdog {
	struct beat *beat;
	struct reload *reload;
	int signals;
	int listener;
	char lock[128];
	pid_t worker; /* 0: none */
	bool killed;
	bool alone;    /* there is none because nobody needs one */
	int told;      /* the error of the lock that was spoken of */
	unsigned late; /* looks in a row that found the heartbeat too old */
	unsigned quick_deaths;
	uint64_t worker_since, next_start;
	uint64_t leaving_since; /* 0: not asked to */
	bool reloading;		/* and systemd has been told */
};

static bool is_stopped(pid_t pid)
{
	struct proc_stat seen;

	return proc_stat(pid, &seen) && (seen.state == 'T' || seen.state == 't');
}

static bool too_old(const struct watchdog *w, uint64_t now)
{
	uint64_t beat = __atomic_load_n(&w->beat->beat_ns, __ATOMIC_ACQUIRE);
	uint64_t since;

	if (now < beat + BEAT_MAX_NS)
		return false;
	if (__atomic_load_n(&w->beat->suspends, __ATOMIC_ACQUIRE) == 0)
		return true;
	since = __atomic_load_n(&w->beat->suspend_since_ns, __ATOMIC_ACQUIRE);
	return now >= since + SUSPEND_MAX_NS || is_stopped(w->worker);
}

static void look_after(struct watchdog *w, uint64_t now)
{
	if (!w->worker || w->killed)
		return;
	/* Twice, because this process may itself be the one that was late. */
	w->late = too_old(w, now) ? w->late + 1 : 0;
	if (w->late >= 2)
		log_error("worker %d %s: killing it, the driver resumes what it has suspended",
			  (int)w->worker, is_stopped(w->worker) ? "is stopped" : "hangs");
	else if (w->leaving_since && now > w->leaving_since + LEAVE_MAX_NS)
		log_error("worker %d does not leave: killing it", (int)w->worker);
	else
		return;
	kill(w->worker, SIGKILL);
	w->killed = true;
}

/* The worker's lock; < 0: not now. */
static int take_lock(struct watchdog *w)
{
	int fd = lock_take(w->lock);

	if (fd < 0 && fd != w->told) {
		if (fd == -EWOULDBLOCK)
			log_info(
				"the worker of an earlier daemon still lives: waiting for its end");
		else
			log_error("cannot start a worker without %s: %s; trying again", w->lock,
				  strerror(-fd));
	}
	w->told = fd < 0 ? fd : 0;
	return fd;
}

static void start(struct watchdog *w, uint64_t now)
{
	int lock = take_lock(w);
	pid_t parent = getpid();
	pid_t pid;

	if (lock < 0)
		return;
	__atomic_store_n(&w->beat->serving, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&w->beat->suspends, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&w->beat->beat_ns, now, __ATOMIC_RELEASE);
	pid = fork();
	if (pid < 0) {
		close(lock);
		log_error("cannot start a worker: %s; trying again", strerror(errno));
		w->next_start = now + PAUSE_MAX_NS;
		return;
	}
	if (pid == 0) {
		/* without a watchdog nobody may suspend anything */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		prctl(PR_SET_NAME, "kfdschedd-work");
		close(w->signals);
		_exit(worker_run(w->listener, w->reload, w->beat)); /* it has the lock */
	}
	close(lock);
	if (w->worker_since)
		__atomic_fetch_add(&w->beat->restarts, 1, __ATOMIC_RELAXED);
	w->worker = pid;
	w->worker_since = now;
	w->killed = false;
	w->late = 0;
}

static void buried(struct watchdog *w, int status, uint64_t now)
{
	uint64_t pause = 0;

	w->worker = 0;
	if (w->leaving_since)
		return;
	if (WIFEXITED(status) &&
	    (WEXITSTATUS(status) == WORKER_ALONE || WEXITSTATUS(status) == WORKER_AGAIN)) {
		w->alone = WEXITSTATUS(status) == WORKER_ALONE;
		w->quick_deaths = 0;
		w->next_start = now;
		return;
	}
	w->quick_deaths = now - w->worker_since < QUICK_NS ? w->quick_deaths + 1 : 0;
	if (w->quick_deaths > 1) {
		unsigned doubled = w->quick_deaths - 2 < 6 ? w->quick_deaths - 2 : 6;

		pause = PAUSE_FIRST_NS << doubled;
		if (pause > PAUSE_MAX_NS)
			pause = PAUSE_MAX_NS;
	}
	w->next_start = now + pause;
	log_error("worker ended by %s %d: starting another%s",
		  WIFSIGNALED(status) ? "signal" : "exit code",
		  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		  pause ? " after a pause" : "");
}

static void reap(struct watchdog *w, uint64_t now)
{
	int status;

	if (w->worker && waitpid(w->worker, &status, WNOHANG) == w->worker)
		buried(w, status, now);
}

static void take_signals(struct watchdog *w, uint64_t now)
{
	struct signalfd_siginfo info;

	while (read(w->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD || w->leaving_since)
			continue;
		if (info.ssi_signo == SIGHUP) {
			reload_begin(w->reload, now);
			service_reloading();
			w->reloading = true;
			continue;
		}
		w->leaving_since = now;
		service_stopping();
		if (w->worker)
			kill(w->worker, SIGTERM);
	}
}

static void tell_service(struct watchdog *w, uint64_t now)
{
	bool well = w->alone || (w->worker && !w->killed && w->late == 0 &&
				 __atomic_load_n(&w->beat->serving, __ATOMIC_ACQUIRE));

	if (!w->leaving_since)
		service_look(w->worker, well, now);
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
	/* ^Z would stop both of us, and whoever is suspended with us */
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int watchdog_run(int listener, struct reload *reload)
{
	struct watchdog w = {.reload = reload};
	struct pollfd p[3];
	uint64_t now;

	w.signals = watchdog_signals();
	w.beat = mmap(NULL, sizeof(*w.beat), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (w.signals < 0 || w.beat == MAP_FAILED) {
		log_error("cannot start: %s", strerror(errno));
		return 1;
	}
	log_count_in(&w.beat->log);
	w.listener = listener;
	if (lock_path(listener, w.lock, sizeof(w.lock))) {
		log_error("cannot start: its socket has no name");
		return 1;
	}
	w.beat->started_ns = clock_ns();
	memory_prepare();
	privilege_watchdog(&w.beat->refused_calls);
	p[0] = (struct pollfd){.fd = w.signals, .events = POLLIN};
	p[1] = (struct pollfd){.fd = listener, .events = POLLIN};
	p[2] = (struct pollfd){.fd = metrics_http_listener(), .events = POLLIN};
	for (;;) {
		now = clock_ns();
		take_signals(&w, now);
		reap(&w, now);
		if (!w.worker && w.leaving_since)
			break;
		if (!w.worker && !w.alone && now >= w.next_start)
			start(&w, now);
		else
			look_after(&w, now);
		if (reload_look(reload, now)) {
			w.alone = false; /* it may look for processes from now on */
			if (w.worker)
				kill(w.worker, SIGHUP);
		}
		filter_report();
		tell_service(&w, now);
		/* Who comes while there is no worker needs one. */
		if (poll(p, w.alone ? 3 : 1, LOOK_MS) > 0 && w.alone)
			w.alone = !p[1].revents && !p[2].revents;
	}
	lock_remove(w.lock);
	return 0;
}
