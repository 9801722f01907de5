// SPDX-License-Identifier: MIT
/* Proves how peers treat changes of a process: an exec, a fork, no queues (yet), no directory to
 * meet in, and notifications that got lost. */
#include "tests/lib/peers_play.h"

/* exec: the PID stays, but the files and the lock are new. */
static void another_program_in_the_same_process(void)
{
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	work();
	for (int i = 0; i < 5; i++) {
		send_word(&online, 'w');
		EVENTUALLY(is_held(), 2000);
		send_word(&online, 'x');
		EVENTUALLY(!is_held(), 2000); /* the new program has no work yet */
		EVENTUALLY(files_count(".lane") == 2 && files_count(".socket") == 2, 2000);
	}
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	send_word(&online, 'f');
	EVENTUALLY(!is_held(), 1000);
	end(&online, 0);
	clean();
}

/* A process without queues obstructs no peer, and its agent does not wake. */
static void without_queues_it_sleeps(void)
{
	unsigned long before = 1, after = 0;
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 1000);
	CHECK(fake_queue_destroy(&queue) == 0);
	EVENTUALLY(!is_held(), 1000);
	/* The agent may have been late with its last work. */
	for (int i = 0; i < 5 && before != after; i++) {
		fake_sleep_us(200000);
		before = agent_sleeps();
		for (int j = 0; j < 30; j++) /* more notifications than its socket can hold */
			send_word(&online, j % 2 ? 'w' : 'f');
		fake_sleep_us(100000);
		after = agent_sleeps();
	}
	CHECK(before == after);
	end(&online, SIGKILL);
	online = start("online", "", 0); /* its notification is lost, because the socket is full */
	send_word(&online, 'w');
	never_held();
	CHECK(fake_queue_create(&queue, AQL) == 0);
	work();
	EVENTUALLY(is_held(), 1000);
	end(&online, 0);
	clean();
}

/* A peer starts while the agent's thread is late, and its notification is lost, because the socket
 * is full. */
static void an_arrival_that_was_lost(void)
{
	struct process online, other;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	hold_cost_us = 500000;
	send_word(&online, 'w');
	EVENTUALLY(tries == 1, 1000);
	for (int i = 0; i < 30; i++)
		send_word(&online, i % 2 ? 'w' : 'f');
	other = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 3, 2000);
	EVENTUALLY(is_held(), 2000);
	hold_cost_us = 0;
	send_word(&online, 'f');
	EVENTUALLY(!is_held(), 2000);
	send_word(&other, 'w');
	EVENTUALLY(is_held(), 1000);
	end(&online, 0);
	end(&other, 0);
	clean();
}

/* A request begins while the process has no queue, beside a peer that it has not met, because it
 * does not listen without queues. A peer that works reads the files at each of its polls. */
static void a_request_before_the_first_queue(void)
{
	struct process online;

	prepare();
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 1, 2000);
	send_word(&online, 'd');
	fake_sleep_us(200000); /* until it has stopped listening */
	be("offline", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	never_held();
	send_word(&online, 'b');
	EVENTUALLY(is_held(), 1000);
	send_word(&online, 'e');
	EVENTUALLY(!is_held(), 1000);
	end(&online, 0);
	clean();
}

static void remove_from_shm(pid_t pid)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -f %s/%d-*; rmdir %s 2>/dev/null || :", directory,
		 (int)pid, directory);
	CHECK(system(command) == 0);
}

/* Real files of this user may be in this directory, too. A node number that no other process uses
 * keeps the test apart from them. */
static void meet_in_shm(const char *runtime)
{
	int own_node = (int)getpid() + 100000;
	struct process online;

	if (runtime)
		setenv("XDG_RUNTIME_DIR", runtime, 1);
	else
		unsetenv("XDG_RUNTIME_DIR");
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	snprintf(directory, sizeof(directory), "/dev/shm/kfdshim-%u", geteuid());
	be("offline", "", own_node);
	online = start("online", "", own_node);
	work();
	for (int i = 0; i < 3; i++) {
		send_word(&online, 'w');
		EVENTUALLY(is_held(), 2000);
		send_word(&online, 'f');
		EVENTUALLY(!is_held(), 1000);
	}
	CHECK(files_count(".lane") >= 2);
	end(&online, 0);
	remove_from_shm(online.pid);
	remove_from_shm(getpid());
}

static void without_a_runtime_dir(void)
{
	meet_in_shm(NULL);
}

static void with_a_runtime_dir_that_is_not_there(void)
{
	meet_in_shm("/nowhere/run");
}

/* As under su and sudo -E: nothing must be created in that directory, even if root could. */
static void with_a_runtime_directory_of_another_user(void)
{
	char theirs[] = "/tmp/kfdshim-theirs-XXXXXX", path[64];

	CHECK(mkdtemp(theirs) != NULL);
	if (geteuid() == 0)
		CHECK(chown(theirs, 65534, 65534) == 0);
	meet_in_shm(geteuid() == 0 ? theirs : "/");
	snprintf(path, sizeof(path), "%s/kfdshim", theirs);
	CHECK(access(path, F_OK) != 0 && errno == ENOENT);
	CHECK(rmdir(theirs) == 0);
}

/* The program can change its environment at any time. The values that count are those at the moment
 * when the process opened the GPU. */
static void an_environment_that_changes(void)
{
	struct process online;

	prepare();
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	unsetenv("XDG_RUNTIME_DIR");
	CHECK(fake_queue_create(&queue, AQL) == 0);
	EVENTUALLY(files_count(".lane") == 1, 2000);
	setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
	online = start("online", "", 0);
	last.kind = 1;
	work();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	end(&online, 0);
	clean();
}

static void a_child_is_another_process(void)
{
	struct process online;
	struct fake_queue own;
	int status;
	pid_t pid;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	work();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	pid = fork();
	if (pid == 0) {
		CHECK(fake_queue_create(&own, AQL) == 0);
		fake_ring(&own, NULL);
		EVENTUALLY(is_held(), 2000);
		CHECK(files_count(".lane") == 3);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(is_held());
	send_word(&online, 'f');
	EVENTUALLY(!is_held(), 1000);
	end(&online, 0);
	clean();
}

IN_CHILD(another_program_in_the_same_process)
IN_CHILD(without_queues_it_sleeps)
IN_CHILD(an_arrival_that_was_lost)
IN_CHILD(a_request_before_the_first_queue)
IN_CHILD(without_a_runtime_dir)
IN_CHILD(with_a_runtime_dir_that_is_not_there)
IN_CHILD(with_a_runtime_directory_of_another_user)
IN_CHILD(an_environment_that_changes)
IN_CHILD(a_child_is_another_process)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_program_in_the_same_process),
		cmocka_unit_test(test_without_queues_it_sleeps),
		cmocka_unit_test(test_an_arrival_that_was_lost),
		cmocka_unit_test(test_a_request_before_the_first_queue),
		cmocka_unit_test(test_without_a_runtime_dir),
		cmocka_unit_test(test_with_a_runtime_dir_that_is_not_there),
		cmocka_unit_test(test_with_a_runtime_directory_of_another_user),
		cmocka_unit_test(test_an_environment_that_changes),
		cmocka_unit_test(test_a_child_is_another_process),
	};

	play(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
