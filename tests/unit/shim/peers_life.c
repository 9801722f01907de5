// SPDX-License-Identifier: MIT
/* What becomes of a process among peers: another program, a child, no queues (yet), no
 * folder to meet in, news that got lost. */
#include "tests/lib/peers_play.h"

/* The same pid; other files, another lock. */
static void another_program_in_the_same_process(void)
{
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	work();
	for (int i = 0; i < 5; i++) {
		tell(&online, 'w');
		EVENTUALLY(is_held(), 2000);
		tell(&online, 'x');
		EVENTUALLY(!is_held(), 2000); /* it has no work yet */
		EVENTUALLY(files_count(".lane") == 2 && files_count(".socket") == 2, 2000);
	}
	tell(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	tell(&online, 'f');
	EVENTUALLY(!is_held(), 1000);
	end(&online, 0);
	clean();
}

/* Whoever has no queue is in nobody's way, and asks for nothing. */
static void without_queues_it_sleeps(void)
{
	unsigned long before = 1, after = 0;
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	tell(&online, 'w');
	EVENTUALLY(is_held(), 1000);
	CHECK(fake_queue_destroy(&queue) == 0);
	EVENTUALLY(!is_held(), 1000);
	/* It may have been late with the last of it. */
	for (int i = 0; i < 5 && before != after; i++) {
		fake_sleep_us(200000);
		before = agent_sleeps();
		for (int j = 0; j < 30; j++) /* more than its socket takes */
			tell(&online, j % 2 ? 'w' : 'f');
		fake_sleep_us(100000);
		after = agent_sleeps();
	}
	CHECK(before == after);
	end(&online, SIGKILL);
	online = start("online", "", 0); /* which finds no room to say so */
	tell(&online, 'w');
	never_held();
	CHECK(fake_queue_create(&queue, AQL) == 0);
	work();
	EVENTUALLY(is_held(), 1000);
	end(&online, 0);
	clean();
}

/* One that comes while our thread is late, and finds no room to say so. */
static void an_arrival_that_was_lost(void)
{
	struct process online, other;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	hold_cost_us = 500000;
	tell(&online, 'w');
	EVENTUALLY(tries == 1, 1000);
	for (int i = 0; i < 30; i++)
		tell(&online, i % 2 ? 'w' : 'f');
	other = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 3, 2000);
	EVENTUALLY(is_held(), 2000);
	hold_cost_us = 0;
	tell(&online, 'f');
	EVENTUALLY(!is_held(), 2000);
	tell(&other, 'w');
	EVENTUALLY(is_held(), 1000);
	end(&online, 0);
	end(&other, 0);
	clean();
}

/* A request that begins when it has no queue, before somebody of whom it does not know,
 * for without queues it does not listen: who works looks, at each of its samples. */
static void a_request_before_the_first_queue(void)
{
	struct process online;

	prepare();
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 1, 2000);
	tell(&online, 'd');
	be("offline", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	never_held();
	tell(&online, 'b');
	EVENTUALLY(is_held(), 1000);
	tell(&online, 'e');
	EVENTUALLY(!is_held(), 1000);
	end(&online, 0);
	clean();
}

static void remove_from_shm(pid_t pid)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -f %s/%d-*; rmdir %s 2>/dev/null || :", folder,
		 (int)pid, folder);
	CHECK(system(command) == 0);
}

/* Real ones of this user may be there too; a node that nobody else has keeps us apart. */
static void meet_in_shm(const char *runtime)
{
	int own_node = (int)getpid() + 100000;
	struct process online;

	if (runtime)
		setenv("XDG_RUNTIME_DIR", runtime, 1);
	else
		unsetenv("XDG_RUNTIME_DIR");
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	snprintf(folder, sizeof(folder), "/dev/shm/kfdshim-%u", geteuid());
	be("offline", "", own_node);
	online = start("online", "", own_node);
	work();
	for (int i = 0; i < 3; i++) {
		tell(&online, 'w');
		EVENTUALLY(is_held(), 2000);
		tell(&online, 'f');
		EVENTUALLY(!is_held(), 1000);
	}
	CHECK(files_count(".lane") >= 2);
	end(&online, 0);
	remove_from_shm(online.pid);
	remove_from_shm(getpid());
}

static void without_a_runtime_folder(void)
{
	meet_in_shm(NULL);
}

static void with_a_runtime_folder_that_is_not_there(void)
{
	meet_in_shm("/nowhere/run");
}

/* As under su, and under sudo -E: there nothing may be made, though root could. */
static void with_a_runtime_folder_of_somebody_else(void)
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

/* The program may change its environment whenever it likes: what counts is what it was
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
	setenv("XDG_RUNTIME_DIR", runtime_folder, 1);
	online = start("online", "", 0);
	last.kind = 1;
	work();
	tell(&online, 'w');
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
	tell(&online, 'w');
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
	tell(&online, 'f');
	EVENTUALLY(!is_held(), 1000);
	end(&online, 0);
	clean();
}

IN_CHILD(another_program_in_the_same_process)
IN_CHILD(without_queues_it_sleeps)
IN_CHILD(an_arrival_that_was_lost)
IN_CHILD(a_request_before_the_first_queue)
IN_CHILD(without_a_runtime_folder)
IN_CHILD(with_a_runtime_folder_that_is_not_there)
IN_CHILD(with_a_runtime_folder_of_somebody_else)
IN_CHILD(an_environment_that_changes)
IN_CHILD(a_child_is_another_process)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_program_in_the_same_process),
		cmocka_unit_test(test_without_queues_it_sleeps),
		cmocka_unit_test(test_an_arrival_that_was_lost),
		cmocka_unit_test(test_a_request_before_the_first_queue),
		cmocka_unit_test(test_without_a_runtime_folder),
		cmocka_unit_test(test_with_a_runtime_folder_that_is_not_there),
		cmocka_unit_test(test_with_a_runtime_folder_of_somebody_else),
		cmocka_unit_test(test_an_environment_that_changes),
		cmocka_unit_test(test_a_child_is_another_process),
	};

	play(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
