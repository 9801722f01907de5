// SPDX-License-Identifier: MIT
/* Proves, without a daemon: which process holds itself for which peer, and that files of peers with
 * wrong content do no harm. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "tests/lib/peers_play.h"
#include "tests/lib/shim_stub_daemon.h"

static void held_while_a_higher_one_is_active(void)
{
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	never_held();
	held_while_it_works(&online, 20);
	end(&online, 0);
	clean();
}

static void a_lower_one_holds_no_peer(void)
{
	struct process other;

	prepare();
	be("5", "", 0);
	other = start("5", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	send_word(&other, 'w');
	never_held();
	end(&other, 0);
	other = start("offline", "", 0);
	send_word(&other, 'w');
	never_held();
	end(&other, 0);
	clean();
}

/* A process without a priority takes no part, neither as the holder nor as the held one, and makes
 * no files. */
static void without_priority_no_part(void)
{
	struct process other;

	prepare();
	be("offline", "", 0);
	EVENTUALLY(files_count(".lane") == 1, 2000);
	other = start("", "", 0);
	work();
	send_word(&other, 'w');
	never_held();
	CHECK(files_count(".lane") == 1 && files_count(".socket") == 1);
	end(&other, 0);
	clean();
}

static void nothing_in_flight_nothing_held(void)
{
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	send_word(&online, 'w');
	never_held();
	work();
	EVENTUALLY(is_held(), 1000);
	end(&online, 0);
	clean();
}

static void a_priority_of_run_time(void)
{
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	work();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	send_word(&online, 'o');
	EVENTUALLY(!is_held(), 1000);
	CHECK(files_count(".lane") == 2);
	end(&online, 0);
	online = start("5", "", 0);
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	prefer(6);
	EVENTUALLY(!is_held(), 1000);
	end(&online, 0);
	clean();
}

static void another_node_is_no_matter(void)
{
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", OTHER_GPU);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	send_word(&online, 'w');
	never_held();
	end(&online, 0);
	clean();
}

static void a_dead_one_holds_no_peer(void)
{
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	work();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	end(&online, SIGKILL);
	EVENTUALLY(!is_held(), 1000);
	EVENTUALLY(files_count(".lane") == 1 && files_count(".socket") == 1, 1000);
	online = start("online", "", 0);
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	end(&online, SIGKILL);
	clean();
}

/* A stopped peer (SIGSTOP, a debugger) still counts. */
static void a_stopped_one_is_still_there(void)
{
	struct process online;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	work();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	kill(online.pid, SIGSTOP);
	fake_sleep_us(300000);
	CHECK(is_held());
	end(&online, SIGKILL);
	clean();
}

static void a_group_is_one_gang(void)
{
	struct process here, there;

	prepare();
	be("offline", "", 0);
	here = start("online", "ranks", 0);
	there = start("online", "ranks", OTHER_GPU);
	EVENTUALLY(files_count(".lane") == 3, 2000);
	work();
	never_held();
	send_word(&there, 'w'); /* its group has queues on this node */
	EVENTUALLY(is_held(), 1000);
	send_word(&there, 'f');
	EVENTUALLY(!is_held(), 1000);
	end(&here, 0);
	end(&there, 0);
	clean();
}

/* A rank that is held makes the others spin, so all members of the group are held. */
static void a_group_is_held_as_one(void)
{
	struct process rank, online;

	prepare();
	be("offline", "ranks", 0);
	rank = start("offline", "ranks", OTHER_GPU);
	online = start("online", "", OTHER_GPU);
	EVENTUALLY(files_count(".lane") == 3, 2000);
	work();
	never_held();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 1000);
	send_word(&online, 'f');
	EVENTUALLY(!is_held(), 1000);
	end(&rank, 0);
	end(&online, 0);
	clean();
}

static void ones_own_group_holds_no_peer(void)
{
	struct process rank;

	prepare();
	be("offline", "ranks", 0);
	rank = start("online", "ranks", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	send_word(&rank, 'w');
	never_held();
	end(&rank, 0);
	clean();
}

/* A daemon starts, hangs, starts again, and dies. */
static void daemons_come_and_go(void)
{
	struct fake_daemon daemon;
	struct process online;
	uint64_t heartbeat_ns;
	bool early;

	prepare();
	online = start("online", "", 0);
	send_word(&online, 'w');
	fake_daemon_open(&daemon);
	close(daemon.listener);
	unlink(daemon.path);
	be("offline", "", 0);
	work();
	EVENTUALLY(is_held(), 2000);
	fake_daemon_listen(&daemon);
	CHECK(fake_daemon_accept(&daemon, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon) == 1, 1000);
	CHECK(!is_held() && handed_over == 1);
	CHECK(files_count(".lane") == 1);
	fake_daemon_die(&daemon);
	unlink(daemon.path);
	EVENTUALLY(is_held(), 2000);
	fake_daemon_listen(&daemon);
	CHECK(fake_daemon_accept(&daemon, MEETS_MS) == 0);
	daemon.daemon_shm->heartbeat_ns = heartbeat_ns = clock_ns();
	EVENTUALLY(!is_held(), 1000);
	fake_sleep_us(2000000);
	early = is_held();
	CHECK(!early ||
	      clock_ns() - heartbeat_ns >= 3000000000u); /* this thread checked too late */
	EVENTUALLY(is_held(), 2000);			 /* no heartbeat for 3 s */
	fake_daemon_remove(&daemon);
	end(&online, SIGKILL);
	clean();
}

/* Writes a file and, with `lock`, takes the lock that shows that the owner lives. */
static void put(const char *name, const void *data, size_t size, bool lock)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	CHECK(!lock || fcntl(fd, F_SETLK, &whole) == 0);
}

/* Waits for the file with the peer's PID in its name, because other files are there, too. */
static void has_arrived(const struct process *p)
{
	struct dirent *entry;
	bool found = false;
	char own[32];
	DIR *dir;

	snprintf(own, sizeof(own), "%d-", (int)p->pid);
	for (int i = 0; i < 2000 && !found; i++) {
		dir = opendir(directory);
		CHECK(dir != NULL);
		while (!found && (entry = readdir(dir)))
			found = strncmp(entry->d_name, own, strlen(own)) == 0 &&
				strstr(entry->d_name, ".lane");
		closedir(dir);
		fake_sleep_us(1000);
	}
	CHECK(found);
}

static struct client_shm bad;

static void put_bad(int number, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "%d-%d.lane", (int)getpid(), number);
	put(name, &bad, size, true);
}

static void good_shm(void)
{
	memset(&bad, 0, sizeof(bad));
	bad.magic = CLIENT_SHM_MAGIC;
	bad.version = CLIENT_SHM_VERSION;
	bad.size = sizeof(bad);
	bad.priority = PRIORITY_ONLINE;
	bad.nodes[0].gpu_id = FAKE_GPU;
	bad.nodes[0].activity = 3;
}

/* Writes a bad file as a process of the test that owns and locks it. */
static void *hostile(int how)
{
	char name[64], path[160];

	good_shm();
	switch (how) {
	case 0:
		put_bad(how, sizeof(bad)); /* a valid file, which proves that the method works */
		break;
	case 1:
		put_bad(how, sizeof(bad) - 1);
		break;
	case 2:
		bad.priority = 99;
		put_bad(how, sizeof(bad));
		break;
	case 3:
		memset(bad.group, 'x', sizeof(bad.group));
		put_bad(how, sizeof(bad));
		break;
	case 4:
		bad.version++;
		put_bad(how, sizeof(bad));
		break;
	case 5: /* The name has another PID than the lock's owner, as in another PID namespace. */
		snprintf(name, sizeof(name), "%d-7.lane", (int)getppid());
		put(name, &bad, sizeof(bad), true);
		break;
	case 6:
		snprintf(path, sizeof(path), "%s/%d-8.lane", directory, (int)getpid());
		CHECK(mkfifo(path, 0600) == 0);
		break;
	case 7:
		snprintf(path, sizeof(path), "%s/%d-9.lane", directory, (int)getpid());
		CHECK(symlink("/dev/zero", path) == 0);
		break;
	case 8:
		put("junk", "x", 1, true);
		put("1-.lane", "x", 1, true);
		put("99999999999999-1.lane", "x", 1, true);
		put("+1-1.lane", "x", 1, true);
		break;
	default:
		_exit(1);
	}
	return NULL;
}

static void hostile_shms_are_left_alone(void)
{
	struct process other;
	int ready[2];
	pid_t pid;
	char word;

	prepare();
	be("offline", "", 0);
	EVENTUALLY(files_count(".lane") == 1, 2000);
	work();
	for (int how = 8; how >= 0; how--) {
		CHECK(pipe(ready) == 0);
		pid = fork();
		if (pid == 0) {
			hostile(how);
			CHECK(write(ready[1], "r", 1) == 1);
			pause();
		}
		CHECK(read(ready[0], &word, 1) == 1);
		/* its arrival makes all peers read the files */
		other = start("offline", "", OTHER_GPU);
		has_arrived(&other);
		if (how == 0)
			EVENTUALLY(is_held(), 1000);
		else
			never_held();
		end(&other, 0);
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, NULL, 0) == pid);
		close(ready[0]);
		close(ready[1]);
	}
	EVENTUALLY(!is_held(), 1000);
	clean();
}

/* The file of a peer is truncated while the peer holds this process. */
static void a_client_shm_cut_short(void)
{
	struct process online;
	struct dirent *entry;
	char own[32], path[400];
	DIR *dir;

	prepare();
	be("offline", "", 0);
	online = start("online", "", 0);
	work();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 2000);
	snprintf(own, sizeof(own), "%d-", (int)online.pid);
	dir = opendir(directory);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (strncmp(entry->d_name, own, strlen(own)) == 0 && strstr(path, ".lane"))
			CHECK(truncate(path, 10) == 0);
	}
	closedir(dir);
	EVENTUALLY(!is_held(), 1000);
	send_word(&online, 'f'); /* the peer keeps writing its file and survives */
	send_word(&online, 'w');
	end(&online, 0);
	clean();
}

IN_CHILD(held_while_a_higher_one_is_active)
IN_CHILD(a_lower_one_holds_no_peer)
IN_CHILD(without_priority_no_part)
IN_CHILD(nothing_in_flight_nothing_held)
IN_CHILD(a_priority_of_run_time)
IN_CHILD(another_node_is_no_matter)
IN_CHILD(a_dead_one_holds_no_peer)
IN_CHILD(a_stopped_one_is_still_there)
IN_CHILD(a_group_is_one_gang)
IN_CHILD(a_group_is_held_as_one)
IN_CHILD(ones_own_group_holds_no_peer)
IN_CHILD(daemons_come_and_go)
IN_CHILD(hostile_shms_are_left_alone)
IN_CHILD(a_client_shm_cut_short)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held_while_a_higher_one_is_active),
		cmocka_unit_test(test_a_lower_one_holds_no_peer),
		cmocka_unit_test(test_without_priority_no_part),
		cmocka_unit_test(test_nothing_in_flight_nothing_held),
		cmocka_unit_test(test_a_priority_of_run_time),
		cmocka_unit_test(test_another_node_is_no_matter),
		cmocka_unit_test(test_a_dead_one_holds_no_peer),
		cmocka_unit_test(test_a_stopped_one_is_still_there),
		cmocka_unit_test(test_a_group_is_one_gang),
		cmocka_unit_test(test_a_group_is_held_as_one),
		cmocka_unit_test(test_ones_own_group_holds_no_peer),
		cmocka_unit_test(test_daemons_come_and_go),
		cmocka_unit_test(test_hostile_shms_are_left_alone),
		cmocka_unit_test(test_a_client_shm_cut_short),
	};

	play(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
