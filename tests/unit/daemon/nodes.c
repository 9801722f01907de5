// SPDX-License-Identifier: MIT
/*
 * Proves: time in which several clients have work on a node counts once, and a node that the driver
 * does not have counts nothing, whatever a client writes. The nodes are read once a second. A page
 * of the older version names as many nodes as it has room for, and gets the core's state, the
 * heartbeat and the sleep of the loop like the present one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <string.h>

#include "channel/protocol.h"
#include "kfd/topology.h"
#include "scheduler/core/sched.h"
#include "scheduler/daemon/nodes.h"

#define SECOND UINT64_C(1000000000)

static struct nodes nodes;
static uint32_t node_count, reads;

/* ---- played: the driver and the core ---- */

size_t topology_gpu_ids(uint32_t *gpu_ids, size_t max)
{
	reads++;
	for (uint32_t i = 0; i < node_count && i < max; i++)
		gpu_ids[i] = 100 + i;
	return node_count;
}

void core_view_node(const struct core *core, uint32_t gpu_id, bool *urgent, uint32_t *suspended)
{
	(void)core;
	*urgent = true;
	*suspended = gpu_id;
}

/* ---- tests ---- */

static int open_nodes(void **state)
{
	(void)state;
	memset(&nodes, 0, sizeof(nodes));
	node_count = 2;
	reads = 0;
	assert_int_equal(nodes_open(&nodes), 0);
	nodes_read(&nodes, SECOND);
	return 0;
}

static void work_counts_once(void **state)
{
	(void)state;
	nodes_work(&nodes, 100, true, 10);
	nodes_work(&nodes, 100, true, 20);
	nodes_work(&nodes, 100, false, 30);
	assert_int_equal(nodes_work_ns(&nodes, 100, 40), 30); /* the second client still works */
	nodes_work(&nodes, 100, false, 50);
	assert_int_equal(nodes_work_ns(&nodes, 100, 1000), 40);
	assert_int_equal(nodes_work_ns(&nodes, 101, 1000), 0);
}

static void unknown_node_counts_nothing(void **state)
{
	(void)state;
	for (uint32_t id = 1000; id < 1000 + 2 * CLIENT_SHM_NODES; id++)
		nodes_work(&nodes, id, true, 10);
	assert_int_equal(nodes_work_ns(&nodes, 1000, 20), 0);
	nodes_work(&nodes, 101, true, 10); /* there is still room for a node that exists */
	assert_int_equal(nodes_work_ns(&nodes, 101, 20), 10);
}

static void nodes_are_read_once_a_second(void **state)
{
	(void)state;
	node_count = 3;
	nodes_read(&nodes, 2 * SECOND - 1);
	assert_false(nodes_known(&nodes, 102));
	nodes_read(&nodes, 2 * SECOND);
	assert_true(nodes_known(&nodes, 102));
	assert_int_equal(reads, 2);
}

static void older_page_is_kept_up(void **state)
{
	(void)state;
	node_count = CLIENT_SHM_NODES_2 + 4;
	nodes_read(&nodes, 2 * SECOND);
	assert_int_equal(nodes_daemon_shm(&nodes, PROTOCOL_VERSION), nodes.daemon_shm_fd);
	assert_null(nodes.older_shm);
	assert_true(nodes_daemon_shm(&nodes, PROTOCOL_OLDEST) >= 0);
	assert_int_equal(nodes.older_shm->node_count, CLIENT_SHM_NODES_2);
	nodes_publish(&nodes, NULL);
	assert_int_equal(nodes.daemon_shm->nodes[CLIENT_SHM_NODES_2 + 3].suspended,
			 100 + CLIENT_SHM_NODES_2 + 3);
	assert_int_equal(nodes.older_shm->nodes[CLIENT_SHM_NODES_2 - 1].suspended,
			 100 + CLIENT_SHM_NODES_2 - 1);
	nodes_beat(&nodes, 77);
	nodes_set_asleep(&nodes, true);
	assert_int_equal(nodes.daemon_shm->heartbeat_ns, 77);
	assert_int_equal(nodes.older_shm->heartbeat_ns, 77);
	assert_int_equal(nodes.older_shm->asleep, 1);
	assert_int_equal(nodes.daemon_shm->asleep, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(work_counts_once, open_nodes),
		cmocka_unit_test_setup(unknown_node_counts_nothing, open_nodes),
		cmocka_unit_test_setup(nodes_are_read_once_a_second, open_nodes),
		cmocka_unit_test_setup(older_page_is_kept_up, open_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
