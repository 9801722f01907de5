// SPDX-License-Identifier: MIT
/*
 * A process with AMD's runtime under libkfdshim.so. bench_wake starts two of them:
 *
 *     bench_wake_work offline    has pending work for as long as it lives, and uses no CPU
 *     bench_wake_work online     alternately rings its doorbell and waits for the SUSPEND, and
 *                                performs a bare wake of another process
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "tests/bench/gpu.h"
#include "tests/bench/wake.h"

#define RING 1024u
#define WPTR 56 /* offset of the write pointer in an amd_queue_t */
#define POLL_US 100
#define PAUSE_US 1000 /* longest pause before a wake, so that the process to be woken sleeps */
#define LOST_US 1000000
#define FIRST_TRIES 60 /* doorbells without a SUSPEND until the daemon knows the offline process */

static struct wake_page *page;
static hsa_queue_t *queue;
static hsa_signal_t done;
static const hsa_signal_t none;
static int wake_fd;

static void begin(void)
{
	gpu_must(hsa_init(), "hsa_init");
	queue = gpu_queue(gpu_first(), RING);
	gpu_must(hsa_signal_create(1, 0, NULL, &done), "hsa_signal_create");
}

/* Takes a slot and rings the doorbell before there is a packet in the slot. Until there is one, the
 * GPU has work that does not end, and the shim does not take the queue for one that waits for the
 * signal of another process. The slot is taken without a function of the runtime, because the shim
 * uses such a call as a hint: the doorbell has to be the first event. Returns the time of the
 * doorbell in ns. */
static uint64_t ring(uint64_t *at)
{
	uint64_t *wptr = (uint64_t *)(void *)((char *)queue + WPTR), rung_ns;

	*at = *wptr;
	__atomic_store_n(wptr, *at + 1, __ATOMIC_RELEASE);
	rung_ns = clock_ns();
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)*at);
	return rung_ns;
}

static void finish(uint64_t at)
{
	uint64_t last;

	hsa_signal_store_relaxed(done, 1);
	gpu_barrier(queue, at, none, none);
	gpu_barrier(queue, at + 1, none, done);
	ring(&last);
	hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_BLOCKED);
}

static void rest(void)
{
	usleep(PAUSE_US / 4 + (useconds_t)random() % (PAUSE_US * 3 / 4));
}

/* Returns the time in us from the write() to the other process's return from read(). */
static double bare_us(void)
{
	uint64_t one = 1, written_ns, awake_ns;

	rest();
	__atomic_store_n(&page->bare_ns, 0, __ATOMIC_RELEASE);
	written_ns = clock_ns();
	if (write(wake_fd, &one, sizeof(one)) != sizeof(one))
		exit(1);
	while (!(awake_ns = __atomic_load_n(&page->bare_ns, __ATOMIC_ACQUIRE)))
		usleep(POLL_US);
	return (double)(awake_ns - written_ns) / 1e3;
}

/* Measures the time in us from the doorbell to the SUSPEND. Returns false if there was none within
 * a second. On return the queue is drained and the offline process has been resumed. */
static bool suspend_us(double *us)
{
	uint64_t resumes = __atomic_load_n(&page->resumes, __ATOMIC_ACQUIRE), rung_ns, at;
	bool lost;

	rest();
	__atomic_store_n(&page->armed, 1, __ATOMIC_RELEASE);
	rung_ns = ring(&at);
	for (unsigned i = 0;
	     i < LOST_US / POLL_US && __atomic_load_n(&page->armed, __ATOMIC_ACQUIRE); i++)
		usleep(POLL_US);
	lost = __atomic_exchange_n(&page->armed, 0, __ATOMIC_ACQ_REL);
	if (!lost)
		*us = (double)(page->entry_ns - rung_ns) / 1e3;
	finish(at);
	for (unsigned i = 0; i < LOST_US / POLL_US && !lost &&
			     __atomic_load_n(&page->resumes, __ATOMIC_ACQUIRE) == resumes;
	     i++)
		usleep(POLL_US);
	return !lost;
}

static int online(void)
{
	unsigned tries = 0;
	double us;

	wake_fd = atoi(getenv(WAKE_FD_VARIABLE));
	begin();
	wake_stand_on(0); /* only the main thread; the daemon's threads are not bound */
	while (!suspend_us(&us))
		if (++tries == FIRST_TRIES) {
			fprintf(stderr, "bench_wake: the daemon suspends nobody\n");
			return 1;
		}
	for (unsigned i = 0; i < WAKE_PAIRS; i++) {
		page->bare_us[i] = bare_us();
		while (!suspend_us(&page->suspend_us[i]))
			if (++page->lost > WAKE_PAIRS / 100)
				return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t at;

	page = wake_page_map();
	if (argc != 2 || !page)
		return 2;
	if (strcmp(argv[1], "online") == 0)
		return online();
	begin();
	ring(&at);
	__atomic_store_n(&page->has_work, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}
