// SPDX-License-Identifier: MIT
#include "shim/gate.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/config.h"
#include "shim/queues.h"

#define WAIT_NS 1000000000u
#define LOOK_NS 1000000u /* with a limit above 0: is there room? */
#define THREADS 256u	 /* a power of two */

static uint32_t *gate;

/* pthread_self() << 1 | the runtime's. An entry is never changed: a thread that
 * gets the name of one that has ended counts as that one. */
static uint64_t threads[THREADS];
static bool crowded; /* no room: whose a thread is cannot be told any more */

void gate_init(uint32_t *word)
{
	gate = word;
	__atomic_store_n(gate, 0, __ATOMIC_RELAXED);
	memset(threads, 0, sizeof(threads));
	crowded = false;
}

void gate_set(bool closed)
{
	__atomic_store_n(gate, closed, __ATOMIC_SEQ_CST);
	if (!closed)
		syscall(SYS_futex, gate, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* The entry of this thread, or where it belongs; NULL: there is no room. */
static uint64_t *my_entry(uint64_t *found)
{
	uint64_t me = (uint64_t)pthread_self();

	for (uint32_t i = 0; i < THREADS; i++) {
		uint64_t *at = &threads[((me >> 12) + i) % THREADS];

		*found = __atomic_load_n(at, __ATOMIC_RELAXED);
		if (*found == 0 || *found >> 1 == me)
			return at;
	}
	return NULL;
}

static void seen(bool runtime)
{
	uint64_t mine = (uint64_t)pthread_self() << 1 | runtime, found, *at;

	for (;;) {
		at = my_entry(&found);
		if (!at)
			__atomic_store_n(&crowded, true, __ATOMIC_RELAXED);
		if (!at || found != 0)
			return;
		if (__atomic_compare_exchange_n(at, &found, mine, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
	}
}

void gate_seen_waiting(void)
{
	seen(false);
}

void gate_seen_events(void)
{
	seen(true);
}

static bool may_wait(void)
{
	uint64_t found;

	if (__atomic_load_n(&crowded, __ATOMIC_RELAXED) || !my_entry(&found))
		return false;
	/* Its threads poll then, and are never seen in WAIT_EVENTS. */
	if (found == 0 && config.no_interrupts)
		return gettid() == getpid();
	return !(found & 1);
}

/* Within the limit, or no queue that we can read. */
static bool has_room(uint64_t hsa_queue, uint64_t count)
{
	uint64_t rptr, wptr;
	struct queue *q;
	bool room = true;
	uint32_t read;

	read = rcu_begin();
	q = queue_by_hsa(hsa_queue);
	if (q && !q->careful && queue_pointers(q, &rptr, &wptr))
		room = wptr - rptr + count <= config.gate_packets;
	rcu_end(read);
	return room;
}

void gate_pass(uint64_t hsa_queue, uint64_t count)
{
	uint64_t now = clock_ns(), end = now + WAIT_NS, left;
	int saved = errno;
	struct timespec timeout = {0};

	if (!may_wait())
		return;
	for (; now < end && __atomic_load_n(gate, __ATOMIC_SEQ_CST); now = clock_ns()) {
		if (has_room(hsa_queue, count))
			break;
		left = end - now;
		if (config.gate_packets > 0 && left > LOOK_NS)
			left = LOOK_NS;
		timeout.tv_sec = (time_t)(left / 1000000000u);
		timeout.tv_nsec = (long)(left % 1000000000u);
		syscall(SYS_futex, gate, FUTEX_WAIT_PRIVATE, 1, &timeout, NULL, 0);
	}
	errno = saved;
}
