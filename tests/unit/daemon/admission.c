// SPDX-License-Identifier: MIT
/*
 * Proves: the worker admits connections from the channel up to its number of slots; the next one
 * gets a reply, is closed and counted. A connection that has ended stays counted until its client
 * has read what was sent to it. A client sees the end of such a connection at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "scheduler/daemon/admission/admission.h"
#include "scheduler/daemon/config/match_rules.h"

#define SECOND UINT64_C(1000000000)

static struct admission admission;
static struct owners owners;
static struct admitted admitted;
static uint64_t refused;
static int channel[2];

static int open_admission(void **state)
{
	(void)state;
	memset(&admission, 0, sizeof(admission));
	refused = 0;
	admission_open(&admission, &refused);
	admission.users.slots = 1;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel);
}

static int close_admission(void **state)
{
	(void)state;
	close(channel[0]);
	close(channel[1]);
	return close(admission.reserve);
}

static int take(void)
{
	return admission_take(&admission, channel[0], &owners, SECOND, &admitted);
}

/* Plays kfdschedd-door, which passes a connection on. Returns the client's end. */
static int come(void)
{
	struct admission_message message = {.accepted_ns = 5};
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	assert_int_equal(protocol_send(channel[1], &message, sizeof(message), &ends[0], 1), 0);
	close(ends[0]);
	return ends[1];
}

static void slots_are_counted(void **state)
{
	struct protocol_welcome welcome;
	struct admitted kept;
	int first = come(), second = come();

	(void)state;
	assert_int_equal(take(), 1);
	assert_int_equal(admitted.message.accepted_ns, 5);
	assert_int_equal(admitted.owner, getuid());
	kept = admitted;
	assert_int_equal(take(), 0);
	assert_int_equal(take(), -EAGAIN);
	assert_int_equal(refused, 1);
	assert_int_equal(admission.users.taken, 1);
	assert_int_equal(protocol_receive(second, &welcome, sizeof(welcome), NULL, NULL, 0), 0);
	assert_int_equal(welcome.status, -ENOSPC);
	assert_int_equal(read(second, &welcome, 1), 0); /* closed */
	admission_left(&admission, kept.owner, kept.socket, SECOND);
	assert_int_equal(admission.users.taken, 0);
	close(first);
	close(second);
}

static void unread_reply_keeps_the_slot(void **state)
{
	int client = come();
	char text[8];

	(void)state;
	assert_int_equal(take(), 1);
	assert_int_equal(write(admitted.socket, "reply", 5), 5);
	admission_left(&admission, admitted.owner, admitted.socket, SECOND);
	admission_check(&admission, 2 * SECOND);
	assert_int_equal(admission.users.taken, 1);
	assert_int_equal(admission.users.entries[0].connections, 1);
	assert_int_equal(read(client, text, sizeof(text)), 5);
	assert_int_equal(read(client, text, sizeof(text)), 0);
	admission_check(&admission, 2 * SECOND); /* too early for the next check */
	assert_int_equal(admission.users.taken, 1);
	admission_check(&admission, 3 * SECOND);
	assert_int_equal(admission.users.taken, 0);
	assert_int_equal(admission.users.entries[0].connections, 0);
	close(client);
}

static void end_of_the_client_frees_the_slot(void **state)
{
	int client = come();

	(void)state;
	assert_int_equal(take(), 1);
	assert_int_equal(write(admitted.socket, "reply", 5), 5);
	admission_left(&admission, admitted.owner, admitted.socket, SECOND);
	close(client);
	admission_check(&admission, 2 * SECOND);
	assert_int_equal(admission.users.taken, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(slots_are_counted, open_admission, close_admission),
		cmocka_unit_test_setup_teardown(unread_reply_keeps_the_slot, open_admission,
						close_admission),
		cmocka_unit_test_setup_teardown(end_of_the_client_frees_the_slot, open_admission,
						close_admission),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
