// SPDX-License-Identifier: MIT
/*
 * Proves: no packet and no content of a client's shared memory can kill the daemon, make it serve a
 * client with wrong data, or keep it from replying to others. The real daemon runs ($BUILD). Each
 * test ends with a correct request to the same worker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common/policy.h"
#include "common/wait.h"
#include "tests/lib/real.h"

/* Waits until the worker has at most `before` open files. A count taken right after a reply may
 * still include that reply's own files. */
static void none_is_saved(size_t before)
{
	EVENTUALLY(open_files() <= before);
}

static bool *enough; /* shared flag; clients that run without limit stop when it is set */

static int anew(void **state)
{
	(void)state;
	enough = shared_flag();
	return 0;
}

/* Sends the data and expects a refusal or the end of the connection. */
static void refused(const void *data, size_t size)
{
	struct protocol_welcome welcome;
	int fd = connect_daemon();
	int fds[PROTOCOL_WELCOME_FDS];
	size_t nfds = PROTOCOL_WELCOME_FDS;
	int error;

	(void)!send(fd, data, size, MSG_NOSIGNAL);
	error = protocol_receive(fd, &welcome, sizeof(welcome), fds, &nfds, 2000);
	if (error == 0) {
		assert_int_equal(nfds, 0);
		assert_true(welcome.status < 0);
		error = protocol_receive(fd, &welcome, sizeof(welcome), fds, &nfds, 2000);
	}
	assert_true(error == -ECONNRESET);
	close(fd);
}

static void wrong_packets(void **state)
{
	struct protocol_hello h;
	char bytes[4096];

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	for (size_t size = 1; size <= sizeof(bytes); size *= 2)
		refused(bytes, size);
	h = hello_of(PROTOCOL_SHIM, 2);
	refused(&h, sizeof(h) - 1);
	h.magic++;
	refused(&h, sizeof(h));
	h = hello_of(PROTOCOL_SHIM, 2);
	h.version++;
	refused(&h, sizeof(h));
	for (uint32_t kind = 0; kind < 10; kind++) {
		h = hello_of(kind, 2);
		if (kind == 0 || kind > PROTOCOL_RECENT)
			refused(&h, sizeof(h));
	}
	for (int i = 0; i < 5; i++) {
		const int priorities[] = {-2, 16, INT32_MAX, INT32_MIN, 99};

		h = hello_of(PROTOCOL_SHIM, priorities[i]);
		refused(&h, sizeof(h));
	}
	h = hello_of(PROTOCOL_SHIM, 2);
	memset(h.group, 'x', sizeof(h.group));
	refused(&h, sizeof(h));
}

/* Descriptors are refused by the kernel, or closed by the process that accepts connections. */
static void descriptors_are_refused(void **state)
{
	struct protocol_hello h = hello_of(PROTOCOL_SHIM, 2);
	struct protocol_welcome welcome;
	size_t before = open_files();
	int fds[8];
	int fd, error;

	(void)state;
	assert_true(before > 0);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 8; i++)
			fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		fd = connect_daemon();
		error = protocol_send(fd, &h, sizeof(h), fds, 8);
		if (!error)
			error = protocol_receive(fd, &welcome, sizeof(welcome), NULL, NULL, 5000);
		assert_true(error == -EPERM || error == -ECONNRESET);
		for (int i = 0; i < 8; i++)
			close(fds[i]);
		close(fd);
	}
	none_is_saved(before);
}

/* Returns the status of an order; > 0: there was no reply. */
static int control(const struct protocol_hello *h)
{
	int fd = connect_daemon(), rc;
	char *text = NULL;

	protocol_send(fd, h, sizeof(*h), NULL, 0);
	rc = protocol_receive_text(fd, &text, 1000, 5000);
	if (rc == -ECONNRESET)
		rc = 1;
	/* the reply to an order has a message, the reply to a malformed packet has none */
	if (text)
		assert_in_range(strlen(text), 10, 511);
	free(text);
	close(fd);
	return rc;
}

/* Sends an order about the process `pid`, whose pidfd is `pidfd`. */
static int control_process(struct protocol_hello *h, pid_t pid, int pidfd)
{
	struct stat st;

	assert_int_equal(fstat(pidfd, &st), 0);
	h->target_pid = pid;
	h->target_inode = st.st_ino;
	return control(h);
}

static void requests_without_sense(void **state)
{
	struct protocol_hello h = hello_of(PROTOCOL_CONTROL, 2);
	size_t before = open_files();
	int gone, ours, status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	gone = (int)syscall(SYS_pidfd_open, pid, 0);
	waitpid(pid, &status, 0);
	ours = (int)syscall(SYS_pidfd_open, getpid(), 0);
	assert_true(gone >= 0 && ours >= 0);
	for (h.op = 0; h.op < 10; h.op++) {
		h.target_pid = 0;
		assert_true(control(&h) == (h.op == PROTOCOL_POLICY ? 0 : -EINVAL));
		if (h.op < PROTOCOL_SUSPEND || h.op > PROTOCOL_PRIORITY)
			continue;
		h.target_pid = INT32_MIN;
		assert_int_equal(control(&h), -EINVAL);
		h.target_pid = INT32_MAX;
		assert_int_equal(control(&h), -ESRCH);
		assert_int_equal(control_process(&h, pid, gone), -ESRCH);
		/* the PID of one process and the pidfd of another */
		assert_int_equal(control_process(&h, getppid(), ours), -ESRCH);
		/* this process is not a workload, and has no GPU open for which it could be
		 * tagged */
		assert_int_equal(control_process(&h, getpid(), ours),
				 h.op == PROTOCOL_PRIORITY ? -ENODEV : -ESRCH);
	}
	h.op = PROTOCOL_SUSPEND;
	h.lease_s = UINT32_MAX;
	assert_int_equal(control_process(&h, getpid(), ours), -EINVAL);
	h = hello_of(PROTOCOL_CONTROL, -3);
	h.op = PROTOCOL_PRIORITY;
	assert_int_equal(control_process(&h, getpid(), ours), -EINVAL);
	h = hello_of(PROTOCOL_CONTROL, 2);
	h.op = PROTOCOL_POLICY;
	h.gpu_id = 4711;
	assert_int_equal(control(&h), -ENODEV);
	for (h.policy = 0, h.gpu_id = 0; h.policy < 10; h.policy++)
		for (h.share_percent = 0; h.share_percent < 200; h.share_percent += 99) {
			bool right = h.policy < POLICIES &&
				     h.share_percent == (h.policy == POLICY_share ? 99 : 0);

			assert_int_equal(control(&h), right ? 0 : -EINVAL);
		}
	srandom(12);
	for (int i = 0; i < 500; i++) {
		for (size_t at = 12; at < sizeof(h); at++)
			((char *)&h)[at] = (char)random();
		h.op = (uint32_t)i % 6;
		if (i % 2)
			h.target_pid = getpid();
		assert_true(control(&h) <= 0);
	}
	h = hello_of(PROTOCOL_CONTROL, 2);
	h.op = PROTOCOL_POLICY;
	assert_int_equal(control(&h), 0);
	close(gone);
	close(ours);
	none_is_saved(before);
}

/* Reads one event. Returns its number and adds its "lost" value to *count; returns 0 if there is no
 * event. */
static json_int_t next_event(int fd, json_int_t *lost)
{
	char text[PROTOCOL_EVENT_MAX];
	json_int_t number;
	json_t *event;
	ssize_t n;

	for (;;) {
		n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
		if (n <= 0)
			return 0;
		event = json_loadb(text, (size_t)n, 0, NULL);
		assert_non_null(event);
		number = json_integer_value(json_object_get(event, "number"));
		*lost += json_integer_value(json_object_get(event, "count"));
		json_decref(event);
		if (number)
			return number;
	}
}

static void a_reader_that_sleeps_loses_and_is_notified(void **state)
{
	struct protocol_hello h = hello_of(PROTOCOL_EVENTS, 2);
	struct protocol_welcome welcome;
	int readers[20], fd = connect_daemon();
	json_int_t number, last = 0, got = 0, lost = 0;

	(void)state;
	protocol_send(fd, &h, sizeof(h), NULL, 0);
	assert_int_equal(protocol_receive(fd, &welcome, sizeof(welcome), NULL, NULL, 2000), 0);
	assert_int_equal(welcome.status, 0);
	h = hello_of(PROTOCOL_CONTROL, 2);
	h.op = PROTOCOL_POLICY;
	for (int i = 0; i < 2000; i++)
		assert_int_equal(control(&h), 0);
	while ((number = next_event(fd, &lost)) != 0) {
		assert_true(number == last + 1 || last == 0);
		last = number;
		got++;
	}
	/* "lost" is reported in its place, before the next event. */
	assert_int_equal(control(&h), 0);
	for (int tries = 0; got + lost < 2002 && tries < 1000; tries++, sleep_ms(10))
		got += next_event(fd, &lost) != 0;
	sleep_ms(200);
	got += next_event(fd, &lost) != 0;
	assert_true(lost > 100);
	assert_int_equal(got + lost, 2002); /* one of them is the event that this reader listens */
	close(fd);
	/* 16 readers are accepted, and again after they have gone. */
	for (int round = 0; round < 2; round++) {
		sleep_ms(200);
		h = hello_of(PROTOCOL_EVENTS, 2);
		for (int i = 0; i < 20; i++) {
			readers[i] = connect_daemon();
			protocol_send(readers[i], &h, sizeof(h), NULL, 0);
			assert_int_equal(protocol_receive(readers[i], &welcome, sizeof(welcome),
							  NULL, NULL, 2000),
					 0);
			assert_int_equal(welcome.status, i < 16 ? 0 : -EUSERS);
		}
		for (int i = 0; i < 20; i++)
			close(readers[i]);
	}
}

static void silent_connections_are_dropped(void **state)
{
	struct protocol_welcome welcome;
	size_t before = open_files();
	int fds[200];

	(void)state;
	for (int i = 0; i < 200; i++)
		fds[i] = connect_daemon();
	assert_int_equal(query_worker(), worker);
	assert_int_equal(protocol_receive(fds[0], &welcome, sizeof(welcome), NULL, NULL, 10000),
			 -ECONNRESET);
	for (int i = 0; i < 200; i++)
		close(fds[i]);
	none_is_saved(before);
}

static void garbage(struct client_shm *shm, int wake)
{
	uint64_t one = 1;

	srandom(11);
	for (uint64_t end = clock_ns() + 1000000000u; clock_ns() < end;) {
		uint32_t *word = (uint32_t *)shm;

		for (size_t i = 0; i < sizeof(*shm) / sizeof(*word); i++)
			word[i] = random() % 3 ? (uint32_t)random() << 1 : UINT32_MAX;
		(void)!write(wake, &one, sizeof(one));
	}
}

static void garbage_in_client_shm(void **state)
{
	const int priorities[] = {-1, 0, 2, 15};
	pid_t pids[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		pids[i] = client(priorities[i], garbage);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(query_worker(), worker);
		sleep_ms(40);
	}
	for (int i = 0; i < 4; i++)
		ended_well(pids[i]);
}

#ifndef __SANITIZE_ADDRESS__
#define CAPPED_TRIES 500 /* 20 ms each, 10 s in all */

/* Writes as fast as it can, about a million times a second, and wakes the daemon now and then. */
static void restless(struct client_shm *shm, int wake)
{
	const uint64_t one = 1;

	shm->nodes[0].gpu_id = 1;
	for (uint32_t i = 0; i % 16 || !is_set(enough); i++) {
		__atomic_add_fetch(&shm->nodes[0].activity, 1, __ATOMIC_SEQ_CST);
		if (i % 64 == 0)
			(void)!write(wake, &one, sizeof(one));
	}
}

static size_t capped(void)
{
	json_t *wanted = query(), *one;
	size_t i, n = 0;

	assert_non_null(wanted);
	json_array_foreach(json_object_get(wanted, "processes"), i, one) n +=
		json_integer_value(json_object_get(one, "shm_scans_deferred")) > 0;
	json_decref(wanted);
	return n;
}

static void scans_of_restless_clients_are_limited(void **state)
{
	json_int_t scans = query_number("totals", "shm_scans");
	uint64_t begin = clock_ns(), ms;
	size_t named = log_lines("further updates are coalesced");
	pid_t pids[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		pids[i] = client(15, restless);
	for (int i = 0; capped() != 3; i++) {
		assert_in_range(i, 0, CAPPED_TRIES);
		sleep_ms(20);
	}
	sleep_ms(300); /* rate-limited for some time */
	set(enough);
	for (int i = 0; i < 3; i++)
		ended_well(pids[i]);
	ms = (clock_ns() - begin) / 1000000u + 1;
	scans = query_number("totals", "shm_scans") - scans;
	/* per client: a burst of 100 and 5 each millisecond */
	assert_in_range(scans, 300, 3 * (100 + 5 * ms));
	assert_int_equal(log_lines("further updates are coalesced") - named, 3);
}

/* An online client with 2,000 requests a second: it becomes active, or idle, 4,000 times a second.
 * It ends by itself. */
#define BRISK_CHANGES 2400u
static void brisk(struct client_shm *shm, int wake)
{
	const uint64_t one = 1;

	shm->nodes[0].gpu_id = 1;
	for (uint32_t i = 0; i < BRISK_CHANGES; i++) {
		__atomic_add_fetch(&shm->nodes[0].activity, 1, __ATOMIC_SEQ_CST);
		(void)!write(wake, &one, sizeof(one));
		sleep_ns(250000);
	}
	while (!is_set(enough))
		sleep_ms(10);
}

/* The begin of a request is seen late if the scan is deferred, and then it waits for the others'
 * suspension for longer. */
static void a_brisk_client_is_scanned_each_time(void **state)
{
	json_int_t scans = query_number("totals", "shm_scans");
	pid_t pid = client(15, brisk);

	(void)state;
	for (int i = 0; query_number("totals", "shm_scans") - scans < BRISK_CHANGES / 2; i++) {
		assert_in_range(i, 0, 500);
		sleep_ms(20);
	}
	assert_int_equal(capped(), 0);
	set(enough);
	ended_well(pid);
}
#endif

#define TEAR_NS 1500000000u

static struct client_shm *torn_shm;

/* Writes half an entry at a time, sometimes a valid one, and invalid sizes and counts. */
static void *tear(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;
	uint32_t *words = (uint32_t *)torn_shm->queues;
	const size_t n = sizeof(torn_shm->queues) / (sizeof(*words));

	while (!is_set(enough)) {
		client_shm_queue_write(
			torn_shm, (uint32_t)rand_r(&state) % CLIENT_SHM_QUEUES,
			&(struct client_shm_queue){.used = 1, .gpu_id = 1, .percent = 100});
		for (int i = 0; i < 100; i++)
			words[(size_t)rand_r(&state) % n] = (uint32_t)rand_r(&state) % 3;
		torn_shm->events_number = (uint64_t)rand_r(&state) << 40;
		torn_shm->queue_generation = (uint32_t)rand_r(&state);
		client_shm_node(torn_shm, (uint32_t)rand_r(&state) % CLIENT_SHM_NODES)->gpu_id =
			(uint32_t)rand_r(&state) % 2;
		torn_shm->teardown_begin = (uint32_t)rand_r(&state);
		torn_shm->hold_cmd_done = torn_shm->hold_cmd;
		torn_shm->hold_cmd_errno = -rand_r(&state);
	}
	return NULL;
}

static void torn(struct client_shm *shm, int wake)
{
	pthread_t threads[2];

	(void)wake;
	torn_shm = shm;
	shm->magic = 0;
	shm->size = UINT32_MAX;
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, tear, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void torn_shm_is_reported_as_far_as_possible(void **state)
{
	pid_t pid;
	json_t *wanted;

	(void)state;
	level = PROTOCOL_LEVEL_GATE;
	pid = client(2, torn);
	level = 0;
	EVENTUALLY(process_count() == 1);
	for (uint64_t end = clock_ns() + TEAR_NS; clock_ns() < end; sleep_ms(20)) {
		wanted = query_of(pid);
		assert_non_null(wanted);
		assert_true(json_array_size(json_object_get(json_object_get(wanted, "client_shm"),
							    "queues")) <= CLIENT_SHM_QUEUES);
		json_decref(wanted);
	}
	set(enough);
	ended_well(pid);
}

static void wake_fd_is_abused(struct client_shm *shm, int wake)
{
	uint64_t most = UINT64_MAX - 1, value;

	(void)shm;
	/* blocking mode, which every process with this open file then has */
	fcntl(wake, F_SETFL, 0);
	(void)!write(wake, &most, sizeof(most));
	sleep_ms(100);
	fcntl(wake, F_SETFL, O_NONBLOCK);
	(void)!read(wake, &value, sizeof(value));
	fcntl(wake, F_SETFL, 0);
	sleep_ms(300);
}

static void the_wake_descriptor_harms_no_client(void **state)
{
	pid_t pid = client(15, wake_fd_is_abused);

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(query_worker(), worker);
		sleep_ms(40);
	}
	ended_well(pid);
}

static void wait_long(struct client_shm *shm, int wake)
{
	(void)shm;
	(void)wake;
	while (!is_set(enough))
		sleep_ms(10);
}

static void become_active(struct client_shm *shm, int wake)
{
	const uint64_t one = 1;

	client_shm_node_set(shm, (uint32_t)client_shm_node_slot(shm, 4711), true, clock_ns());
	(void)!write(wake, &one, sizeof(one));
}

static void be_active(struct client_shm *shm, int wake)
{
	become_active(shm, wake);
	wait_long(shm, wake);
}

static bool is_hold_cmd(const struct client_shm *shm)
{
	return __atomic_load_n(&shm->hold_cmd, __ATOMIC_SEQ_CST) != 0;
}

/* Never reads the wake packets that it receives. */
static void be_deaf(struct client_shm *shm, int wake)
{
	become_active(shm, wake);
	for (int i = 0; i < 1000 && !is_hold_cmd(shm); i++)
		sleep_ms(10);
	if (!is_hold_cmd(shm)) /* the daemon did not even send an order */
		_exit(1);
	sleep_ms(500); /* time for further packets of the daemon */
}

static void unread_wakes_harm_no_client(void **state)
{
	pid_t held, urgent;

	(void)state;
	level = PROTOCOL_LEVEL_GATE;
	held = client(2, be_deaf);
	level = 0;
	urgent = client(15, be_active);
	ended_well(held);
	set(enough);
	ended_well(urgent);
}

static void death_is_seen_through_a_forked_child(void **state)
{
	int to_it[2], to_its_child[2];
	char any;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(to_it, O_CLOEXEC), 0);
	assert_int_equal(pipe2(to_its_child, O_CLOEXEC), 0);
	EVENTUALLY(process_count() == 0);
	pid = fork();
	if (pid == 0) {
		/* The client ends when `to_it` is closed. Its child keeps the socket open until
		 * `to_its_child` is. */
		struct protocol_hello h = hello_of(PROTOCOL_SHIM, 2);
		int fd = protocol_connect(path);

		close(to_it[1]);
		close(to_its_child[1]);
		protocol_send(fd, &h, sizeof(h), NULL, 0);
		(void)!read(to_it[0], &any, 1);
		if (fork() == 0)
			(void)!read(to_its_child[0], &any, 1);
		_exit(0);
	}
	close(to_it[0]);
	close(to_its_child[0]);
	EVENTUALLY(process_count() == 1);
	close(to_it[1]);
	ended_well(pid);
	EVENTUALLY(process_count() == 0);
	close(to_its_child[1]);
}

static void a_client_that_connects_again_replaces_itself(void **state)
{
	struct protocol_hello h = hello_of(PROTOCOL_SHIM, 2);
	struct protocol_welcome welcome;
	int fds[PROTOCOL_WELCOME_FDS];
	int first, second;
	size_t nfds = PROTOCOL_WELCOME_FDS;

	(void)state;
	first = connect_daemon();
	protocol_send(first, &h, sizeof(h), NULL, 0);
	second = connect_daemon();
	sleep_ms(100);
	protocol_send(second, &h, sizeof(h), NULL, 0);
	assert_int_equal(protocol_receive(second, &welcome, sizeof(welcome), fds, &nfds, 2000), 0);
	assert_int_equal(nfds, PROTOCOL_WELCOME_FDS);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	assert_int_equal(process_count(), 1);
	close(first);
	close(second);
	sleep_ms(100);
	/* The end of the connection does not count as the end of the process. */
	assert_int_equal(process_count(), 1);
}

static void many_clients(void **state)
{
	pid_t pids[60];

	(void)state;
	for (int i = 0; i < 60; i++)
		pids[i] = client(i % 16, wait_long);
	EVENTUALLY(process_count() >= 60);
	set(enough);
	for (int i = 0; i < 60; i++)
		ended_well(pids[i]);
	EVENTUALLY(process_count() <= 1);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, anew, unharmed)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(wrong_packets),
		HERE(descriptors_are_refused),
		HERE(requests_without_sense),
		HERE(a_reader_that_sleeps_loses_and_is_notified),
		HERE(silent_connections_are_dropped),
		HERE(garbage_in_client_shm),
#ifndef __SANITIZE_ADDRESS__ /* with a sanitizer the worker may be slower than the limit */
		HERE(scans_of_restless_clients_are_limited),
		HERE(a_brisk_client_is_scanned_each_time),
#endif
		HERE(torn_shm_is_reported_as_far_as_possible),
		HERE(the_wake_descriptor_harms_no_client),
		HERE(unread_wakes_harm_no_client),
		HERE(death_is_seen_through_a_forked_child),
		HERE(a_client_that_connects_again_replaces_itself),
		HERE(many_clients),
	};

	if (!getenv("BUILD")) {
		fprintf(stderr, "usage: BUILD=folder-of-kfdschedd daemon_hostile\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, start, stop);
}
