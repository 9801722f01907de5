// SPDX-License-Identifier: MIT
/*
 * Proves what publish.c makes of the runtime and of a session of the process on itself: it never
 * offers the daemon a session that it could not open, at whatever time the daemon comes. It is
 * linked without the runtime, the holds and the peers.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/activity.h"
#include "shim/config.h"
#include "shim/descriptor.h"
#include "shim/publish.h"

enum { UNKNOWN = CLIENT_SHM_RUNTIME_UNKNOWN, ENABLED = CLIENT_SHM_RUNTIME_ENABLED };
enum { NEVER = CLIENT_SHM_RUNTIME_NEVER, SESSION = CLIENT_SHM_OWN_SESSION };

static struct client_shm *shm;
static struct daemon_shm *daemon_shm;
static int wake_fd;

/* One thread: the lock of activity.c is not needed. */
void agent_lock(void)
{
}

void agent_unlock(void)
{
}

/* A daemon comes, and sleeps. */
static void daemon_comes(void)
{
	int fd = client_shm_create(CLIENT_SHM_VERSION, &shm);
	int daemon_fd = daemon_shm_create(CLIENT_SHM_VERSION, &daemon_shm);

	assert_true(fd >= 0 && daemon_fd >= 0);
	close(fd);
	close(daemon_fd);
	daemon_shm->asleep = 1;
	wake_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	link_shm_begin(shm, daemon_shm, wake_fd, 1);
}

/* Returns how often the daemon was woken since the last call. */
static unsigned wakes(void)
{
	uint64_t n = 0;

	return read(wake_fd, &n, sizeof(n)) == sizeof(n) ? (unsigned)n : 0;
}

static const struct {
	enum protocol_level level;
	int state, reason; /* of link_runtime() */
	bool session;	   /* of link_session(), as the next two */
	int error;
	bool by_updates;
	int runtime, runtime_errno, own; /* as published */
} cases[] = {
	{PROTOCOL_LEVEL_AUTO, ENABLED, 0, false, 0, false, ENABLED, 0, 0},
	{PROTOCOL_LEVEL_AUTO, NEVER, EBUSY, false, 0, false, NEVER, EBUSY, 0},
	{PROTOCOL_LEVEL_AUTO, ENABLED, 0, true, 0, false, UNKNOWN, 0, SESSION},
	{PROTOCOL_LEVEL_OBSERVE, ENABLED, 0, false, 0, false, UNKNOWN, 0, 0},
	{PROTOCOL_LEVEL_OBSERVE, NEVER, EBUSY, false, 0, false, UNKNOWN, 0, 0},
	{PROTOCOL_LEVEL_SELF, ENABLED, 0, true, 0, false, UNKNOWN, 0, SESSION},
	{PROTOCOL_LEVEL_SELF, ENABLED, 0, false, EPERM, false, NEVER, EPERM, 0},
	{PROTOCOL_LEVEL_SELF, ENABLED, 0, false, 0, true, UNKNOWN, 0, CLIENT_SHM_OWN_UPDATES},
	{PROTOCOL_LEVEL_SELF, NEVER, EOPNOTSUPP, false, 0, false, NEVER, EOPNOTSUPP, 0},
};

static void assert_published(unsigned i)
{
	assert_int_equal(shm->runtime, cases[i].runtime);
	assert_int_equal(shm->runtime_errno, cases[i].runtime_errno);
	assert_int_equal(shm->own_session, cases[i].own);
}

/* Both orders of the two reports, before and after a daemon has come. */
static void test_runtime_and_session(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		config.level = cases[i].level;
		config.observe = cases[i].level == PROTOCOL_LEVEL_OBSERVE;
		link_runtime((enum client_shm_runtime)cases[i].state, cases[i].reason);
		link_session(cases[i].session, cases[i].error, cases[i].by_updates);
		daemon_comes();
		assert_published(i);
		link_runtime(CLIENT_SHM_RUNTIME_UNKNOWN, 0);
		link_session(false, 0, false);
		assert_int_equal(shm->runtime, UNKNOWN);
		assert_int_equal(shm->own_session, 0);
		link_session(cases[i].session, cases[i].error, cases[i].by_updates);
		link_runtime((enum client_shm_runtime)cases[i].state, cases[i].reason);
		assert_published(i);
		link_shm_forget();
	}
}

static void test_daemon_is_woken_by_a_change(void **state)
{
	(void)state;
	config.level = PROTOCOL_LEVEL_AUTO;
	config.observe = false;
	daemon_comes();
	(void)wakes();
	link_session(true, 0, false);
	assert_int_equal(wakes(), 1);
	link_session(true, 0, false);
	assert_int_equal(wakes(), 0);
	daemon_shm->asleep = 0;
	link_session(false, 0, false);
	assert_int_equal(wakes(), 0);
	assert_int_equal(shm->own_session, 0);
	link_shm_forget();
}

/* A fork child begins with nothing. */
static void test_forgotten(void **state)
{
	(void)state;
	config.level = PROTOCOL_LEVEL_AUTO;
	link_runtime(CLIENT_SHM_RUNTIME_NEVER, EPERM);
	link_session(true, 0, false);
	link_shm_forget();
	daemon_comes();
	assert_int_equal(shm->runtime, UNKNOWN);
	assert_int_equal(shm->runtime_errno, 0);
	assert_int_equal(shm->own_session, 0);
	link_shm_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runtime_and_session),
		cmocka_unit_test(test_daemon_is_woken_by_a_change),
		cmocka_unit_test(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
