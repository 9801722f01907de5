// SPDX-License-Identifier: MIT
#include "shim/submit_gate.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/config.h"
#include "shim/queue_table.h"

/* Longest time that a thread waits at the closed gate. */
#define WAIT_NS 1000000000u
/* if packets may be in flight, a waiting thread checks for room with this period */
#define CHECK_NS 1000000u

static uint32_t *gate;

/* Kind of a thread: one of the program or of the runtime, by the first wait in which it was seen
 * (gate_seen_*()). Stored as thread-specific data under `key`. */
enum thread_kind { UNSEEN, PROGRAMS, RUNTIMES };
static pthread_key_t key;
static int key_error = -1; /* 0: `key` exists; -1: not created yet; else the errno */

void gate_init(uint32_t *word)
{
	gate = word;
	__atomic_store_n(gate, 0, __ATOMIC_RELAXED);
	if (key_error != 0)
		key_error = pthread_key_create(&key, NULL);
}

int gate_set(bool closed)
{
	if (closed && key_error)
		return -key_error;
	__atomic_store_n(gate, closed, __ATOMIC_SEQ_CST);
	if (!closed)
		syscall(SYS_futex, gate, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	return 0;
}

static enum thread_kind own_kind(void)
{
	return (enum thread_kind)(uintptr_t)pthread_getspecific(key);
}

/* Stores the kind of the calling thread, unless one is stored or there is no memory for it. */
static void seen(enum thread_kind now)
{
	int saved = errno;

	if (key_error == 0 && own_kind() == UNSEEN)
		(void)pthread_setspecific(key, (const void *)(uintptr_t)now);
	errno = saved;
}

void gate_seen_waiting(void)
{
	seen(PROGRAMS);
}

void gate_seen_events(void)
{
	seen(RUNTIMES);
}

/* Returns true if the calling thread may wait at the gate: it is no known thread of the runtime. */
static bool may_wait(void)
{
	/* With HSA_ENABLE_INTERRUPT=0 the runtime's threads poll and never call WAIT_EVENTS, so
	 * only the first thread is known to be one of the program. */
	if (own_kind() == UNSEEN && config.no_interrupts)
		return gettid() == getpid();
	return own_kind() != RUNTIMES;
}

/* Returns true if @count more packets stay within the limit of packets in flight, or if the queue
 * is unknown or cannot be read directly. */
static bool has_room(uint64_t hsa_queue, uint64_t count)
{
	uint64_t rptr, wptr;
	struct shim_queue *q;
	bool room = true;

	if (!readers_begin())
		return true;
	q = queue_by_hsa(hsa_queue);
	if (q && !q->read_via_kernel && queue_pointers(q, &rptr, &wptr))
		room = wptr - rptr + count <= config.gate_packets;
	readers_end();
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
		if (config.gate_packets > 0 && left > CHECK_NS)
			left = CHECK_NS;
		timeout.tv_sec = (time_t)(left / 1000000000u);
		timeout.tv_nsec = (long)(left % 1000000000u);
		syscall(SYS_futex, gate, FUTEX_WAIT_PRIVATE, 1, &timeout, NULL, 0);
	}
	errno = saved;
}
