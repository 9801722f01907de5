// SPDX-License-Identifier: MIT
#include "sim/host/time/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define WAITV_32 2u	   /* FUTEX_32 */
#define WAITV_PRIVATE 128u /* FUTEX_PRIVATE_FLAG */

/* Data of the calling thread. If `tid` is not the thread's id, the data is not valid: a child of
 * fork() has a copy of the parent's data. */
static __thread struct {
	pid_t tid;
	struct time_slot *slot;
	int event;
} mine __attribute__((tls_model("initial-exec"))) = {.event = -1};

static _Atomic(struct time_page *) mapped;
static _Atomic bool has_looked_up;

static struct time_page *map_page(void)
{
	int fd = (int)raw(SYS_openat, AT_FDCWD, (long)TIME_PAGE, O_RDWR | O_CLOEXEC, 0, 0, 0);
	struct time_page *page;
	long at;

	if (fd < 0)
		return NULL;
	at = raw(SYS_mmap, 0, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw(SYS_close, fd, 0, 0, 0, 0, 0);
	if ((unsigned long)at >= -4095ul) /* -errno */
		return NULL;
	page = (struct time_page *)at;
	if (page->magic == TIME_MAGIC && page->version == TIME_VERSION)
		return page;
	raw(SYS_munmap, at, sizeof(*page), 0, 0, 0, 0);
	return NULL;
}

/* Maps the page at the first call, which may come from the constructor of another library, before
 * this library's own. Two threads that map the page at the same time get two mappings of one page,
 * which does no harm. */
struct time_page *time_page(void)
{
	struct time_page *page;

	if (atomic_load_explicit(&has_looked_up, memory_order_acquire))
		return atomic_load_explicit(&mapped, memory_order_relaxed);
	page = map_page();
	atomic_store_explicit(&mapped, page, memory_order_relaxed);
	atomic_store_explicit(&has_looked_up, true, memory_order_release);
	return page;
}

/* ---- munmap() and mprotect() ----
 * Their replacements here leave the time page as it is. A sandbox unmaps memory that it shares
 * with others, or makes it read-only, but without the page each wait of the program would crash
 * it. */

/* Returns true if the range overlaps the page. */
static bool holds_page(const void *at, size_t size)
{
	uintptr_t page = (uintptr_t)time_page(), start = (uintptr_t)at;

	return page && start < page + sizeof(struct time_page) && page < start + size;
}

EXPORT int munmap(void *at, size_t size)
{
	if (holds_page(at, size))
		return 0;
	return (int)returned(raw(SYS_munmap, (long)at, (long)size, 0, 0, 0, 0));
}

EXPORT int mprotect(void *at, size_t size, int rights)
{
	if (holds_page(at, size))
		return 0;
	return (int)returned(raw(SYS_mprotect, (long)at, (long)size, rights, 0, 0, 0));
}

/* ---- cores and scheduling policies ----
 * With --seed the threads of the simulation take turns on one core (sim/host/virtual.c). A thread
 * that left that core, or had another policy, would run beside the others. Programs try both: the
 * HSA runtime allows its threads all cores, and kfdschedd sets a real-time priority. These calls
 * then do nothing and return success. */

static bool take_turns(void)
{
	const struct time_page *page = time_page();

	return page && page->turns;
}

#define UNLESS_TURNS(name, parameters, otherwise)                                                  \
	EXPORT_AS(int, name, parameters, take_turns() ? 0 : (int)(otherwise))

UNLESS_TURNS(sched_setaffinity, (pid_t pid, size_t size, const cpu_set_t *cores),
	     returned(raw(SYS_sched_setaffinity, pid, (long)size, (long)cores, 0, 0, 0)))
UNLESS_TURNS(sched_setscheduler, (pid_t pid, int policy, const struct sched_param *param),
	     returned(raw(SYS_sched_setscheduler, pid, policy, (long)param, 0, 0, 0)))
UNLESS_TURNS(pthread_setaffinity_np, (pthread_t thread, size_t size, const cpu_set_t *cores),
	     next()->pthread_setaffinity_np(thread, size, cores))
UNLESS_TURNS(pthread_attr_setaffinity_np,
	     (pthread_attr_t * attributes, size_t size, const cpu_set_t *cores),
	     next()->pthread_attr_setaffinity_np(attributes, size, cores))
UNLESS_TURNS(pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *param),
	     next()->pthread_setschedparam(thread, policy, param))

const struct next_calls *next(void)
{
	static struct next_calls found;
	static _Atomic bool is_found;

	if (atomic_load_explicit(&is_found, memory_order_acquire))
		return &found;
#define NEXT(name) *(void **)&found.name = dlsym(RTLD_NEXT, #name);
#include "sim/host/time/next.def"
#undef NEXT
	atomic_store_explicit(&is_found, true, memory_order_release);
	return &found;
}

/* Maps the page before the program can close, hide or forbid what the mapping needs. */
__attribute__((constructor)) static void start(void)
{
	time_page();
	next();
}

/* Returns the slot of the calling thread, or NULL if there is none. The first call requests the
 * slot from the supervisor. */
static struct time_slot *slot_of_thread(void)
{
	pid_t tid = (pid_t)raw(SYS_gettid, 0, 0, 0, 0, 0, 0);
	long number;

	if (mine.slot && mine.tid == tid)
		return mine.slot;
	number = raw(SYS_ioctl, -1, TIME_IOC_SLOT, 0, 0, 0, 0);
	if (number < 0 || number >= TIME_SLOTS)
		return NULL;
	mine.slot = &time_page()->slots[number];
	mine.tid = tid;
	/* After fork() this is a copy of a file descriptor of the parent, which becomes readable
	 * for the parent's wait. So replace it. */
	if (mine.event >= 0)
		wait_event(mine.event);
	return mine.slot;
}

bool wait_begin(struct waiting *waiting, uint64_t deadline_ns, enum time_wait wait)
{
	struct time_slot *slot = slot_of_thread();

	if (!slot)
		return false;
	if (wait != TIME_WAIT_SPIN)
		clock_waited();
	*waiting = (struct waiting){.slot = slot,
				    .deadline_ns = atomic_load(&slot->deadline_ns),
				    .effects = slot->effects,
				    .due = atomic_load(&slot->due),
				    .wait = atomic_load(&slot->wait)};
	atomic_store(&slot->deadline_ns, 0);
	atomic_store(&slot->due, 0);
	atomic_store(&slot->wait, wait);
	slot->effects = atomic_load(&time_page()->effects);
	atomic_store(&slot->deadline_ns, deadline_ns ? deadline_ns : 1);
	return true;
}

void wait_end(const struct waiting *waiting)
{
	struct time_slot *slot = waiting->slot;

	atomic_store(&slot->deadline_ns, 0);
	if (!waiting->deadline_ns)
		return;
	atomic_store(&slot->due, waiting->due);
	atomic_store(&slot->wait, waiting->wait);
	slot->effects = waiting->effects;
	atomic_store(&slot->deadline_ns, waiting->deadline_ns);
}

bool wait_is_due(const struct waiting *waiting)
{
	return atomic_load(&waiting->slot->due) != 0;
}

long raw_cancellable(long nr, long a, long b, long c, long d, long e, long f)
{
	int type;
	long r;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	r = raw(nr, a, b, c, d, e, f);
	pthread_setcanceltype(type, NULL);
	return r;
}

/* Returns true if @fd is still an event file descriptor, and not another file of the program. */
static bool is_event(int fd)
{
	return fd >= 0 && raw(SYS_fcntl, fd, F_GETSIG, 0, 0, 0, 0) == TIME_EVENT_SIGNAL;
}

int wait_event(int lost)
{
	long fd;

	if (mine.event != lost && is_event(mine.event))
		return mine.event;
	fd = raw(SYS_ioctl, -1, TIME_IOC_EVENT, is_event(lost) ? lost : -1, 0, 0, 0);
	mine.event = fd < 0 ? -1 : (int)fd;
	return mine.event;
}

uint64_t deadline_after(uint64_t ns)
{
	uint64_t now = now_ns();

	return ns < NEVER - now ? now + ns : NEVER;
}

/* Sleeps on the slot's futex, with a time-out that is never over. Without a time-out the kernel
 * would restart the wait after a signal handler with SA_RESTART, but a sleep has to end then. */
static long wait_due(const struct waiting *waiting, bool cancellable)
{
	static const struct timespec never = {1ll << 31, 0};
	long word = (long)&waiting->slot->due;

	if (cancellable)
		return raw_cancellable(SYS_futex, word, FUTEX_WAIT, 0, (long)&never, 0,
				       TIME_OWN_CALL);
	return raw(SYS_futex, word, FUTEX_WAIT, 0, (long)&never, 0, TIME_OWN_CALL);
}

/* Sleeps until @deadline_ns, as sleep_until() but without the cost of a wake. */
static int sleep_at(uint64_t deadline_ns, enum time_wait wait, bool cancellable)
{
	struct waiting waiting;
	long r = 0;

	if (deadline_ns <= now_ns())
		return 0;
	if (!wait_begin(&waiting, deadline_ns, wait))
		return 0; /* the supervisor is gone, and the simulation ends with it */
	while (r != -EINTR && !wait_is_due(&waiting))
		r = wait_due(&waiting, cancellable);
	wait_end(&waiting);
	return r == -EINTR && wait != TIME_WAIT_SPIN && now_ns() < deadline_ns ? -EINTR : 0;
}

int sleep_until(uint64_t deadline_ns, enum time_wait wait)
{
	if (wait == TIME_WAIT_SPIN)
		return sleep_at(deadline_ns, wait, false);
	pthread_testcancel();
	return deadline_ns <= now_ns() ? 0 : sleep_at(wakes_at(deadline_ns), wait, true);
}

int sleep_pause(uint64_t *pause_ns, uint64_t most_ns, uint64_t until_ns, enum time_wait wait)
{
	uint64_t next = deadline_after(*pause_ns);

	if (*pause_ns < most_ns)
		*pause_ns *= 2;
	return sleep_until(next < until_ns ? next : until_ns, wait);
}

void charge(uint64_t cost_ns)
{
	uint64_t until = deadline_after(cost_ns);

	while (cost_ns && sleep_at(until, TIME_WAIT_CHARGE, false) == -EINTR)
		;
}

void charge_wake(void)
{
	charge(time_page()->wake_ns);
}

/* Waits on the words and on the thread's own `due`. `due` is the first word, because the kernel
 * returns the last of several words that were woken, and a wake at a word of the program must not
 * be lost. */
static long wait_all(const struct waiting *waiting, const struct futex_word *words, unsigned n)
{
	struct futex_word all[FUTEX_WORDS_MAX];
	long r;

	all[0] = (struct futex_word){.address = (uintptr_t)&waiting->slot->due, .flags = WAITV_32};
	memcpy(all + 1, words, n * sizeof(*words));
	r = raw(SYS_futex_waitv, (long)all, n + 1, 0, 0, 0, 0);
	if (r > 0)
		return r - 1;
	if (wait_is_due(waiting))
		return -ETIMEDOUT;
	return r < 0 ? r : -EAGAIN;
}

/* Compares the words with their expected values, without waiting. Returns -EAGAIN if one differs,
 * else -ETIMEDOUT. Makes no system call, because a thread that waits in the kernel even for a
 * moment would count as asleep. */
static long init_once(const struct futex_word *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (__atomic_load_n((uint32_t *)words[i].address, __ATOMIC_SEQ_CST) !=
		    words[i].value)
			return -EAGAIN;
	return -ETIMEDOUT;
}

long futexes_until(const struct futex_word *words, unsigned n, uint64_t deadline_ns)
{
	struct waiting waiting;
	long r;

	if (deadline_ns <= now_ns())
		return init_once(words, n);
	if (!wait_begin(&waiting, wakes_at(deadline_ns), TIME_WAIT_FUTEX))
		return -ETIMEDOUT;
	r = wait_all(&waiting, words, n);
	wait_end(&waiting);
	if (r >= 0)
		charge_wake();
	return r;
}

int futex_until(uint32_t *word, uint32_t value, bool shared, uint64_t deadline_ns)
{
	const struct futex_word words = {.value = value,
					 .address = (uintptr_t)word,
					 .flags = WAITV_32 | (shared ? 0 : WAITV_PRIVATE)};
	int r;

	if (deadline_ns != NEVER)
		return (int)futexes_until(&words, 1, deadline_ns);
	r = (int)raw(SYS_futex, (long)word, FUTEX_WAIT | (shared ? 0 : FUTEX_PRIVATE_FLAG), value,
		     0, 0, 0);
	if (!r)
		charge_wake();
	return r;
}
