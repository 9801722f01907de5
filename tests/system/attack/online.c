// SPDX-License-Identifier: MIT
/*
 * The online client of the attackers' tests. It registers without a GPU. For each line `N MS` on
 * standard input it becomes active on the GPU N times, MS milliseconds apart, each time until the
 * daemon publishes that another process is suspended for it. It prints one line: the median and the
 * maximum time from active to suspended in microseconds, and how often that or the resume took
 * WAIT_NS or longer; after GIVE_UP such cases it stops.
 *
 *   attack_online SOCKET GPU_ID
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"

#define WAIT_NS 1000000000u
#define GIVE_UP 3u /* number of slow cases after which it stops */
#define TIMES 1000u

static const struct daemon_shm_node *node_of(const struct daemon_shm *daemon_shm, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++)
		if (daemon_shm->nodes[i].gpu_id == gpu_id)
			return &daemon_shm->nodes[i];
	return NULL;
}

/* Becomes active (or idle). Returns the ns until the daemon has suspended (or resumed) the others;
 * WAIT_NS if it had not by then. */
static uint64_t becomes(struct attack_shim *shim, const struct daemon_shm_node *node,
			bool suspended)
{
	const struct timespec nap = {.tv_nsec = 50000};
	uint64_t begin = clock_ns(), now = begin;

	attack_active(shim, suspended);
	while ((__atomic_load_n(&node->suspended, __ATOMIC_SEQ_CST) > 0) != suspended) {
		if (now > begin + WAIT_NS)
			return WAIT_NS;
		nanosleep(&nap, NULL);
		now = clock_ns();
	}
	return clock_ns() - begin;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void preempt(struct attack_shim *shim, const struct daemon_shm_node *node, unsigned times,
		    unsigned apart_ms)
{
	static uint64_t ns[TIMES];
	unsigned never = 0, made = 0;

	while (made < times && never < GIVE_UP) {
		uint64_t taken = becomes(shim, node, true);

		ns[made++] = taken;
		never += becomes(shim, node, false) >= WAIT_NS || taken >= WAIT_NS;
		attack_sleep_ms(apart_ms);
	}
	qsort(ns, made, sizeof(*ns), by_size);
	printf("%llu %llu %u\n", (unsigned long long)ns[made / 2] / 1000,
	       (unsigned long long)ns[made - 1] / 1000, never);
}

int main(int argc, char **argv)
{
	const struct daemon_shm_node *node;
	struct attack_shim shim;
	unsigned times, apart_ms;
	uint32_t gpu_id;
	char line[64];
	int error;

	if (argc != 3) {
		fprintf(stderr, "usage: attack_online SOCKET GPU_ID\n");
		return 2;
	}
	gpu_id = (uint32_t)strtoul(argv[2], NULL, 0);
	error = attack_register(&shim, argv[1], PRIORITY_ONLINE, PROTOCOL_LEVEL_AUTO, gpu_id);
	if (error)
		attack_fail("the online client cannot register", error);
	node = node_of(shim.daemon_shm, gpu_id);
	if (!node)
		attack_fail("the daemon does not know the GPU", 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin) && sscanf(line, "%u %u", &times, &apart_ms) == 2 &&
	       times > 0 && times <= TIMES)
		preempt(&shim, node, times, apart_ms);
	return 0;
}
