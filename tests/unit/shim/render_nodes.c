// SPDX-License-Identifier: MIT
/*
 * Proves: the driver's topology is read once for each render node, however many user queues are
 * created and freed there. Played: the topology.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "kfd/topology.h"
#include "shim/topology.h"

#define GPUS 2

static size_t visible = GPUS;
static unsigned reads;

size_t __wrap_topology_gpus(struct topology_gpu *out, size_t max);

size_t __wrap_topology_gpus(struct topology_gpu *out, size_t max)
{
	(void)max;
	reads++;
	for (size_t i = 0; i < visible; i++)
		out[i] = (struct topology_gpu){.gpu_id = 7 + (uint32_t)i, .render_minor = 128 + i};
	return visible;
}

static void read_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(topology_gpu_of_render(128), 7);
		assert_int_equal(topology_gpu_of_render(129), 8);
	}
	assert_int_equal(reads, 2);
	/* Another node whose entry has the same place. */
	assert_int_equal(topology_gpu_of_render(128 + TOPOLOGY_GPUS), 0);
	assert_int_equal(topology_gpu_of_render(128), 7);
	assert_int_equal(reads, 3);
}

/* A failure to read is not kept, and a child that was forked reads anew. */
static void read_again(void **state)
{
	(void)state;
	visible = 0;
	assert_int_equal(topology_gpu_of_render(128), 7);
	topology_forget();
	assert_int_equal(topology_gpu_of_render(128), 0);
	visible = GPUS;
	assert_int_equal(topology_gpu_of_render(128), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(read_once),
					   cmocka_unit_test(read_again)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
