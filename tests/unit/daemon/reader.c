// SPDX-License-Identifier: MIT
/*
 * Proves, with a stub of kfdschedd-read at the other end of the connection:
 *  - No call waits for a reply. The requesting code gets the reply when it runs again, and runs
 *    again until it has no open request.
 *  - Requests are sent one at a time, even if the code that made the request has gone.
 *  - A reply to an earlier request is ignored.
 *  - A reader that runs is waited for. A reader that sleeps or is stopped is marked to be killed.
 *  - After that the user of the process that was read (or the owner of its subordinate uid) is not
 *    read for a while; other users are. Of a trusted user only that process is not read.
 *  - Short waits add up. Waits are counted in checks, not in time, so that no user is blamed if the
 *    loop itself had no core.
 *  - While a killed reader ends, no other user is blocked, and its successor gets the request.
 *  - While there is no reader, no request is made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/daemon/log.h"
#include "scheduler/daemon/reader/reader.h"

#define USER (geteuid() + 1) /* not geteuid(), because the daemon's own user is trusted */
#define SUBORDINATE 3000000005u
#define FRIEND (geteuid() + 2)
#define SAME 64u     /* requesters whose numbers differ by this share one hash list */
#define SHORT 10u    /* checks: below the limit, above a third of it */
#define ABSENT_MS 30 /* longer than the limit */

/* Reaction of the stub reader to a request about a process. */
enum play {
	PLAY_REPLY,
	PLAY_OLD,   /* replies to an earlier request first */
	PLAY_WAIT,  /* never replies */
	PLAY_SHORT, /* replies at check number SHORT */
};

static struct {
	int ends[2], wake;
	struct reader_state state;
	enum play play;
	char process_state; /* state of the reader process in /proc */
	uint64_t waits;	    /* number of the request that waits for a reply */
	unsigned checks;    /* checks of the reader's state since the request */
	unsigned absent_at; /* after this number of checks the loop has no core for ABSENT_MS */
	uint64_t now_ns;    /* time of the loop's iteration */
	pid_t read_pid;
	uid_t uid;	/* reply of peer_uid() for every process */
	unsigned taken; /* number of requests received */
	pthread_t thread;
} played;

static struct owners owners;

char __wrap_peer_state(pid_t pid);
uid_t __wrap_peer_uid(pid_t pid);

static void reply(uint64_t number, int32_t result)
{
	const struct reader_reply given = {.number = number, .result = result};

	assert_int_equal(write(played.ends[1], &given, sizeof(given)), sizeof(given));
}

static void reply_to_the_one_that_waits(void)
{
	uint64_t number;

	do
		number = __atomic_exchange_n(&played.waits, 0, __ATOMIC_ACQ_REL);
	while (!number);
	reply(number, played.read_pid);
}

char __wrap_peer_state(pid_t pid)
{
	(void)pid;
	if (++played.checks == played.absent_at)
		usleep(ABSENT_MS * 1000);
	if (played.checks == SHORT && __atomic_load_n(&played.play, __ATOMIC_ACQUIRE) == PLAY_SHORT)
		reply_to_the_one_that_waits();
	return __atomic_load_n(&played.process_state, __ATOMIC_ACQUIRE);
}

uid_t __wrap_peer_uid(pid_t pid)
{
	(void)pid;
	return played.uid;
}

void log_line(enum log_priority priority, const char *format, ...)
{
	(void)priority, (void)format;
}

static void *play(void *unused)
{
	struct reader_request request;

	(void)unused;
	while (read(played.ends[1], &request, sizeof(request)) == sizeof(request)) {
		enum play how = __atomic_load_n(&played.play, __ATOMIC_ACQUIRE);

		__atomic_fetch_add(&played.taken, 1, __ATOMIC_ACQ_REL);
		if (how == PLAY_SHORT)
			__atomic_store_n(&played.waits, request.number, __ATOMIC_RELEASE);
		if (how == PLAY_WAIT || how == PLAY_SHORT)
			continue;
		if (how == PLAY_OLD)
			reply(request.number - 1, 4711);
		reply(request.number, request.pid);
	}
	return NULL;
}

static int begin(void **state)
{
	(void)state;
	memset(&played, 0, sizeof(played));
	owners.count = 1;
	owners.ranges[0].owner = USER;
	owners.ranges[0].first = SUBORDINATE - 5;
	owners.ranges[0].count = 10;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, played.ends) < 0)
		return -1;
	played.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	played.now_ns = 1000000000u;
	played.state.pid = getpid();
	played.process_state = 'R';
	played.uid = USER;
	reader_use(played.ends[0], &played.state, played.wake, &owners);
	return pthread_create(&played.thread, NULL, play, NULL);
}

static int end(void **state)
{
	(void)state;
	shutdown(played.ends[0], SHUT_RDWR);
	pthread_join(played.thread, NULL);
	close(played.ends[0]);
	close(played.ends[1]);
	close(played.wake);
	return 0;
}

static void plays(enum play how, char process_state)
{
	__atomic_store_n(&played.play, how, __ATOMIC_RELEASE);
	__atomic_store_n(&played.process_state, process_state, __ATOMIC_RELEASE);
}

/* Runs the requesting code once. Returns the PID if the reply is there, else -EINPROGRESS. */
static pid_t run(uint64_t asker, pid_t pid)
{
	pid_t result;

	reader_begin(asker);
	result = reader_number(pid, 1);
	assert_int_equal(reader_waits(), result == -EINPROGRESS);
	assert_int_equal(reader_end(), result == -EINPROGRESS);
	return result;
}

/* Runs loop iterations until a reply has come. Returns its requester; 0: none will come. */
static uint64_t turns(void)
{
	uint64_t asker;

	reader_step(played.now_ns);
	while ((asker = reader_replied()) == 0) {
		/* Wait for a reply, or for the next check of the reader's state. */
		struct pollfd p = {.fd = played.ends[0], .events = POLLIN};

		if (reader_next() == UINT64_MAX)
			return 0;
		if (poll(&p, 1, 1) == 0)
			played.now_ns = reader_next();
		reader_step(played.now_ns);
	}
	return asker;
}

static bool reads(pid_t pid, uid_t uid)
{
	pid_t result;

	played.uid = uid;
	played.read_pid = pid;
	played.checks = 0;
	assert_int_equal(run(7, pid), -EINPROGRESS);
	assert_int_equal(turns(), 7);
	result = run(7, pid);
	assert_true(result == pid || result == -EAGAIN);
	return result == pid;
}

static bool is_to_be_killed(void)
{
	uint64_t count;

	return played.state.stuck == played.state.pid &&
	       read(played.wake, &count, sizeof(count)) == sizeof(count);
}

/* Simulates the watchdog: the reader was killed and its successor has started. */
static void another(void)
{
	assert_true(is_to_be_killed());
	__atomic_store_n(&played.state.stuck, 0, __ATOMIC_RELEASE);
	played.state.pid = played.state.pid == getpid() ? getppid() : getpid();
	plays(PLAY_REPLY, 'R');
}

static void an_old_reply_is_not_taken(void **state)
{
	(void)state;
	plays(PLAY_OLD, 'R');
	assert_true(reads(10, USER));
	assert_true(reads(11, USER));
}

static void a_reader_that_runs_is_waited_for(void **state)
{
	(void)state;
	plays(PLAY_WAIT, 'R');
	assert_false(reads(10, USER));
	assert_int_equal(played.state.stuck, 0);
	plays(PLAY_REPLY, 'R');
	assert_true(reads(10, USER));
}

static void a_user_that_makes_it_wait_is_left_alone(void **state)
{
	(void)state;
	plays(PLAY_WAIT, 'D');
	assert_false(reads(10, SUBORDINATE));
	another();
	assert_false(reads(11, USER));
	assert_false(reads(12, SUBORDINATE + 1));
	assert_true(reads(13, FRIEND));
	assert_int_equal(played.taken, 2);
}

static void of_root_only_the_process_is(void **state)
{
	(void)state;
	plays(PLAY_WAIT, 'D');
	assert_false(reads(10, 0));
	another();
	assert_false(reads(10, 0));
	assert_true(reads(11, 0));
}

/* An interruptible sleep counts as waiting, too. */
static void a_sleep_is_a_wait(void **state)
{
	(void)state;
	plays(PLAY_WAIT, 'S');
	assert_false(reads(10, USER));
	assert_true(is_to_be_killed());
}

static void short_waits_add_up(void **state)
{
	unsigned reads_done = 0;

	(void)state;
	plays(PLAY_SHORT, 'D');
	while (reads_done < 10 && reads(10, USER))
		reads_done++;
	assert_in_range(reads_done, 1, 2);
	plays(PLAY_REPLY, 'R');
	assert_false(reads(10, USER));
	assert_true(reads(11, FRIEND));
}

static void a_loop_without_a_core_is_no_wait(void **state)
{
	(void)state;
	plays(PLAY_SHORT, 'D');
	played.absent_at = 1;
	assert_true(reads(10, USER));
	plays(PLAY_REPLY, 'R');
	assert_true(reads(10, USER));
}

static void while_it_ends_no_other_user_is_blamed(void **state)
{
	(void)state;
	plays(PLAY_WAIT, 'D');
	assert_false(reads(10, USER));
	played.uid = FRIEND;
	assert_int_equal(run(8, 11), -EINPROGRESS);
	for (unsigned i = 0; i < 100; i++) {
		reader_step(played.now_ns);
		played.now_ns = reader_next();
	}
	assert_int_equal(reader_replied(), 0);
	while (__atomic_load_n(&played.taken, __ATOMIC_ACQUIRE) < 2)
		usleep(1000); /* until the reader that is ending has received the request */
	another();
	assert_int_equal(turns(), 8);
	assert_int_equal(run(8, 11), 11);
	assert_true(reads(12, FRIEND));
}

/* Replies to earlier requests stay available in the run that makes the next request. */
static void a_run_has_all_its_replies(void **state)
{
	(void)state;
	for (unsigned replies = 0; replies < 3; replies++) {
		reader_begin(7);
		assert_int_equal(reader_number(10, 1), replies > 0 ? 10 : -EINPROGRESS);
		if (replies > 0)
			assert_int_equal(reader_number(11, 1), replies > 1 ? 11 : -EINPROGRESS);
		assert_int_equal(reader_end(), replies < 2);
		if (replies < 2)
			assert_int_equal(turns(), 7);
	}
	/* a new sequence of runs begins without replies */
	assert_int_equal(run(7, 10), -EINPROGRESS);
}

static void replies_go_to_their_request(void **state)
{
	(void)state;
	assert_int_equal(run(7, 10), -EINPROGRESS);
	assert_int_equal(run(7 + SAME, 10), -EINPROGRESS);
	assert_int_equal(run(7 + 2 * SAME, 12), -EINPROGRESS);
	reader_forget(7 + SAME);
	assert_int_equal(turns(), 7);
	assert_int_equal(run(7 + SAME, 10), -EINPROGRESS); /* not the reply to requester 7 */
	assert_int_equal(turns(), 7 + 2 * SAME);
	assert_int_equal(turns(), 7 + SAME);
	assert_int_equal(turns(), 0);
	assert_int_equal(run(7 + 2 * SAME, 12), 12);
	assert_int_equal(run(7, 10), 10);
}

/* If the requester is forgotten while the reader waits, the reader is still checked and
 * replaced. */
static void a_forgotten_request_is_checked(void **state)
{
	(void)state;
	plays(PLAY_WAIT, 'D');
	assert_int_equal(run(7, 10), -EINPROGRESS);
	reader_step(played.now_ns);
	reader_forget(7);
	assert_int_equal(turns(), 0);
	another();
	assert_true(reads(11, FRIEND));
}

static void outside_of_a_run_nothing_is_queried(void **state)
{
	(void)state;
	assert_int_equal(reader_number(10, 1), -EAGAIN);
	assert_int_equal(turns(), 0);
	assert_int_equal(played.taken, 0);
}

static void without_a_reader_nothing_is_queried(void **state)
{
	(void)state;
	__atomic_store_n(&played.state.pid, -1, __ATOMIC_RELEASE);
	assert_false(reads(10, USER));
	__atomic_store_n(&played.state.pid, getpid(), __ATOMIC_RELEASE);
	assert_true(reads(11, USER));
	assert_int_equal(played.taken, 1);
}

static void a_stopped_reader_is_replaced(void **state)
{
	(void)state;
	plays(PLAY_WAIT, 'T');
	assert_false(reads(10, USER));
	another();
	assert_true(reads(10, USER));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_old_reply_is_not_taken),
		TEST(a_reader_that_runs_is_waited_for),
		TEST(a_user_that_makes_it_wait_is_left_alone),
		TEST(of_root_only_the_process_is),
		TEST(a_sleep_is_a_wait),
		TEST(short_waits_add_up),
		TEST(a_loop_without_a_core_is_no_wait),
		TEST(while_it_ends_no_other_user_is_blamed),
		TEST(a_run_has_all_its_replies),
		TEST(replies_go_to_their_request),
		TEST(a_forgotten_request_is_checked),
		TEST(outside_of_a_run_nothing_is_queried),
		TEST(without_a_reader_nothing_is_queried),
		TEST(a_stopped_reader_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
