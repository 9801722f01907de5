// SPDX-License-Identifier: MIT
/*
 * Proves, without a daemon: when a process opens a debug session on itself, and when it gives the
 * session up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "tests/lib/mock_debug.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;
static struct fake_queue q;

static void nothing_forbidden(void)
{
	CHECK(fake_trap.slept == 0 && fake_trap.not_suspended == 0 && fake_trap.unasked == 0);
}

/* The session is opened before there is a queue, if a peer can hold the process and there is no
 * daemon that would. */
static void session_at_once_without_a_daemon(void)
{
	static const struct {
		const char *level, *priority;
		bool session;
	} cases[] = {
		{"auto", "offline", true}, {"", "5", true},	   {"trap", "offline", true},
		{"self", "", true},	   {"auto", "", false},	   {"auto", "online", false},
		{"gate", "5", false},	   {"weight", "5", false}, {"observe", "5", false},
	};

	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("KFDSHIM_LEVEL", cases[i].level, 1);
		setenv("KFDSHIM_PRIORITY", cases[i].priority, 1);
		fake_start();
		CHECK(fake_runtime(1) == 0);
		if (fake_trap.session != cases[i].session)
			fake_failed(cases[i].level, (int)i, cases[i].priority);
		CHECK(fake_runtime(0) == 0);
		CHECK(!fake_trap.session);
	}
	nothing_forbidden();
}

/* If a daemon listens, or has accepted the process, opening a session is left to the daemon. */
static void session_left_to_the_daemon(void)
{
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "auto", 1);
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_runtime(1) == 0);
	CHECK(!fake_trap.session);
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	fake_daemon_remove(&daemon_);
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_runtime(0) == 0 && fake_runtime(1) == 0);
	CHECK(!fake_trap.session);
	nothing_forbidden();
}

/* A daemon that has died does not count. A daemon that starts later gets the session. */
static void session_given_to_a_later_daemon(void)
{
	char directory[80];

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_daemon_open(&daemon_);
	setenv("XDG_RUNTIME_DIR", daemon_.directory, 1);
	fake_daemon_die(&daemon_); /* the socket file still exists */
	setenv("KFDSHIM_LEVEL", "auto", 1);
	fake_start();
	CHECK(fake_runtime(1) == 0);
	CHECK(fake_trap.session);
	CHECK(fake_queue_create(&q, AQL) == 0);
	EVENTUALLY(!fake_trap.fresh[q.id], 1000);
	fake_daemon_listen(&daemon_);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(!fake_trap.session, 1000);
	EVENTUALLY(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED, 1000);
	CHECK(daemon_.shm->own_session == CLIENT_SHM_OWN_NONE);
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_runtime(0) == 0 && fake_runtime(1) == 0);
	CHECK(!fake_trap.session);
	nothing_forbidden();
	snprintf(directory, sizeof(directory), "%s/kfdshim", daemon_.directory);
	CHECK(rmdir(directory) == 0);
	fake_daemon_remove(&daemon_);
}

IN_CHILD(session_at_once_without_a_daemon)
IN_CHILD(session_left_to_the_daemon)
IN_CHILD(session_given_to_a_later_daemon)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session_at_once_without_a_daemon),
		cmocka_unit_test(test_session_left_to_the_daemon),
		cmocka_unit_test(test_session_given_to_a_later_daemon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
