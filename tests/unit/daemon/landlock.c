// SPDX-License-Identifier: MIT
/* Proves, if the kernel has Landlock:
 *  - The process that reads the configuration can only read, even as root: it cannot write, create,
 *    remove or execute a file, and cannot trace or signal another process.
 *  - Any Landlock domain forbids ptrace. Therefore the worker is in no domain, and the watchdog
 *    neither, because its children would inherit the domain. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scheduler/daemon/config/config.h"
#include "tests/lib/processes.h"

static char directory[] = "/tmp/kfdshim-landlock-XXXXXX";
static char file[128], other[128];
static pid_t target;

#define REFUSED(call, error) MUST((call) == -1 && errno == (error))

static void confined(void)
{
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(landlock_read_only() == 0);
}

static void reads(void)
{
	char text[8] = "";
	int fd;

	confined();
	fd = open(file, O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0 && read(fd, text, sizeof(text)) == 4 && memcmp(text, "text", 4) == 0);
	MUST(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0);
	MUST(open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0);
	/* Looking up a user name can require a socket to a name service of this machine. */
	MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
}

static void changes_nothing(void)
{
	char *const arguments[] = {"true", NULL};

	confined();
	REFUSED(open(file, O_WRONLY | O_CLOEXEC), EACCES);
	REFUSED(open(file, O_RDWR | O_CLOEXEC), EACCES);
	REFUSED(open(other, O_RDONLY | O_CREAT | O_CLOEXEC, 0600), EACCES);
	REFUSED(mkdir(other, 0700), EACCES);
	REFUSED(symlink(file, other), EACCES);
	REFUSED(unlink(file), EACCES);
	REFUSED(execv("/bin/true", arguments), EACCES);
}

static void touches_no_process(void)
{
	confined();
	REFUSED(ptrace(PTRACE_SEIZE, target, NULL, NULL), EPERM);
	if (landlock_version() >= 6)
		REFUSED(kill(target, SIGTERM), EPERM);
}

static void traces_without(void)
{
	MUST(ptrace(PTRACE_SEIZE, target, NULL, NULL) == 0);
}

/* Replaces the daemon's config_load(): tries to open the file for writing, which must fail. */
int config_load(const char *path, struct config *config, char *problem, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	(void)config;
	problem[0] = '\0';
	if (fd < 0 && errno == EACCES)
		return 0;
	snprintf(problem, size, "%s could be opened to be written", path);
	return -EPERM;
}

static void reloads(void)
{
	static struct config config; /* static, because it is large */
	struct reload *reload = reload_create(file, &config);
	bool good = false;

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(reload);
	reload_begin(reload, 0);
	MUST(reload_busy(reload));
	for (int i = 0; i < 3000 && !good && reload_busy(reload); i++) {
		good = reload_check(reload, 0);
		poll(NULL, 0, 10);
	}
	MUST(good);
}

static void the_reader_reads(void **state)
{
	(void)state;
	in_a_child(reads);
}

static void the_reader_changes_nothing(void **state)
{
	struct stat st;

	(void)state;
	in_a_child(changes_nothing);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(access(other, F_OK), -1);
}

static void the_reader_touches_no_process(void **state)
{
	(void)state;
	in_a_child(traces_without);
	in_a_child(touches_no_process);
	assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
}

static void a_reload_has_it(void **state)
{
	(void)state;
	in_a_child(reloads);
}

static int make_files(void **state)
{
	FILE *f;

	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(file, sizeof(file), "%s/file", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	f = fopen(file, "we");
	if (!f || fputs("text", f) < 0 || fclose(f) != 0)
		return -1;
	target = fork();
	if (target == 0) {
		pause();
		_exit(0);
	}
	return target > 0 ? 0 : -1;
}

static int remove_files(void **state)
{
	(void)state;
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	unlink(file);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reader_reads),
		cmocka_unit_test(the_reader_changes_nothing),
		cmocka_unit_test(the_reader_touches_no_process),
		cmocka_unit_test(a_reload_has_it),
	};

	if (landlock_version() == 0) {
		printf("this kernel has no Landlock: only that the reader goes on without\n");
		return landlock_read_only() == -ENOSYS ? 0 : 1;
	}
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
