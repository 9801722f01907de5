// SPDX-License-Identifier: MIT
/*
 * Proves: the reason of a client whose debug session has ended says which process ended it. Played:
 * the executor, and all modules that client_actions.c calls beside the core.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/operator/events.h"

static struct worker worker;
static struct client client;
static struct client_shm shm;
static uint32_t outcome;

/* ---- played ---- */

void client_command(struct client *of, enum client_shm_level level, uint32_t what, uint64_t now)
{
	(void)of, (void)level, (void)what, (void)now;
}

bool client_scan_teardown(struct worker *of, struct client *which)
{
	(void)of, (void)which;
	return false;
}

void events_acted(struct worker *of, const struct client *which,
		  const struct executor_report *report)
{
	(void)of, (void)which, (void)report;
}

void events_level(struct worker *of, const struct client *which, bool able)
{
	(void)of, (void)which, (void)able;
}

void metrics_acted(struct worker *of, struct client *which, bool suspend, bool failed)
{
	(void)of, (void)which, (void)suspend, (void)failed;
}

void metrics_latency(struct worker *of, struct client *which, enum metrics_latency kind,
		     uint64_t ns)
{
	(void)of, (void)which, (void)kind, (void)ns;
}

void level_fall(struct worker *of, struct client *which, const struct reason *why, uint64_t now)
{
	(void)of, (void)which, (void)why, (void)now;
}

void level_fall_by(struct worker *of, struct client *which, enum reason_code code, int error,
		   uint64_t now)
{
	(void)of, (void)which, (void)code, (void)error, (void)now;
}

void level_failed(struct worker *of, struct client *which, int error, uint64_t now)
{
	(void)of, (void)which, (void)error, (void)now;
}

void level_risen(struct client *which, uint64_t now)
{
	(void)which, (void)now;
}

uint32_t executor_take(struct executor *executor, struct executor_report *report)
{
	(void)executor;
	*report = (struct executor_report){0};
	return outcome;
}

void executor_send(struct executor *executor, uint32_t requests)
{
	(void)executor, (void)requests;
}

struct reason executor_reason(const struct executor *executor)
{
	(void)executor;
	return (struct reason){0};
}

bool executor_runtime(const struct executor *executor)
{
	(void)executor;
	return true;
}

uint32_t executor_number(const struct executor *executor)
{
	(void)executor;
	return 0;
}

void executor_free(struct executor *executor)
{
	(void)executor;
}

/* ---- tests ---- */

/* The executor of a client at level trap ends. Returns the code of the client's reason. */
static enum reason_code end_session(bool stopping)
{
	const struct core_config config = CORE_CONFIG_DEFAULT;
	static _Alignas(64) char executor[64];

	memset(&worker, 0, sizeof(worker));
	client = (struct client){.shm = &shm, .executor = (struct executor *)executor};
	worker.core = feed_create(&worker.feed, &config, WORKER_CLIENTS, -1, 0, 1);
	assert_non_null(worker.core);
	client.id = feed_add(&worker.feed, 1, 0, 2, 1);
	worker.stopping = stopping;
	outcome = EXECUTOR_ATTACHED;
	client_outcome(&worker, &client, 1);
	assert_true(client.attached);
	assert_int_equal(client.reason.code, REASON_NONE);
	outcome = EXECUTOR_ENDED;
	client_outcome(&worker, &client, 2);
	assert_null(client.executor);
	assert_true(client.refused);
	feed_destroy(&worker.feed);
	return client.reason.code;
}

static void process_ends(void **state)
{
	(void)state;
	assert_int_equal(end_session(false), REASON_process_ending);
}

static void daemon_stops(void **state)
{
	(void)state;
	assert_string_equal(reason_name(end_session(true)), "daemon_stopping");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_ends),
		cmocka_unit_test(daemon_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
