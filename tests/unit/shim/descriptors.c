// SPDX-License-Identifier: MIT
/*
 * Proves: if the program closes all descriptors that it has not opened, and its next files get the
 * numbers of the agent's files, then the agent neither writes into these files, nor reads from
 * them, nor changes them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "shim/descriptor.h"
#include "shim/sampler.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define NUMBERS 256

static struct fake_daemon daemon_;
static struct fake_queue q;

static bool before[NUMBERS]; /* descriptors that were open before the agent started */
static struct taken {
	int fd;	   /* number that was the agent's and now is a file of this program */
	int other; /* the other end, or the same file by another number */
	struct stat st;
} taken[NUMBERS];
static unsigned count;

static void note_open(void)
{
	for (int fd = 0; fd < NUMBERS; fd++)
		before[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* Makes a socket that contains a byte, which only the program must read. */
static void make_socket(int ends[2])
{
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	CHECK(write(ends[1], "x", 1) == 1);
}

/* Makes a file whose size only the program must change. */
static void make_file(int ends[2])
{
	ends[0] = memfd_create("program's", MFD_CLOEXEC);
	CHECK(ends[0] >= 0);
	ends[1] = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
}

static void take_numbers(void (*make)(int ends[2]))
{
	int ends[2];

	/* Only descriptors that the agent keeps open: it can close others at any time. */
	for (int fd = 3; fd < NUMBERS; fd++)
		if (!before[fd] && fcntl(fd, F_GETSIG) == DESCRIPTOR_MARK)
			taken[count++].fd = fd;
	CHECK(count >= 3);
	for (unsigned i = 0; i < count; i++) {
		make(ends);
		CHECK(dup3(ends[0], taken[i].fd, O_CLOEXEC) == taken[i].fd);
		taken[i].other = fcntl(ends[1], F_DUPFD_CLOEXEC, NUMBERS);
		CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
		CHECK(fstat(taken[i].fd, &taken[i].st) == 0);
	}
}

static void nothing_was_done_to_them(void)
{
	struct stat st;
	char byte;

	for (unsigned i = 0; i < count; i++) {
		CHECK(fstat(taken[i].fd, &st) == 0);
		CHECK(st.st_dev == taken[i].st.st_dev && st.st_ino == taken[i].st.st_ino);
		if (S_ISSOCK(st.st_mode)) {
			CHECK(recv(taken[i].other, &byte, 1, MSG_DONTWAIT) == -1 &&
			      errno == EAGAIN);
			CHECK(recv(taken[i].fd, &byte, 1, MSG_DONTWAIT) == 1 && byte == 'x');
		} else {
			CHECK(st.st_size == 0 && lseek(taken[i].fd, 0, SEEK_CUR) == 0);
		}
	}
}

/* Makes bursts that hooks see, with pauses in which the agent's thread falls asleep, and one burst
 * that only the sampler can see. */
static void work(void)
{
	struct fake_signal last = {.kind = 1};
	struct fake_queue other;

	for (int i = 0; i < 10; i++) {
		fake_ring(&q, &last);
		fake_drain(&q);
		fake_waited(&last);
		fake_sleep_us(10000);
	}
	CHECK(fake_queue_create(&other, AQL) == 0);
	fake_submit(&other, NULL);
	fake_sleep_us(30000);
	CHECK(fake_queue_destroy(&other) == 0);
	fake_queue_unmap(&other);
}

/* Creates one queue, accepts the agent's connection, and notes what was open before. */
static void link_up(void)
{
	fake_daemon_open(&daemon_);
	fake_start();
	note_open();
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
}

static void of_the_link(void (*make)(int ends[2]))
{
	/* at this level the agent keeps the device open from the first queue on */
	setenv("KFDSHIM_LEVEL", "weight", 1);
	link_up();
	before[daemon_.client] = true;
	__atomic_store_n(&daemon_.daemon_shm->asleep, 1, __ATOMIC_SEQ_CST);
	fake_sleep_us(20000);
	take_numbers(make);
	work();
	fake_daemon_die(&daemon_);
	work();
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_runtime(0) == 0);
	nothing_was_done_to_them();
}

static void sockets_for_the_link(void)
{
	of_the_link(make_socket);
}

static void files_for_the_link(void)
{
	of_the_link(make_file);
}

static bool has_shm(const char *runtime_dir)
{
	char path[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/kfdshim", runtime_dir);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = strstr(entry->d_name, ".lane") != NULL;
	if (dir)
		closedir(dir);
	return found;
}

static void of_peers(void (*make)(int ends[2]))
{
	char directory[] = "/tmp/kfdshim-descriptors-XXXXXX", command[64];

	CHECK(mkdtemp(directory) != NULL);
	setenv("XDG_RUNTIME_DIR", directory, 1);
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	note_open();
	CHECK(fake_queue_create(&q, AQL) == 0);
	EVENTUALLY(has_shm(directory), 5000); /* the last file that the agent makes there */
	fake_sleep_us(100000);
	take_numbers(make);
	work();
	fake.app_settings.priority = 3; /* a change that is sent to peers */
	fake.agent->app_settings_changed();
	work();
	CHECK(fake_queue_destroy(&q) == 0);
	nothing_was_done_to_them();
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	CHECK(system(command) == 0);
}

static void sockets_for_peers(void)
{
	of_peers(make_socket);
}

static void files_for_peers(void)
{
	of_peers(make_file);
}

/* Returns the agent's first eventfd, which wakes its thread. */
static int wake_descriptor(void)
{
	char name[32], file[64];
	ssize_t n;

	for (int fd = 3; fd < NUMBERS; fd++) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		n = before[fd] ? -1 : readlink(name, file, sizeof(file) - 1);
		file[n > 0 ? n : 0] = '\0';
		if (strstr(file, "eventfd") && fcntl(fd, F_GETSIG) == DESCRIPTOR_MARK)
			return fd;
	}
	CHECK(!"the agent has an eventfd");
	return -1;
}

static int begin_with_a_link(void)
{
	link_up();
	return wake_descriptor();
}

/* There is nothing left to poll, so the agent's thread sleeps until a doorbell. Only that thread
 * can find the end of the work which the doorbell starts. */
static void its_thread_is_woken(void)
{
	struct fake_signal last = {.kind = 1};
	uint64_t before_it;

	for (int i = 0; i < 3; i++) {
		fake_ring(&q, &last);
		fake_drain(&q);
		fake_waited(&last);
		fake_sleep_us(50000);
		EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
		before_it = fake_daemon_transitions(&daemon_, FAKE_GPU);
		fake_ring(&q, NULL);
		fake_drain(&q);
		EVENTUALLY(fake_daemon_transitions(&daemon_, FAKE_GPU) == before_it + 2, 1000);
	}
}

/* A file that never becomes readable has got the number of the wake eventfd. */
static void woken_beside_a_silent_file(void)
{
	int wake = begin_with_a_link(), ends[2];

	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	CHECK(dup3(ends[0], wake, O_CLOEXEC) == wake);
	fake_sleep_us(50000);
	its_thread_is_woken();
	CHECK(fcntl(wake, F_GETSIG) != DESCRIPTOR_MARK); /* the program's file was not changed */
}

/* The wake eventfd is closed while no other descriptor can be opened. */
static void woken_after_the_table_was_full(void)
{
	int wake = begin_with_a_link(), fd;
	struct rlimit old, low;

	CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
	low = (struct rlimit){.rlim_cur = (rlim_t)wake, .rlim_max = old.rlim_max};
	CHECK(wake >= 4 && setrlimit(RLIMIT_NOFILE, &low) == 0); /* ppoll() needs 4 entries */
	do
		fd = dup(STDERR_FILENO);
	while (fd >= 0);
	CHECK(close(wake) == 0);
	fake_sleep_us(50000);
	its_thread_is_woken();
	CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
	fake_sleep_us(50000);
	its_thread_is_woken();
	CHECK(fcntl(wake, F_GETSIG) == DESCRIPTOR_MARK); /* the agent has made a new eventfd */
}

/* The wake eventfd is closed while the thread already sleeps on it. */
static void woken_although_closed_in_its_sleep(void)
{
	struct fake_signal last = {.kind = 1};
	uint64_t before_it;
	int wake;

	sampler_longest_ns = 200000000u;
	wake = begin_with_a_link();
	its_thread_is_woken();
	fake_ring(&q, &last);
	fake_drain(&q);
	fake_waited(&last);
	fake_sleep_us(50000);
	before_it = fake_daemon_transitions(&daemon_, FAKE_GPU);
	CHECK(close(wake) == 0);
	fake_ring(&q, NULL);
	fake_drain(&q);
	EVENTUALLY(fake_daemon_transitions(&daemon_, FAKE_GPU) == before_it + 2, 2000);
	its_thread_is_woken();
	CHECK(fcntl(wake, F_GETSIG) == DESCRIPTOR_MARK); /* the agent has made a new eventfd */

	CHECK(fake_queue_destroy(&q) == 0);
	fake_sleep_us(50000);
	CHECK(close(wake) == 0);
	CHECK(fake_queue_create(&q, AQL) == 0);
	before_it = fake_daemon_transitions(&daemon_, FAKE_GPU);
	fake_submit(&q, NULL);
	fake_drain(&q);
	EVENTUALLY(fake_daemon_transitions(&daemon_, FAKE_GPU) == before_it + 2, 3000);
}

IN_CHILD(sockets_for_the_link)
IN_CHILD(files_for_the_link)
IN_CHILD(sockets_for_peers)
IN_CHILD(files_for_peers)
IN_CHILD(woken_beside_a_silent_file)
IN_CHILD(woken_after_the_table_was_full)
IN_CHILD(woken_although_closed_in_its_sleep)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sockets_for_the_link),
		cmocka_unit_test(test_files_for_the_link),
		cmocka_unit_test(test_sockets_for_peers),
		cmocka_unit_test(test_files_for_peers),
		cmocka_unit_test(test_woken_beside_a_silent_file),
		cmocka_unit_test(test_woken_after_the_table_was_full),
		cmocka_unit_test(test_woken_although_closed_in_its_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
