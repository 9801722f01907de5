// SPDX-License-Identifier: MIT
/* Proves: if another user has created the directory in /dev/shm in which peers meet, the shim uses
 * nothing in it, the program runs on, and one log line names the owner and what to do. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka.h needs some of the headers above */
#include <cmocka.h>
/* clang-format on */

#include "shim/config.h"
#include "tests/lib/mock_kfd.h"

#define USER "1000"
#define DIR "/dev/shm/kfdshim-" USER

static int log_fd;

static bool read_logged(char *line, size_t size, const char *what)
{
	char text[8192];
	ssize_t n = pread(log_fd, text, sizeof(text) - 1, 0);
	char *at;

	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, what);
	if (at)
		snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
	return at;
}

/* Runs the program as a user that has no daemon and no runtime directory. */
static void run_program(void)
{
	struct fake_queue queue;
	char line[512];

	unsetenv("XDG_RUNTIME_DIR");
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LOG", "error", 1);
	CHECK(dup2(log_fd, STDERR_FILENO) >= 0);
	fake_start();
	CHECK(fake_queue_create(&queue, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	for (int i = 0; i < 10000 && !read_logged(line, sizeof(line), "without a daemon"); i++)
		usleep(1000);
	CHECK(read_logged(line, sizeof(line), "without a daemon"));
	CHECK(strstr(line, DIR " belongs to user 65534") && strstr(line, "have root remove it") &&
	      strstr(line, "XDG_RUNTIME_DIR"));
	CHECK(fake_queue_destroy(&queue) == 0);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* Enters namespaces in which this user has uid 1000. root has no uid there and is shown as 65534,
 * so a directory of root stands for one that another user has created. */
static void be_second(const char *theirs)
{
	char map[32], groups[32];

	if (geteuid() == 0)
		CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
	snprintf(map, sizeof(map), USER " %u 1", geteuid());
	snprintf(groups, sizeof(groups), USER " %u 1", getegid());
	CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", map);
	put("/proc/self/gid_map", groups);
	CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("none", "/dev/shm", "tmpfs", 0, NULL) == 0);
	CHECK(mkdir(DIR, 0700) == 0 && mount(theirs, DIR, NULL, MS_BIND | MS_REC, NULL) == 0);
}

static void finds_it_taken(const char *theirs)
{
	char text[4096];
	int status;
	ssize_t n;
	pid_t pid;

	log_fd = memfd_create("said", MFD_CLOEXEC);
	assert_true(log_fd >= 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_second(theirs);
		run_program();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = pread(log_fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (status)
		fail_msg("status %x, and it said: %s", status, text);
	close(log_fd);
}

static void a_dir_of_another_user(void **state)
{
	(void)state;
	finds_it_taken("/root"); /* mode 0700 */
}

static void one_that_is_open_to_all(void **state)
{
	(void)state;
	finds_it_taken("/tmp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dir_of_another_user),
		cmocka_unit_test(one_that_is_open_to_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
