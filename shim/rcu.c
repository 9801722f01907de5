// SPDX-License-Identifier: MIT
#include "shim/rcu.h"

#include <pthread.h>

#include "common/clock.h"
#include "common/wait.h"

#define LOOK_NS 20000 /* a reader that has not ended by then has lost its core */
/* Longest wait for readers. */
#define WAIT_NS 100000000u

struct rcu rcu;

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

bool rcu_wait(void)
{
	uint64_t end_ns = clock_ns() + WAIT_NS;
	bool ended = true;
	uint32_t index;

	pthread_mutex_lock(&one_at_a_time);
	for (int i = 0; i < 2; i++) {
		index = __atomic_fetch_add(&rcu.turn, 1, __ATOMIC_SEQ_CST) & 1;
		while (__atomic_load_n(&rcu.readers[index], __ATOMIC_SEQ_CST) != 0 && ended) {
			sleep_ns(LOOK_NS);
			ended = clock_ns() < end_ns;
		}
	}
	pthread_mutex_unlock(&one_at_a_time);
	return ended;
}

void rcu_forget(void)
{
	pthread_mutex_init(&one_at_a_time, NULL);
	__atomic_store_n(&rcu.readers[0], 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&rcu.readers[1], 0, __ATOMIC_SEQ_CST);
}
