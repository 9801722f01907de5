// SPDX-License-Identifier: MIT
/*
 * Proves: an event of a client that has ended is not taken for one of the next client in its slot.
 * Calls that a client has announced are permitted while it runs, and not while it is suspended; a
 * client whose calls wait does not stop those of others. The end of a client is reported upwards
 * once, with its phase before, and takes it off all lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "kfd/topology.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/operator/events.h"
#include "scheduler/daemon/reader/reader.h"

#define NOW UINT64_C(1000000000)

static struct worker worker;
static enum client_phase last_phase;
static unsigned exits, went;

/* ---- played: what is beside or above ---- */

void metrics_settle(struct worker *of, struct client *client, uint64_t now)
{
	(void)of, (void)client, (void)now;
}

void events_level(struct worker *of, const struct client *client, bool able)
{
	(void)of, (void)client, (void)able;
}

void events_went(struct worker *of, const struct client *client, const char *why)
{
	(void)of, (void)client, (void)why;
	went++;
}

void reader_forget(uint64_t asker)
{
	(void)asker;
}

void executor_send(struct executor *executor, uint32_t requests)
{
	(void)executor, (void)requests;
}

uint32_t executor_number(const struct executor *executor)
{
	(void)executor;
	return 0;
}

bool cwsr_is_missing(char why[static CWSR_WHY])
{
	why[0] = '\0';
	return false;
}

size_t topology_gpu_ids(uint32_t *gpu_ids, size_t max)
{
	(void)gpu_ids, (void)max;
	return 0;
}

static void exited(struct worker *of, struct client *client, enum client_phase before)
{
	(void)of;
	assert_int_equal(client->phase, CLIENT_DEAD);
	last_phase = before;
	exits++;
}

/* ---- tests ---- */

static int open_worker(void **state)
{
	const struct core_config config = CORE_CONFIG_DEFAULT;

	(void)state;
	memset(&worker, 0, sizeof(worker));
	exits = went = 0;
	worker.client_exited = exited;
	worker.core = feed_create(&worker.feed, &config, WORKER_CLIENTS, -1, 0, NOW);
	worker.epoll = epoll_create1(EPOLL_CLOEXEC);
	return !worker.core || nodes_open(&worker.nodes) != 0;
}

static int close_worker(void **state)
{
	struct client *client;

	(void)state;
	for (uint32_t i = 0; (client = worker_next(&worker, CLIENT_SERVED, &i));)
		client_gone(&worker, client, NULL);
	for (uint32_t i = 0; (client = worker_next(&worker, CLIENT_DEAD, &i));)
		client_free(&worker, client);
	feed_destroy(&worker.feed);
	return close(worker.epoll);
}

static struct client *serve(int priority)
{
	struct client *client = client_new(&worker, -1, NOW);

	assert_non_null(client);
	close(client_shm_create(CLIENT_SHM_VERSION, &client->shm));
	client->priority = priority;
	client->tenant = 1;
	client->id = feed_add(&worker.feed, 1, 0, priority, NOW);
	assert_int_not_equal(client->id, 0);
	client_served(&worker, client);
	return client;
}

static void event_of_an_earlier_client_is_ignored(void **state)
{
	struct epoll_event event;
	enum worker_event kind;
	struct client *client = serve(3);
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(worker_watch(&worker, ends[0], EPOLLIN, WORKER_WAKE, client), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(epoll_wait(worker.epoll, &event, 1, 0), 1);
	assert_ptr_equal(worker_event_client(&worker, event.data.u64, &kind), client);
	assert_int_equal(kind, WORKER_WAKE);
	client_gone(&worker, client, NULL);
	assert_null(worker_event_client(&worker, event.data.u64, &kind));
	client_free(&worker, client);
	client = serve(3);
	assert_int_equal(client->slot, 0);
	assert_null(worker_event_client(&worker, event.data.u64, &kind));
	close(ends[0]);
	close(ends[1]);
}

/* Suspends the client for its lease. */
static void suspend(struct client *client)
{
	struct core_action action;
	uint64_t deadline;

	feed_set_capability(&worker.feed, client->id, CORE_ABLE);
	feed_set_lease(&worker.feed, client->id, CORE_NEVER);
	assert_int_equal(feed_decide(&worker.feed, NOW, &action, 1, &deadline), 1);
	assert_int_equal(action.op, CORE_SUSPEND);
	feed_finished(&worker.feed, client->id, 0, 1000, NOW);
}

static void running_client_may_make_its_call(void **state)
{
	struct client *held = serve(3), *runs = serve(4);

	(void)state;
	suspend(held);
	held->shm->teardown_begin = runs->shm->teardown_begin = 1;
	assert_true(client_scan_teardown(&worker, held));
	assert_true(client_scan_teardown(&worker, runs));
	assert_false(client_scan_teardown(&worker, runs)); /* nothing new */
	assert_int_equal(worker.release_count, 2);
	client_release_all(&worker, NOW);
	assert_int_equal(runs->shm->teardown_granted, 1);
	assert_int_equal(held->shm->teardown_granted, 0);
	assert_int_equal(worker.release_count, 1);
	assert_ptr_equal(worker.releasing[0], held);
	client_gone(&worker, held, NULL);
	assert_int_equal(worker.release_count, 0);
}

static void end_is_reported_once(void **state)
{
	struct client *workload = serve(3), *command = client_new(&worker, -1, NOW);

	(void)state;
	command->phase = CLIENT_HOLDING;
	client_gone(&worker, command, NULL);
	assert_int_equal(last_phase, CLIENT_HOLDING);
	assert_int_equal(went, 0); /* no event: it was no workload */
	client_gone(&worker, workload, NULL);
	assert_int_equal(last_phase, CLIENT_SERVED);
	client_gone(&worker, workload, NULL);
	assert_int_equal(exits, 2);
	assert_int_equal(went, 1);
	assert_int_equal(worker.dead, 2);
	assert_null(worker.by_core[core_index(workload->id)]);
	client_free(&worker, workload);
	client_free(&worker, command);
	assert_int_equal(worker.client_end, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(event_of_an_earlier_client_is_ignored, open_worker,
						close_worker),
		cmocka_unit_test_setup_teardown(running_client_may_make_its_call, open_worker,
						close_worker),
		cmocka_unit_test_setup_teardown(end_is_reported_once, open_worker, close_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
