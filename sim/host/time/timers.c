// SPDX-License-Identifier: MIT
/*
 * Replaces timers of the virtual clocks: timer file descriptors, ITIMER_REAL and POSIX timers. The
 * supervisor keeps and fires them (page.h), so this library has no state of them. Timers of
 * CPU time are the host's, as the clocks of CPU time are.
 *
 * The id of a POSIX timer is ID_BASE | the supervisor's number; the C library's own ids are small
 * numbers or negative ones.
 */
#include <linux/futex.h>
#include <stddef.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include "sim/host/time/library.h"

#define ID_BASE 0x4b000000ul
#define ID_MASK 0x00fffffful
#define SETTIME_FLAGS (TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)

/* Makes a TIME_IOC_TIMER call, and repeats it if a signal handler has interrupted it. Returns the
 * operation's result, or a negative errno. */
static long timer_call(uint64_t what, uint64_t number, uint64_t first, uint64_t second)
{
	long r;

	do
		r = raw(SYS_ioctl, -1, TIME_IOC_TIMER, (long)what, (long)number, (long)first,
			(long)second);
	while (r == -EINTR);
	return r;
}

/* Deletes the POSIX timers of the program that this program has replaced by execve(), because a
 * program does not inherit them. Called when the program starts, or earlier if a constructor of
 * another library makes a timer. fork() copies `begun`; a child has no timers to delete. */
__attribute__((constructor)) static void begin(void)
{
	static _Atomic bool begun;
	struct time_page *page = time_page();

	if (!atomic_exchange(&begun, true) && page && atomic_load(&page->posix_timers))
		timer_call(TIME_OP_EXEC, 0, 0, 0);
}

/* Implements timerfd_settime(2) and timer_settime(2). Returns 0 or a negative errno. */
static long set(enum time_space space, uint64_t number, bool absolute, const struct itimerspec *new,
		struct itimerspec *old)
{
	uint64_t what = TIME_WHAT(TIME_OP_SET, space) | (absolute ? TIME_WHAT_ABSOLUTE : 0);
	long left, interval = 0;

	if (!is_valid(&new->it_value) || !is_valid(&new->it_interval))
		return -EINVAL;
	if (old)
		interval = timer_call(TIME_WHAT(TIME_OP_INTERVAL, space), number, 0, 0);
	if (interval < 0)
		return interval;
	left = timer_call(what, number, to_ns(&new->it_value), to_ns(&new->it_interval));
	if (left >= 0 && old)
		*old = (struct itimerspec){to_timespec((uint64_t)interval),
					   to_timespec((uint64_t)left)};
	return left < 0 ? left : 0;
}

/* Implements timerfd_gettime(2) and timer_gettime(2). Returns 0 or a negative errno. */
static long get(enum time_space space, uint64_t number, struct itimerspec *now)
{
	long interval = timer_call(TIME_WHAT(TIME_OP_INTERVAL, space), number, 0, 0);
	long left = timer_call(TIME_WHAT(TIME_OP_LEFT, space), number, 0, 0);

	if (interval < 0 || left < 0)
		return interval < 0 ? interval : left;
	*now = (struct itimerspec){to_timespec((uint64_t)interval), to_timespec((uint64_t)left)};
	return 0;
}

/* Calls timerfd_create() of the kernel to check the arguments. Closes the kernel's file descriptor
 * and returns one of the supervisor. */
EXPORT int timerfd_create(clockid_t clock, int flags)
{
	long fd = raw(SYS_timerfd_create, clock, flags, 0, 0, 0, 0), made;

	if (fd < 0 || !time_page())
		return (int)returned(fd);
	raw(SYS_close, fd, 0, 0, 0, 0, 0);
	made = timer_call(TIME_WHAT(TIME_OP_MAKE, 0) | TIME_WHAT_KIND(TIME_KIND_FD, 0, flags), 0,
			  clock_offset(clock), 0);
	return made < 0 ? (int)returned(made) : (int)(made & INT32_MAX);
}

/* Sets a timer of the supervisor or, if set() returns -ENOENT, one of the kernel. */
EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	long r = -ENOENT;

	if (time_page())
		r = flags & ~SETTIME_FLAGS
			    ? -EINVAL
			    : set(TIME_SPACE_FD, (uint32_t)fd, flags & TFD_TIMER_ABSTIME, new, old);
	if (r == -ENOENT)
		r = raw(SYS_timerfd_settime, fd, flags, (long)new, (long)old, 0, 0);
	return (int)returned(r);
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *now)
{
	long r = time_page() ? get(TIME_SPACE_FD, (uint32_t)fd, now) : -ENOENT;

	if (r == -ENOENT)
		r = raw(SYS_timerfd_gettime, fd, (long)now, 0, 0, 0, 0);
	return (int)returned(r);
}

static bool is_valid_timeval(const struct timeval *t)
{
	return t->tv_sec >= 0 && t->tv_usec >= 0 && t->tv_usec < 1000000;
}

/* Converts nanoseconds to microseconds. Time that is left is never rounded to 0, which would mean
 * that the timer is not armed. */
static struct itimerval val_of(const struct itimerspec *t)
{
	struct itimerval v = {{t->it_interval.tv_sec, t->it_interval.tv_nsec / 1000},
			      {t->it_value.tv_sec, t->it_value.tv_nsec / 1000}};

	if (t->it_value.tv_nsec && !v.it_value.tv_sec && !v.it_value.tv_usec)
		v.it_value.tv_usec = 1;
	return v;
}

/* Calls get() for ITIMER_REAL. The supervisor has this timer only after it was set; until then
 * returns all zero. */
static long get_real(struct itimerspec *now)
{
	long r = get(TIME_SPACE_REAL, 0, now);

	if (r != -ENOENT)
		return r;
	*now = (struct itimerspec){0};
	return 0;
}

static long set_real(const struct itimerspec *new, struct itimerspec *old)
{
	long r = old ? get_real(old) : 0;

	if (!r)
		r = set(TIME_SPACE_REAL, 0, false, new, NULL);
	return r == -ENOENT ? 0 : r;
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict new,
		     struct itimerval *restrict old)
{
	struct itimerspec spec = {0}, before;
	long r;

	if (!time_page() || which != ITIMER_REAL)
		return (int)returned(raw(SYS_setitimer, which, (long)new, (long)old, 0, 0, 0));
	if (new && (!is_valid_timeval(&new->it_value) || !is_valid_timeval(&new->it_interval)))
		return (int)returned(-EINVAL);
	if (new)
		spec = (struct itimerspec){
			{new->it_interval.tv_sec, new->it_interval.tv_usec * 1000},
			{new->it_value.tv_sec, new->it_value.tv_usec * 1000}};
	r = set_real(&spec, old ? &before : NULL);
	if (!r && old)
		*old = val_of(&before);
	return (int)returned(r);
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *now)
{
	struct itimerspec spec;
	long r;

	if (!time_page() || which != ITIMER_REAL)
		return (int)returned(raw(SYS_getitimer, which, (long)now, 0, 0, 0, 0));
	r = get_real(&spec);
	if (!r)
		*now = val_of(&spec);
	return (int)returned(r);
}

/* Returns the time that was left, rounded as in Linux and never to 0. */
EXPORT unsigned alarm(unsigned seconds)
{
	const struct itimerspec new = {{0}, {(time_t)seconds, 0}};
	struct itimerspec old;
	uint64_t left;

	if (!time_page())
		return (unsigned)raw(SYS_alarm, seconds, 0, 0, 0, 0, 0);
	if (set_real(&new, &old))
		return 0;
	left = to_ns(&old.it_value);
	return (unsigned)(left / NS_PER_S) +
	       ((left && left < NS_PER_S) || left % NS_PER_S >= NS_PER_S / 2);
}

EXPORT useconds_t ualarm(useconds_t us, useconds_t interval_us)
{
	const struct itimerval new = {{interval_us / 1000000, interval_us % 1000000},
				      {us / 1000000, us % 1000000}};
	struct itimerval old;

	if (setitimer(ITIMER_REAL, &new, &old))
		return (useconds_t)-1;
	return (useconds_t)(old.it_value.tv_sec * 1000000 + old.it_value.tv_usec);
}

/* Returns true if this is a timer of the virtual clocks, which the supervisor (the kfdsim process)
 * keeps, and not one of the C library. */
static bool is_ours(timer_t timer)
{
	return time_page() && ((unsigned long)(uintptr_t)timer & ~ID_MASK) == ID_BASE;
}

static uint64_t number_of(timer_t timer)
{
	return (uintptr_t)timer & ID_MASK;
}

static long make_signal(clockid_t clock, const struct sigevent *event)
{
	bool nothing = event->sigev_notify == SIGEV_NONE;
	bool thread = event->sigev_notify == SIGEV_THREAD_ID;
	enum time_kind kind = nothing  ? TIME_KIND_NOTHING
			      : thread ? TIME_KIND_THREAD
				       : TIME_KIND_SIGNAL;

	if (!nothing && !thread && event->sigev_notify != SIGEV_SIGNAL)
		return -EINVAL;
	if (!nothing && (event->sigev_signo < 1 || event->sigev_signo > 64))
		return -EINVAL;
	return timer_call(TIME_WHAT(TIME_OP_MAKE, 0) |
				  TIME_WHAT_KIND(kind, nothing ? 0 : event->sigev_signo, 0),
			  (uint64_t)event->_sigev_un._tid, clock_offset(clock),
			  (uintptr_t)event->sigev_value.sival_ptr);
}

/*
 * ---- timers with SIGEV_THREAD ----
 * Each such timer has one helper thread. The helper reads the timer's eventfd, and after each
 * expiration starts a thread for the program's function, as the C library does. It ends when the
 * timer was deleted, or with the process.
 */

/* Arguments of a new thread. They are on the stack of the thread that starts it, which waits until
 * the futex `taken` is 1, because the new thread has copied them then. */
struct helper {
	const struct sigevent *event;
	int fd;
	uint32_t taken;
};

struct timer_run {
	void (*function)(union sigval);
	union sigval value;
	uint32_t taken;
};

static void take(uint32_t *taken)
{
	__atomic_store_n(taken, 1, __ATOMIC_SEQ_CST);
	raw(SYS_futex, (long)taken, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void wait_until_taken(uint32_t *taken)
{
	while (!__atomic_load_n(taken, __ATOMIC_SEQ_CST))
		raw(SYS_futex, (long)taken, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}

/* Copies only some of the program's attributes: the others point to memory of the program, which
 * may be freed. */
static void copy_attributes(pthread_attr_t *to, const pthread_attr_t *from)
{
	size_t bytes;

	pthread_attr_init(to);
	if (from && !pthread_attr_getstacksize(from, &bytes))
		pthread_attr_setstacksize(to, bytes);
	if (from && !pthread_attr_getguardsize(from, &bytes))
		pthread_attr_setguardsize(to, bytes);
	pthread_attr_setdetachstate(to, PTHREAD_CREATE_DETACHED);
}

static void *run_function(void *arg)
{
	struct timer_run *given = arg, run = *given;
	sigset_t none;

	take(&given->taken);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	run.function(run.value);
	return NULL;
}

/* Starts a thread for the program's function. If no thread can be started, the expiration is lost,
 * as in the C library. */
static void start_run(const struct sigevent *event, const pthread_attr_t *attributes)
{
	struct timer_run run = {event->sigev_notify_function, event->sigev_value, 0};
	pthread_t thread;

	if (!pthread_create(&thread, attributes, run_function, &run))
		wait_until_taken(&run.taken);
}

static void *help(void *arg)
{
	struct helper *given = arg;
	struct sigevent event = *given->event;
	pthread_attr_t attributes;
	uint64_t count = 0;
	int fd = given->fd;
	long n;

	copy_attributes(&attributes, event.sigev_notify_attributes);
	take(&given->taken);
	while (count < TIME_HELPER_ENDS) {
		n = raw(SYS_read, fd, (long)&count, sizeof(count), 0, 0, 0);
		if (n < 0 && n != -EINTR)
			break; /* the program has closed the file descriptor */
		if (n == sizeof(count) && count < TIME_HELPER_ENDS)
			start_run(&event, &attributes);
	}
	raw(SYS_close, fd, 0, 0, 0, 0, 0);
	pthread_attr_destroy(&attributes);
	return NULL;
}

/* Starts the helper with all signals blocked, so that the program's handlers run in the program's
 * threads. */
static int start_helper(struct helper *helper)
{
	pthread_attr_t detached;
	pthread_t thread;
	sigset_t all, old;
	int r;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &detached, help, helper);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&detached);
	return r;
}

/* Makes a timer of @clock that starts a thread at each expiration. Returns as TIME_OP_MAKE, or a
 * negative errno. */
static long timer_thread_make(clockid_t clock, const struct sigevent *event)
{
	long made = timer_call(TIME_WHAT(TIME_OP_MAKE, 0) | TIME_WHAT_KIND(TIME_KIND_HELPER, 0, 0),
			       0, clock_offset(clock), 0);
	struct helper helper = {event, (int)(made & INT32_MAX), 0};

	if (made < 0)
		return made;
	if (!start_helper(&helper)) {
		wait_until_taken(&helper.taken);
		return made;
	}
	timer_call(TIME_WHAT(TIME_OP_DELETE, TIME_SPACE_ID), (uint64_t)(made >> 32), 0, 0);
	raw(SYS_close, helper.fd, 0, 0, 0, 0, 0);
	return -EAGAIN;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer)
{
	/* Default event. sigev_value should be the timer's id, but the supervisor's number is not
	 * known yet. */
	struct sigevent alarm_event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	long made;

	if (!time_page() || !clock_can_wake(clock))
		return next()->timer_create(clock, event, timer);
	begin();
	if (event && event->sigev_notify == SIGEV_THREAD)
		made = timer_thread_make(clock, event);
	else
		made = make_signal(clock, event ? event : &alarm_event);
	if (made < 0)
		return (int)returned(made);
	*timer = (timer_t)(ID_BASE | (unsigned long)(made >> 32));
	return 0;
}

/* Defines a function whose first parameter is @timer. If the supervisor does not keep the timer, it
 * is one of the C library, whose function is called. */
#define OF_TIMER(name, parameters, arguments, result)                                              \
	EXPORT_AS(int, name, parameters,                                                           \
		  is_ours(timer) ? (int)returned(result) : next()->name arguments)

OF_TIMER(timer_settime,
	 (timer_t timer, int flags, const struct itimerspec *restrict new,
	  struct itimerspec *restrict old),
	 (timer, flags, new, old),
	 set(TIME_SPACE_ID, number_of(timer), flags &TIMER_ABSTIME, new, old))
OF_TIMER(timer_gettime, (timer_t timer, struct itimerspec *now), (timer, now),
	 get(TIME_SPACE_ID, number_of(timer), now))
OF_TIMER(timer_getoverrun, (timer_t timer), (timer),
	 timer_call(TIME_WHAT(TIME_OP_OVERRUN, TIME_SPACE_ID), number_of(timer), 0, 0))
OF_TIMER(timer_delete, (timer_t timer), (timer),
	 timer_call(TIME_WHAT(TIME_OP_DELETE, TIME_SPACE_ID), number_of(timer), 0, 0))
