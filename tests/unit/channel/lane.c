// SPDX-License-Identifier: MIT
/*
 * Proves that the daemon reads from a client's shared memory (`struct client_shm`) what the client
 * writes to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel/client_shm.h"
#include "common/clock.h"

static int fd = -1;
static struct client_shm *daemon_map, *client_map;

static int setup(void **state)
{
	(void)state;
	fd = client_shm_create(CLIENT_SHM_VERSION, &daemon_map);
	if (fd < 0 || client_shm_map(fd, &client_map) != 0)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	client_shm_unmap(client_map);
	client_shm_unmap(daemon_map);
	close(fd);
	return 0;
}

static struct client_shm_queue example(uint32_t id)
{
	return (struct client_shm_queue){
		.used = 1,
		.queue_id = id,
		.gpu_id = 19729,
		.type = 2,
		.priority = 7,
		.percent = 100,
		.ring_address = 0x7f0000000000 + id,
		.ring_bytes = 65536,
		.rptr_address = 0x1080 + id,
		.wptr_address = 0x1038 + id,
		.hsa_queue = 0x1000 + id,
	};
}

static void queue_goes_through(void **state)
{
	struct client_shm_queue in = example(3), out;

	(void)state;
	assert_int_equal(client_shm_queue_read(daemon_map, 5, &out), -ENOENT);
	client_shm_queue_write(client_map, 5, &in);
	assert_int_equal(client_shm_queue_read(daemon_map, 5, &out), 0);
	in.seq = out.seq;
	assert_memory_equal(&in, &out, sizeof(in));
	client_shm_queue_clear(client_map, 5);
	assert_int_equal(client_shm_queue_read(daemon_map, 5, &out), -ENOENT);
}

static void slots_out_of_range(void **state)
{
	struct client_shm_queue q = example(1), out;
	struct client_shm_node node;
	uint32_t generation = daemon_map->queue_generation;

	(void)state;
	client_shm_queue_write(client_map, CLIENT_SHM_QUEUES, &q);
	client_shm_queue_clear(client_map, UINT32_MAX);
	assert_int_equal(daemon_map->queue_generation, generation);
	assert_int_equal(client_shm_queue_read(daemon_map, CLIENT_SHM_QUEUES, &out), -ENOENT);
	assert_int_equal(client_shm_node_read(daemon_map, CLIENT_SHM_NODES, &node), -ENOENT);
	assert_false(client_shm_node_set(client_map, CLIENT_SHM_NODES, true, 1));
}

static void generation_counts_the_table_only(void **state)
{
	struct client_shm_queue q = example(1);
	uint32_t before;

	(void)state;
	client_shm_queue_write(client_map, 0, &q);
	before = daemon_map->queue_generation;
	q.state = CLIENT_SHM_QUEUE_ACTIVE;
	client_shm_queue_write(client_map, 0, &q);
	assert_int_equal(daemon_map->queue_generation, before);
	q.priority = 15;
	client_shm_queue_write(client_map, 0, &q);
	assert_int_equal(daemon_map->queue_generation, before + 1);
	client_shm_queue_clear(client_map, 0);
	assert_int_equal(daemon_map->queue_generation, before + 2);
}

static void nodes_count_transitions(void **state)
{
	struct client_shm_node node;
	int slot = client_shm_node_slot(client_map, 4711);

	(void)state;
	assert_int_equal(slot, 0);
	assert_int_equal(client_shm_node_slot(client_map, 4712), 1);
	assert_int_equal(client_shm_node_slot(client_map, 4711), 0);
	assert_true(client_shm_node_set(client_map, 0, true, 100));
	assert_false(client_shm_node_set(client_map, 0, true, 200));
	assert_int_equal(client_shm_node_read(daemon_map, 0, &node), 0);
	assert_int_equal(node.gpu_id, 4711);
	assert_int_equal(node.activity, 1 << 1 | 1);
	assert_int_equal(node.active_ns, 100);
	assert_true(client_shm_node_set(client_map, 0, false, 300));
	assert_int_equal(client_shm_node_read(daemon_map, 0, &node), 0);
	assert_int_equal(node.activity, 2 << 1);
	assert_int_equal(node.idle_ns, 300);
	for (uint32_t i = 2; i < 128; i++) {
		assert_int_equal(client_shm_node_slot(client_map, 5000 + i), i);
		assert_true(client_shm_node_set(client_map, i, true, 400 + i));
		assert_int_equal(client_shm_node_read(daemon_map, i, &node), 0);
		assert_int_equal(node.gpu_id, 5000 + i);
		assert_int_equal(node.active_ns, 400 + i);
	}
	assert_int_equal(client_shm_node_slot(client_map, 9999), -ENOSPC);
}

static void the_last_events_are_there(void **state)
{
	struct client_shm_event event = {.kind = CLIENT_SHM_EVENT_QUEUE_CREATED, .gpu_id = 4711},
				out;

	(void)state;
	assert_int_equal(client_shm_event_read(daemon_map, 1, &out), -ENOENT);
	for (uint32_t i = 1; i <= CLIENT_SHM_EVENTS + 10; i++) {
		event.queue_id = i;
		event.ns = 100 * i;
		client_shm_event_add(client_map, &event);
	}
	assert_int_equal(daemon_map->events_number, CLIENT_SHM_EVENTS + 10);
	assert_int_equal(client_shm_event_read(daemon_map, 10, &out), -ENOENT);
	assert_int_equal(client_shm_event_read(daemon_map, 11, &out), 0);
	assert_int_equal(out.queue_id, 11);
	assert_int_equal(out.ns, 1100);
	assert_int_equal(out.gpu_id, 4711);
	assert_int_equal(client_shm_event_read(daemon_map, CLIENT_SHM_EVENTS + 10, &out), 0);
	assert_int_equal(client_shm_event_read(daemon_map, CLIENT_SHM_EVENTS + 11, &out), -ENOENT);
}

static void *write_for_ever(void *stop)
{
	struct client_shm_queue q;

	for (uint32_t i = 0; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED); i++) {
		q = example(i % 1000);
		client_shm_queue_write(client_map, 0, &q);
	}
	return NULL;
}

/* All fields of an entry that was read belong to the same write. The time limit is long, because
 * the writer may start late or lose its core in the middle of an entry. */
static void reads_are_consistent(void **state)
{
	const uint64_t until = clock_ns() + 20000000000u;
	bool stop = false;
	struct client_shm_queue q;
	pthread_t thread;
	int good = 0, err;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_for_ever, &stop), 0);
	while (good < 20000 && clock_ns() < until) {
		err = client_shm_queue_read(daemon_map, 0, &q);
		if (err == -EAGAIN || err == -ENOENT) {
			sched_yield();
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(q.ring_address - q.queue_id, 0x7f0000000000);
		assert_int_equal(q.hsa_queue - q.queue_id, 0x1000);
		good++;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_true(good > 1000);
}

static struct client_shm_queue *watched;
static char *guarded;
static long page_bytes;
static uint32_t seq_within; /* sequence number of the half-written entry */

static void on_write(int number)
{
	(void)number;
	seq_within = watched->seq;
	if (mprotect(guarded, (size_t)page_bytes, PROT_READ | PROT_WRITE) != 0)
		_exit(1);
}

/* The end of the entry lies on the next page, which is write-protected at first, so that the writer
 * is stopped in the middle of the entry. */
static void seq_is_odd_while_it_is_written(void **state)
{
	struct sigaction action = {.sa_handler = on_write}, before;
	struct client_shm_queue q = example(9);
	uint32_t slot = 0, seq;
	char *end;

	(void)state;
	page_bytes = sysconf(_SC_PAGESIZE);
	do {
		watched = &client_map->queues[slot++];
		end = (char *)(watched + 1);
		guarded = end - (uintptr_t)end % (uintptr_t)page_bytes;
	} while (guarded <= (char *)&watched->used || guarded == end);
	seq = watched->seq;
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	assert_int_equal(mprotect(guarded, (size_t)page_bytes, PROT_READ), 0);
	client_shm_queue_write(client_map, slot - 1, &q);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_equal(seq_within, seq + 1);
	assert_int_equal(watched->seq, seq + 2);
}

static void only_the_daemon_writes_daemon_shm(void **state)
{
	struct daemon_shm *daemon_shm;
	const struct daemon_shm *view;
	int daemon_shm_fd = daemon_shm_create(CLIENT_SHM_VERSION, &daemon_shm);

	(void)state;
	assert_true(daemon_shm_fd >= 0);
	assert_int_equal(daemon_shm_map(daemon_shm_fd, &view), 0);
	daemon_shm->asleep = 1;
	assert_int_equal(view->asleep, 1);
	assert_int_equal(pwrite(daemon_shm_fd, "x", 1, 0), -1);
	assert_int_equal(fcntl(daemon_shm_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	daemon_shm_unmap(view);
	daemon_shm_unmap(daemon_shm);
	close(daemon_shm_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(queue_goes_through, setup, teardown),
		cmocka_unit_test_setup_teardown(slots_out_of_range, setup, teardown),
		cmocka_unit_test_setup_teardown(generation_counts_the_table_only, setup, teardown),
		cmocka_unit_test_setup_teardown(nodes_count_transitions, setup, teardown),
		cmocka_unit_test_setup_teardown(the_last_events_are_there, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_are_consistent, setup, teardown),
		cmocka_unit_test_setup_teardown(seq_is_odd_while_it_is_written, setup, teardown),
		cmocka_unit_test(only_the_daemon_writes_daemon_shm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
