// SPDX-License-Identifier: MIT
/*
 * Replaces the functions of the HSA runtime that wait for signals. An active wait of the runtime
 * measures its time-out by the processor's time stamp counter, which is not virtual, and polls
 * memory meanwhile. Virtual time would stand still for as long as it lasts. Here the thread sleeps
 * instead, and checks the signal whenever a GPU has written to memory. It also checks from time to
 * time, because another thread may have written the signal.
 *
 * A wait that may block is left to the runtime, repeatedly until the time is over. The prototypes
 * are those of hsa.h, where a signal is a 64-bit handle; this library is not linked with the
 * runtime.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "sim/host/time/library.h"

#define STEP_MIN_NS 10000u
#define STEP_MAX_NS 100000u
#define BLOCK_MIN_NS 4000000u
#define BLOCK_MAX_NS 20000000u
#define BLOCK_PARTS 1000u

enum condition { EQUAL, NOT_EQUAL, LESS, GREATER_OR_EQUAL };
enum { STATE_BLOCKED, STATE_ACTIVE };

typedef int64_t load_function(uint64_t signal);
typedef int64_t wait_function(uint64_t signal, unsigned condition, int64_t value,
			      uint64_t timeout_ns, unsigned state);

int64_t hsa_signal_wait_relaxed(uint64_t, unsigned, int64_t, uint64_t, unsigned);
int64_t hsa_signal_wait_acquire(uint64_t, unsigned, int64_t, uint64_t, unsigned);
int64_t hsa_signal_wait_scacquire(uint64_t, unsigned, int64_t, uint64_t, unsigned);

/* Returns a function of the runtime, also if that was loaded with RTLD_LOCAL, or NULL. */
static void *runtime(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name), *handle;

	if (found)
		return found;
	handle = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return handle ? dlsym(handle, name) : NULL;
}

static bool is_met(unsigned condition, int64_t value, int64_t wanted)
{
	switch (condition) {
	case EQUAL:
		return value == wanted;
	case NOT_EQUAL:
		return value != wanted;
	case LESS:
		return value < wanted;
	default:
		return value >= wanted;
	}
}

static load_function *find_load(void)
{
	static load_function *load;

	if (!load)
		load = (load_function *)runtime("hsa_signal_load_scacquire");
	return load;
}

/* Polls until the condition is met or until @until, ns. Returns the last value of the signal. */
static int64_t wait_active(uint64_t signal, unsigned condition, int64_t wanted, uint64_t until)
{
	load_function *load = find_load();
	uint64_t step = STEP_MIN_NS;
	int64_t value;

	for (;;) {
		value = load(signal);
		if (is_met(condition, value, wanted) || now_ns() >= until)
			return value;
		sleep_pause(&step, STEP_MAX_NS, until, TIME_WAIT_SPIN);
	}
}

/* Returns the time-out to pass to the runtime, which gets shorter as the end comes nearer. */
static uint64_t part_of(uint64_t timeout_ns)
{
	uint64_t part = timeout_ns / BLOCK_PARTS;

	if (part < BLOCK_MAX_NS)
		part = BLOCK_MAX_NS;
	return part < timeout_ns / 2 ? part : timeout_ns / 2;
}

/*
 * Waits by the runtime's function. The runtime measures its time-out by the processor's counter,
 * which seems fast to it (clocks.c) but runs in real time. So it may return early. It may also
 * return late: after a wait in the driver, which takes only virtual time, it begins another wait.
 * Therefore each call of the runtime gets only a part of the time. The last BLOCK_MIN_NS are polled
 * here, because the driver waits in whole milliseconds.
 */
static int64_t wait_blocked(wait_function *theirs, uint64_t signal, unsigned condition,
			    int64_t wanted, uint64_t timeout_ns, unsigned state)
{
	uint64_t until = deadline_after(timeout_ns);

	while (timeout_ns > BLOCK_MIN_NS) {
		int64_t value = theirs(signal, condition, wanted,
				       until == NEVER ? timeout_ns : part_of(timeout_ns), state);
		uint64_t now = now_ns();

		if (is_met(condition, value, wanted) || now >= until)
			return value;
		timeout_ns = until - now;
	}
	return wait_active(signal, condition, wanted, until);
}

#define WAIT(name)                                                                                 \
	EXPORT int64_t name(uint64_t signal, unsigned condition, int64_t value,                    \
			    uint64_t timeout_ns, unsigned state)                                   \
	{                                                                                          \
		static wait_function *theirs;                                                      \
                                                                                                   \
		if (!theirs)                                                                       \
			theirs = (wait_function *)runtime(#name);                                  \
		if (!time_page() || !find_load())                                                  \
			return theirs(signal, condition, value, timeout_ns, state);                \
		if (state == STATE_ACTIVE)                                                         \
			return wait_active(signal, condition, value, deadline_after(timeout_ns));  \
		return wait_blocked(theirs, signal, condition, value, timeout_ns, state);          \
	}

WAIT(hsa_signal_wait_relaxed)
WAIT(hsa_signal_wait_acquire)
WAIT(hsa_signal_wait_scacquire)
