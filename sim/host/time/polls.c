// SPDX-License-Identifier: MIT
/*
 * Replaces waits for file descriptors that have a time-out. Instead of using the time-out, the poll
 * includes the thread's event file descriptor (page.h), which becomes readable when the time is
 * over. For epoll, the epoll file descriptor itself is polled; select() becomes a poll();
 * sigtimedwait() polls a signalfd.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include "sim/host/time/library.h"

#define MASK_BYTES 8
#define FEW 64u		 /* up to so many file descriptors are copied to the stack */
#define CLOCK_WEIGHT 20u /* weight of a call that does not wait, in readings of the clock */
#define NAP_MIN_NS 50000u
#define NAP_MAX_NS 1000000u

static long do_poll(struct pollfd *fds, nfds_t n, bool wait, const sigset_t *mask)
{
	struct timespec none = {0};

	if (wait)
		return raw_cancellable(SYS_ppoll, (long)fds, (long)n, 0, (long)mask, MASK_BYTES, 0);
	return raw(SYS_ppoll, (long)fds, (long)n, (long)&none, (long)mask, MASK_BYTES, 0);
}

/* Polls from time to time, without an event file descriptor, if the process has as many files as it
 * is allowed. */
static long poll_by_looking(struct pollfd *fds, nfds_t n, uint64_t until, const sigset_t *mask)
{
	uint64_t nap = NAP_MIN_NS;
	long r;

	for (;;) {
		r = do_poll(fds, n, false, mask);
		if (r || now_ns() >= until)
			return r;
		if (sleep_pause(&nap, NAP_MAX_NS, until, TIME_WAIT_FUTEX))
			return -EINTR;
	}
}

/* Polls @n file descriptors and the event file descriptor @event. @fds has room for one more entry.
 * Returns as ppoll(), or -EAGAIN if the poll ended although the time is not over and no file
 * descriptor is ready. */
static long poll_with_event(struct pollfd *fds, nfds_t n, uint64_t until, int event,
			    const sigset_t *mask)
{
	struct waiting waiting;
	uint64_t count;
	bool is_due;
	long r;

	if (!wait_begin(&waiting, wakes_at(until), TIME_WAIT_EVENT))
		return -EINVAL;
	fds[n] = (struct pollfd){.fd = event, .events = POLLIN};
	r = do_poll(fds, n + 1, true, mask);
	is_due = wait_is_due(&waiting);
	if (is_due)
		raw(SYS_read, event, (long)&count, sizeof(count), 0, 0, 0);
	wait_end(&waiting);
	if (r > 0 && fds[n].revents)
		r--;
	return r || is_due || now_ns() >= until ? r : -EAGAIN;
}

/* Copies the array, with room for one more entry, to @few if it fits there, otherwise to allocated
 * memory. Returns NULL if there is no memory. */
static struct pollfd *copy_of(const struct pollfd *fds, nfds_t n, struct pollfd few[FEW + 1])
{
	struct pollfd *copy = n <= FEW ? few : malloc((n + 1) * sizeof(*copy));

	if (copy && n)
		memcpy(copy, fds, n * sizeof(*copy));
	return copy;
}

static void give_results(struct pollfd *fds, nfds_t n, const struct pollfd *from)
{
	for (nfds_t i = 0; i < n; i++)
		fds[i].revents = from[i].revents;
}

long poll_until(struct pollfd *fds, nfds_t n, uint64_t until, const sigset_t *mask)
{
	struct pollfd few[FEW + 1], *copy;
	int event = -1;
	long r = do_poll(fds, n, false, mask);

	pthread_testcancel();
	if (r || now_ns() >= until)
		return r;
	copy = copy_of(fds, n, few);
	event = copy ? wait_event(-1) : -1;
	r = -EAGAIN;
	while (r == -EAGAIN && event >= 0) {
		r = poll_with_event(copy, n, until, event, mask);
		/* The poll was woken without a result. Either the program has closed the event file
		 * descriptor or reused its number, or a wait has ended that a signal handler left
		 * unfinished. */
		if (r == -EAGAIN)
			event = wait_event(event);
	}
	if (r >= 0)
		give_results(fds, n, copy);
	if (copy != few)
		free(copy);
	/* -EINVAL: with one more entry the poll exceeds the process's limit of open files. */
	if (event < 0 || r == -EINVAL)
		return poll_by_looking(fds, n, until, mask);
	if (r > 0)
		charge_wake();
	return r;
}

static long poll_for_ever(struct pollfd *fds, nfds_t n, const sigset_t *mask)
{
	long r = do_poll(fds, n, false, mask);

	if (r)
		return r;
	r = do_poll(fds, n, true, mask);
	if (r > 0)
		charge_wake();
	return r;
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	if (time_page() && !t)
		return (int)returned(poll_for_ever(fds, n, mask));
	if (!time_page() || !is_valid(t) || !to_ns(t)) {
		struct timespec left = t ? *t : (struct timespec){0};

		if (time_page())
			clock_read(CLOCK_WEIGHT);
		return (int)returned(raw_cancellable(SYS_ppoll, (long)fds, (long)n,
						     t ? (long)&left : 0, (long)mask, MASK_BYTES,
						     0));
	}
	return (int)returned(poll_until(fds, n, deadline_after(to_ns(t)), mask));
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec t = to_timespec(ms > 0 ? (uint64_t)ms * 1000000u : 0);

	return ppoll(fds, n, ms < 0 ? NULL : &t, NULL);
}

/* Names that headers use instead of poll() and ppoll() with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
void __chk_fail(void) __attribute__((noreturn));

EXPORT_AS(int, __poll_chk, (struct pollfd * fds, nfds_t n, int ms, size_t bytes),
	  bytes / sizeof(*fds) < n ? (__chk_fail(), -1) : poll(fds, n, ms))
EXPORT_AS(int, __ppoll_chk,
	  (struct pollfd * fds, nfds_t n, const struct timespec *t, const sigset_t *mask,
	   size_t bytes),
	  bytes / sizeof(*fds) < n ? (__chk_fail(), -1) : ppoll(fds, n, t, mask))

static long do_epoll(int fd, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	return raw_cancellable(SYS_epoll_pwait, fd, (long)events, max, ms, (long)mask, MASK_BYTES);
}

static long epoll_until(int fd, struct epoll_event *events, int max, uint64_t until,
			const sigset_t *mask)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	long r;

	for (;;) {
		r = do_epoll(fd, events, max, 0, mask);
		if (r || now_ns() >= until)
			return r;
		r = until == NEVER ? poll_for_ever(&ready, 1, mask)
				   : poll_until(&ready, 1, until, mask);
		if (r < 0)
			return r;
		if (r && ready.revents & POLLNVAL)
			return -EBADF;
	}
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	if (!time_page())
		return (int)returned(do_epoll(fd, events, max, ms, mask));
	if (ms < 0)
		return (int)returned(epoll_until(fd, events, max, NEVER, mask));
	if (!ms) {
		clock_read(CLOCK_WEIGHT);
		return (int)returned(do_epoll(fd, events, max, 0, mask));
	}
	return (int)returned(
		epoll_until(fd, events, max, deadline_after((uint64_t)ms * 1000000u), mask));
}

EXPORT_AS(int, epoll_wait, (int fd, struct epoll_event *events, int max, int ms),
	  epoll_pwait(fd, events, max, ms, NULL))

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *t,
			const sigset_t *mask)
{
	if (!t || !to_ns(t))
		return epoll_pwait(fd, events, max, t ? 0 : -1, mask);
	if (!time_page())
		return (int)returned(raw_cancellable(SYS_epoll_pwait2, fd, (long)events, max,
						     (long)t, (long)mask, MASK_BYTES));
	if (!is_valid(t))
		return (int)returned(-EINVAL);
	return (int)returned(epoll_until(fd, events, max, deadline_after(to_ns(t)), mask));
}

#define READ_EVENTS (POLLIN | POLLHUP | POLLERR)
#define WRITE_EVENTS (POLLOUT | POLLERR)

static nfds_t fds_of_sets(int n, const fd_set *r, const fd_set *w, const fd_set *x,
			  struct pollfd *fds)
{
	nfds_t count = 0;

	for (int fd = 0; fd < n; fd++) {
		short events = 0;

		events |= r && FD_ISSET(fd, r) ? POLLIN : 0;
		events |= w && FD_ISSET(fd, w) ? POLLOUT : 0;
		events |= x && FD_ISSET(fd, x) ? POLLPRI : 0;
		if (events)
			fds[count++] = (struct pollfd){.fd = fd, .events = events};
	}
	return count;
}

/* Makes a file descriptor number negative, which poll() ignores. Used if the file descriptor has an
 * event that select() would not report, such as a hang-up. */
#define LEFT_OUT(fd) (~(fd))

static bool is_in(const fd_set *set, const struct pollfd *fd)
{
	return set && FD_ISSET(fd->fd < 0 ? LEFT_OUT(fd->fd) : fd->fd, set);
}

static int mark_set(fd_set *set, const struct pollfd *fd, short events)
{
	if (!is_in(set, fd))
		return 0;
	if (fd->revents & events)
		return 1;
	FD_CLR(fd->fd < 0 ? LEFT_OUT(fd->fd) : fd->fd, set);
	return 0;
}

/* Returns true if the poll has ended only for events that the sets do not contain, and leaves out
 * (LEFT_OUT()) the file descriptors that have such events. */
static bool is_for_nothing(struct pollfd *fds, nfds_t n, const fd_set *r, const fd_set *w,
			   const fd_set *x)
{
	for (nfds_t i = 0; i < n; i++) {
		short wanted = (is_in(r, &fds[i]) ? READ_EVENTS : 0) |
			       (is_in(w, &fds[i]) ? WRITE_EVENTS : 0) |
			       (is_in(x, &fds[i]) ? POLLPRI : 0);

		if (fds[i].revents & (wanted | POLLNVAL))
			return false;
	}
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].revents)
			fds[i].fd = LEFT_OUT(fds[i].fd);
	return true;
}

static long select_until(int n, fd_set *r, fd_set *w, fd_set *x, uint64_t until,
			 const sigset_t *mask)
{
	struct pollfd fds[FD_SETSIZE];
	nfds_t count;
	long ready, bits = 0;

	if (n < 0 || n > FD_SETSIZE)
		return -EINVAL;
	count = fds_of_sets(n, r, w, x, fds);
	do
		ready = poll_until(fds, count, until, mask);
	while (ready > 0 && is_for_nothing(fds, count, r, w, x));
	if (ready < 0)
		return ready;
	for (nfds_t i = 0; i < count; i++)
		if (fds[i].revents & POLLNVAL)
			return -EBADF;
	for (nfds_t i = 0; i < count; i++) {
		bits += mark_set(r, &fds[i], READ_EVENTS);
		bits += mark_set(w, &fds[i], WRITE_EVENTS);
		bits += mark_set(x, &fds[i], POLLPRI);
	}
	return bits;
}

static long do_select(int n, fd_set *r, fd_set *w, fd_set *x, struct timespec *t,
		      const sigset_t *mask)
{
	struct {
		const sigset_t *mask;
		size_t bytes;
	} six = {mask, MASK_BYTES};

	return raw_cancellable(SYS_pselect6, n, (long)r, (long)w, (long)x, (long)t, (long)&six);
}

EXPORT int pselect(int n, fd_set *r, fd_set *w, fd_set *x, const struct timespec *t,
		   const sigset_t *mask)
{
	if (!time_page() || !t || !is_valid(t) || !to_ns(t)) {
		struct timespec left = t ? *t : (struct timespec){0};

		if (time_page() && t)
			clock_read(CLOCK_WEIGHT);
		return (int)returned(do_select(n, r, w, x, t ? &left : NULL, mask));
	}
	return (int)returned(select_until(n, r, w, x, deadline_after(to_ns(t)), mask));
}

/* Writes the time that is left to *t, as Linux does. */
EXPORT int select(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *t)
{
	uint64_t until, now;
	struct timespec time;
	int ready;

	if (!t || !time_page() || t->tv_sec < 0 || t->tv_usec < 0) {
		struct timespec left =
			t ? (struct timespec){t->tv_sec, t->tv_usec * 1000} : (struct timespec){0};

		ready = (int)returned(do_select(n, r, w, x, t ? &left : NULL, NULL));
		if (t && ready >= 0)
			*t = (struct timeval){left.tv_sec, left.tv_nsec / 1000};
		return ready;
	}
	time = (struct timespec){t->tv_sec + t->tv_usec / 1000000, t->tv_usec % 1000000 * 1000};
	until = deadline_after(to_ns(&time));
	ready = pselect(n, r, w, x, &time, NULL);
	now = now_ns();
	time = to_timespec(until > now ? until - now : 0);
	*t = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
	return ready;
}

static long signal_now(const sigset_t *set, siginfo_t *info)
{
	struct timespec none = {0};

	return raw(SYS_rt_sigtimedwait, (long)set, (long)info, (long)&none, MASK_BYTES, 0, 0);
}

static void close_signals(void *fd)
{
	if (*(int *)fd >= 0)
		raw(SYS_close, *(int *)fd, 0, 0, 0, 0, 0);
}

/* Waits for a signal by polling a signalfd. The program has blocked the signals of the set, as
 * sigtimedwait(2) requires, so they stay pending and the signalfd shows them. */
static long signal_until(const sigset_t *set, siginfo_t *info, uint64_t until)
{
	struct pollfd pending = {.events = POLLIN};
	long r = signal_now(set, info);

	if (r != -EAGAIN || now_ns() >= until)
		return r;
	pending.fd = (int)raw(SYS_signalfd4, -1, (long)set, MASK_BYTES, SFD_CLOEXEC | SFD_NONBLOCK,
			      0, 0);
	pthread_cleanup_push(close_signals, &pending.fd);
	do {
		r = pending.fd < 0 ? poll_by_looking(NULL, 0, deadline_after(NAP_MAX_NS), NULL)
				   : poll_until(&pending, 1, until, NULL);
		if (r >= 0)
			r = signal_now(set, info);
	} while (r == -EAGAIN && now_ns() < until);
	pthread_cleanup_pop(1);
	return r;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *t)
{
	siginfo_t own;

	if (!info)
		info = &own;
	if (!time_page() || !t || !is_valid(t))
		return (int)returned(raw_cancellable(SYS_rt_sigtimedwait, (long)set, (long)info,
						     (long)t, MASK_BYTES, 0, 0));
	if (!to_ns(t))
		return (int)returned(signal_now(set, info));
	return (int)returned(signal_until(set, info, deadline_after(to_ns(t))));
}
