// SPDX-License-Identifier: MIT
/*
 * Proves that without a daemon the source `shm` finds a process's shared-memory file by the lock
 * that the process holds, and does not take the file of a peer that the process has open. The file
 * is kept open between reads. Every change is reported. The file is no longer used when the process
 * has closed it, has another one, has executed another program, or has ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "channel/client_shm.h"
#include "cli/inspect/sources.h"

#define LATE_US 2000000 /* a new file may be reported this late */

static char directory[] = "/tmp/kfdshim.XXXXXX";
static struct source_shm *source;
static struct observe_list list;

/* ---- a process with shared memory, as shim/links/peer_files.c creates it ---- */

static struct client_shm shm;
static int shm_fd = -1, to_us, from_us; /* the child's ends of the pipes */
static pid_t peer;			/* another process, whose file has the number '1' */

static void write_all(void)
{
	if (pwrite(shm_fd, &shm, sizeof(shm), 0) != (ssize_t)sizeof(shm))
		_exit(2);
}

static int open_file(pid_t pid, int number, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%d-%d.lane", directory, (int)pid, number);
	return open(path, flags | O_CLOEXEC, 0600);
}

static void open_shm(int number)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	shm_fd = open_file(getpid(), number, O_RDWR | O_CREAT | O_EXCL);
	if (shm_fd < 0 || fcntl(shm_fd, F_SETLK, &lock) != 0)
		_exit(2);
	memset(&shm, 0, sizeof(shm));
	shm.magic = CLIENT_SHM_MAGIC;
	shm.version = CLIENT_SHM_VERSION;
	shm.size = sizeof(shm);
	write_all();
}

static void add_queue(uint32_t slot, uint32_t id)
{
	const struct client_shm_queue queue = {
		.used = 1, .queue_id = id, .gpu_id = 7, .percent = 100, .ring_bytes = 4096};

	client_shm_queue_write(&shm, slot, &queue);
	write_all();
}

/* The child: executes commands of one byte. '1' to '9': create and lock a file of that number; 'a'
 * to 'z': add a queue of id 0 to 25; 'C': close the file; 'P': open the peer's file; 'X': execute
 * another program. */
static void serve(void)
{
	char *const quiet[] = {"sleep", "100", NULL};
	uint32_t slot = 0;
	char what;

	while (read(to_us, &what, 1) == 1) {
		if (what >= '1' && what <= '9')
			open_shm(what);
		else if (what >= 'a' && what <= 'z')
			add_queue(slot++, (uint32_t)(what - 'a'));
		else if (what == 'C')
			close(shm_fd);
		else if (what == 'P' && open_file(peer, '1', O_RDONLY) < 0)
			_exit(2);
		if (what == 'X')
			execvp(quiet[0], quiet);
		if (write(from_us, &what, 1) != 1)
			break;
	}
	_exit(0);
}

struct child {
	pid_t pid;
	int to, from;
};

static struct child start(void)
{
	int down[2], up[2];
	struct child child;

	assert_int_equal(pipe2(down, O_CLOEXEC) | pipe2(up, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		/* a failed assertion would otherwise leave it behind */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		to_us = down[0];
		from_us = up[1];
		close(down[1]);
		close(up[0]);
		serve();
	}
	close(down[0]);
	close(up[1]);
	child.to = down[1];
	child.from = up[0];
	return child;
}

/* Sends commands. Each is done when its byte comes back; after 'X' the pipe is closed instead. */
static void command(const struct child *child, const char *what)
{
	for (; *what; what++) {
		char back = 0;

		assert_int_equal(write(child->to, what, 1), 1);
		assert_int_equal(read(child->from, &back, 1), *what != 'X');
		assert_int_equal(back, *what == 'X' ? 0 : *what);
	}
}

static void end(const struct child *child)
{
	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
	close(child->to);
	close(child->from);
}

/* ---- the reader ---- */

static int read_shm(pid_t pid)
{
	char why[OBSERVE_WHY] = "";
	int rc;

	observe_list_clear(&list);
	rc = source_shm(source, pid, &list, why);
	assert_true((rc != 0) == (why[0] != '\0'));
	return rc;
}

static void finds(pid_t pid, size_t count, uint32_t last_id)
{
	for (unsigned us = 0; read_shm(pid) == -ENOENT && us < LATE_US; us += 1000)
		usleep(1000);
	assert_int_equal(list.count, count);
	assert_true(!count || list.queue[count - 1].id == last_id);
}

static int begin(void **state)
{
	(void)state;
	source = source_shm_new();
	return source ? 0 : -1;
}

static int finish(void **state)
{
	(void)state;
	source_shm_free(source);
	return 0;
}

static void every_change_is_published(void **state)
{
	struct child child = start();

	(void)state;
	assert_int_equal(read_shm(child.pid), -ENOENT);
	command(&child, "1");
	finds(child.pid, 0, 0);
	command(&child, "a");
	assert_int_equal(read_shm(child.pid), 0); /* the file is known now, so it is read at once */
	finds(child.pid, 1, 0);
	finds(child.pid, 1, 0);
	command(&child, "bc");
	finds(child.pid, 3, 2);
	end(&child);
}

static void another_client_shm_is_found(void **state)
{
	struct child child = start();

	(void)state;
	command(&child, "1ab");
	finds(child.pid, 2, 1);
	command(&child, "C");
	assert_int_equal(read_shm(child.pid), -ENOENT);
	command(&child, "2c");
	finds(child.pid, 1, 2);
	/* With the same fd number, before the next read. */
	command(&child, "C3de");
	finds(child.pid, 2, 4);
	end(&child);
}

static void another_program_has_none(void **state)
{
	struct child child = start();

	(void)state;
	command(&child, "1a");
	finds(child.pid, 1, 0);
	command(&child, "X");
	/* The pipe may be closed before the file is. */
	for (unsigned us = 0; read_shm(child.pid) == 0 && us < LATE_US; us += 1000)
		usleep(1000);
	assert_int_equal(read_shm(child.pid), -ENOENT);
	end(&child);
}

static void one_that_has_ended_has_none(void **state)
{
	struct child child = start();

	(void)state;
	command(&child, "1a");
	finds(child.pid, 1, 0);
	end(&child);
	assert_int_equal(read_shm(child.pid), -ENOENT);
}

/* The peer's file may have the lower fd number, if the program had closed a file before. */
static void a_peers_client_shm_is_not_its_own(void **state)
{
	struct child other = start(), child;

	(void)state;
	command(&other, "1z");
	peer = other.pid;
	child = start();
	command(&child, "P");
	assert_int_equal(read_shm(child.pid), -ENOENT);
	command(&child, "1a");
	finds(child.pid, 1, 0);
	/* The file that is kept open is not used for another process. */
	finds(other.pid, 1, 25);
	end(&child);
	end(&other);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_dir(void **state)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	(void)state;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	observe_list_free(&list);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_change_is_published, begin, finish),
		cmocka_unit_test_setup_teardown(another_client_shm_is_found, begin, finish),
		cmocka_unit_test_setup_teardown(another_program_has_none, begin, finish),
		cmocka_unit_test_setup_teardown(one_that_has_ended_has_none, begin, finish),
		cmocka_unit_test_setup_teardown(a_peers_client_shm_is_not_its_own, begin, finish),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
