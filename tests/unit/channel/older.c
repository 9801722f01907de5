// SPDX-License-Identifier: MIT
/*
 * Proves that the fields of protocol version 4 still have the same places and meanings, so that a
 * shim or a daemon of that version can be served.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel/protocol.h"
#include "tests/lib/protocol_4.h"

#define SAME(then, now, field)                                                                     \
	_Static_assert(offsetof(struct then, field) == offsetof(struct now, field) &&              \
			       sizeof(((struct then *)0)->field) ==                                \
				       sizeof(((struct now *)0)->field),                           \
		       #field)

SAME(v4_hello, protocol_hello, magic);
SAME(v4_hello, protocol_hello, version);
SAME(v4_hello, protocol_hello, kind);
SAME(v4_hello, protocol_hello, priority);
SAME(v4_hello, protocol_hello, level);
SAME(v4_hello, protocol_hello, slo_us);
SAME(v4_hello, protocol_hello, pid);
SAME(v4_hello, protocol_hello, op);
SAME(v4_hello, protocol_hello, lease_s);
SAME(v4_hello, protocol_hello, gpu_id);
SAME(v4_hello, protocol_hello, policy);
SAME(v4_hello, protocol_hello, share_percent);
SAME(v4_hello, protocol_hello, group);
SAME(v4_hello, protocol_hello, target_pid);
SAME(v4_hello, protocol_hello, target_inode);
SAME(v4_welcome, protocol_welcome, version);
SAME(v4_welcome, protocol_welcome, status);
SAME(v4_welcome, protocol_welcome, more);
SAME(v4_welcome, protocol_welcome, bytes);
_Static_assert(sizeof(struct protocol_welcome) == sizeof(struct v4_welcome), "text is behind it");

SAME(v4_client_shm, client_shm, magic);
SAME(v4_client_shm, client_shm, version);
SAME(v4_client_shm, client_shm, size);
SAME(v4_client_shm, client_shm, runtime);
SAME(v4_client_shm, client_shm, runtime_errno);
SAME(v4_client_shm, client_shm, queue_generation);
SAME(v4_client_shm, client_shm, teardown_begin);
SAME(v4_client_shm, client_shm, teardown_end);
SAME(v4_client_shm, client_shm, own_session);
SAME(v4_client_shm, client_shm, hold_cmd_done);
SAME(v4_client_shm, client_shm, hold_cmd_errno);
SAME(v4_client_shm, client_shm, events_number);
SAME(v4_client_shm, client_shm, priority);
SAME(v4_client_shm, client_shm, slo_us);
SAME(v4_client_shm, client_shm, hold_cmd_us);
SAME(v4_client_shm, client_shm, group);
SAME(v4_client_shm, client_shm, queue_end);
SAME(v4_client_shm, client_shm, session);
SAME(v4_client_shm, client_shm, suspended);
SAME(v4_client_shm, client_shm, teardown_granted);
SAME(v4_client_shm, client_shm, hold_cmd);
SAME(v4_client_shm, client_shm, nodes);
SAME(v4_client_shm, client_shm, queues);
SAME(v4_client_shm, client_shm, events);
SAME(v4_client_shm_node, client_shm_node, activity);
SAME(v4_client_shm_node, client_shm_node, active_ns);
SAME(v4_client_shm_node, client_shm_node, idle_ns);
SAME(v4_client_shm_node, client_shm_node, vram_bytes);
SAME(v4_client_shm_queue, client_shm_queue, state);
SAME(v4_client_shm_queue, client_shm_queue, cwsr_bytes);
SAME(v4_client_shm_event, client_shm_event, value);
SAME(v4_daemon_shm, daemon_shm, heartbeat_ns);
SAME(v4_daemon_shm, daemon_shm, asleep);
SAME(v4_daemon_shm, daemon_shm, node_count);
SAME(v4_daemon_shm_node, daemon_shm_node, urgent);
SAME(v4_daemon_shm_node, daemon_shm_node, suspended);

static void hello_of_then_is_known(void **state)
{
	struct v4_hello then = {.magic = PROTOCOL_MAGIC, .version = V4_PROTOCOL};
	struct protocol_hello now = {0};

	(void)state;
	memcpy(&now, &then, sizeof(then));
	assert_int_equal(protocol_common(&now), V4_PROTOCOL);
	then.version = 3;
	memcpy(&now, &then, sizeof(then));
	assert_int_equal(protocol_common(&now), 0);
}

/* A daemon of version 4 accepts no other version and no other size. */
static void hello_of_now_is_known_then(void **state)
{
	(void)state;
	assert_int_equal(PROTOCOL_OLDEST, V4_PROTOCOL);
	assert_int_equal(sizeof(struct protocol_hello), sizeof(struct v4_hello));
}

/* Shared memory of a client of version 4, seen from both sides. */
static void client_shm_of_then(void **state)
{
	struct client_shm *daemons, *clients;
	int fd = client_shm_create(CLIENT_SHM_OLDEST, &daemons);
	const struct v4_client_shm *then;
	struct client_shm_node node;
	struct stat st;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, sizeof(struct v4_client_shm));
	assert_int_equal(client_shm_map(fd, &clients), 0);
	then = (const struct v4_client_shm *)clients;
	assert_int_equal(then->version, V4_CLIENT_SHM);
	assert_int_equal(then->size, sizeof(struct v4_client_shm));
	for (uint32_t i = 0; i < V4_NODES; i++) {
		assert_int_equal(client_shm_node_slot(clients, 100 + i), i);
		assert_int_equal(then->nodes[i].gpu_id, 100 + i);
	}
	assert_int_equal(client_shm_node_slot(clients, 99), -ENOSPC);
	/* Neither side accesses nodes beyond those of version 4. */
	clients->more_nodes[sizeof(clients->more_nodes) / sizeof(node) - 1].gpu_id = 1;
	assert_int_equal(client_shm_node_read(daemons, V4_NODES - 1, &node), 0);
	assert_int_equal(client_shm_node_read(daemons, V4_NODES, &node), -ENOENT);
	assert_int_equal(client_shm_node_read(daemons, CLIENT_SHM_NODES - 1, &node), -ENOENT);
	client_shm_unmap(clients);
	client_shm_unmap(daemons);
	close(fd);
}

static void daemon_shm_of_then(void **state)
{
	const struct daemon_shm *clients;
	struct daemon_shm *daemons;
	int fd = daemon_shm_create(CLIENT_SHM_OLDEST, &daemons);
	struct stat st;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, sizeof(struct v4_daemon_shm));
	assert_int_equal(daemon_shm_map(fd, &clients), 0);
	daemons->nodes[V4_NODES - 1].suspended = 4711;
	assert_int_equal(((const struct v4_daemon_shm *)clients)->nodes[V4_NODES - 1].suspended,
			 4711);
	assert_int_equal(clients->nodes[CLIENT_SHM_NODES - 1].gpu_id, 0);
	daemon_shm_unmap(clients);
	daemon_shm_unmap(daemons);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_of_then_is_known),
		cmocka_unit_test(hello_of_now_is_known_then),
		cmocka_unit_test(client_shm_of_then),
		cmocka_unit_test(daemon_shm_of_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
