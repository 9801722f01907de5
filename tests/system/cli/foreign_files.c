// SPDX-License-Identifier: MIT
/* Proves: if an unprivileged process has, among its descriptors or in its root directory, a pipe, a
 * device or a link where kfdsched expects the shared memory of a client or podman's file, then
 * kfdsched does not open it; and a FUSE file that is never answered makes no command wait. The file
 * of a real client and of a real container is still read. Opens are detected by inotify.
 *
 * Environment: BUILD. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka.h needs some of the headers above */
#include <cmocka.h>
/* clang-format on */

#include "channel/client_shm.h"
#include "cli/inspect/process.h"
#include "cli/inspect/sources.h"
#include "common/proc_file.h"

#define NO_USER 65534
#define USUAL_S 10 /* limit, in s; a command that waits for the attacker would wait for ever */
#define SHM_FILE "4711-1.lane"
#define PODMAN "engine=\"podman-4.3.1\"\nname=\"innocent\"\n"

/* directory of the running test; "/kfdshim" is part of the names of shared memory files */
static char directory[32];
static char bait[64]; /* the file that must not be opened */
static int terminal = -1;
static int opens = -1; /* inotify descriptor */

static void must(bool done)
{
	if (!done) {
		perror("foreign_files: the attacker");
		_exit(2);
	}
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* Enters a user and a mount namespace of its own, as any user can. */
static void become_unprivileged(void)
{
	uid_t uid = geteuid() ? geteuid() : NO_USER;
	char map[32];

	if (geteuid() == 0)
		must(setresgid(NO_USER, NO_USER, NO_USER) == 0 && setresuid(uid, uid, uid) == 0);
	must(prctl(PR_SET_DUMPABLE, 1) == 0);
	must(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	snprintf(map, sizeof(map), "0 %u 1", uid);
	put("/proc/self/uid_map", map);
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

static void hold(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	must(open(path, O_PATH) >= 0);
}

/* ---- the attackers; each runs in a child ---- */

static void holds_a_pipe(void)
{
	become_unprivileged();
	hold(SHM_FILE);
}

static void holds_a_device(void)
{
	char path[64];

	become_unprivileged();
	snprintf(path, sizeof(path), "%s/" SHM_FILE, directory);
	must(mount(bait, path, NULL, MS_BIND, NULL) == 0);
	hold(SHM_FILE);
}

/* The file is the root of a FUSE file system that is never served. */
static void holds_fuse(void)
{
	char path[64], options[96];
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	must(fuse >= 0 && unshare(CLONE_NEWNS) == 0);
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	snprintf(path, sizeof(path), "%s/" SHM_FILE, directory);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=100644,user_id=%u,group_id=0,allow_other", fuse, NO_USER);
	must(mount("attack", path, "fuse", 0, options) == 0);
	hold(SHM_FILE);
	must(setresgid(NO_USER, NO_USER, NO_USER) == 0 &&
	     setresuid(NO_USER, NO_USER, NO_USER) == 0);
	must(prctl(PR_SET_DUMPABLE, 1) == 0);
}

/* The directory becomes the root directory of the process. */
static void lives_in_it(void)
{
	become_unprivileged();
	must(mount(directory, directory, NULL, MS_BIND, NULL) == 0 && chdir(directory) == 0);
	must(syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0);
}

static void lives_with_a_device(void)
{
	char path[64];

	become_unprivileged();
	must(mount(directory, directory, NULL, MS_BIND, NULL) == 0);
	snprintf(path, sizeof(path), "%s/run/.containerenv", directory);
	must(mount(bait, path, NULL, MS_BIND, NULL) == 0 && chdir(directory) == 0);
	must(syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0);
}

static void has_shm_file(void)
{
	static struct client_shm shm;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[64];
	int fd;

	become_unprivileged();
	snprintf(path, sizeof(path), "%s/" SHM_FILE, directory);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	shm.magic = CLIENT_SHM_MAGIC;
	shm.version = CLIENT_SHM_VERSION;
	shm.size = sizeof(shm);
	must(fd >= 0 && write(fd, &shm, sizeof(shm)) == (ssize_t)sizeof(shm));
	must(fcntl(fd, F_SETLK, &lock) == 0);
}

static pid_t attack(void (*as)(void))
{
	int ready[2];
	pid_t pid;
	char byte = 0;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		as();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		must(write(ready[1], "r", 1) == 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- setup and checks ---- */

static void watch(const char *path)
{
	snprintf(bait, sizeof(bait), "%s", path);
	opens = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(opens >= 0 && inotify_add_watch(opens, path, IN_OPEN) >= 0);
}

static void nothing_opened(const char *by)
{
	struct inotify_event event;

	if (read(opens, &event, sizeof(event)) > 0)
		fail_msg("%s has opened %s", by, bait);
	assert_int_equal(errno, EAGAIN);
}

static const char *in_dir(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static int make_dir(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/kfdshim.XXXXXX");
	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	return mkdtemp(directory) && chmod(directory, 0777) == 0 && terminal >= 0 &&
			       grantpt(terminal) == 0 && unlockpt(terminal) == 0 &&
			       mkdir(in_dir("run"), 0755) == 0
		       ? 0
		       : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	close(terminal);
	if (opens >= 0)
		close(opens);
	opens = -1;
	unlink(in_dir(SHM_FILE));
	unlink(in_dir("run/.containerenv"));
	unlink(in_dir("run/elsewhere"));
	rmdir(in_dir("run"));
	return rmdir(directory);
}

/* Runs a command, which must end within USUAL_S; its result does not matter. */
static void command(const char *command_name, pid_t pid)
{
	char program[512], number[16];
	int status, seconds = 0;
	pid_t child;

	snprintf(program, sizeof(program), "%s/kfdsched", getenv("BUILD"));
	snprintf(number, sizeof(number), "%d", (int)pid);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(program, "kfdsched", command_name, number, (char *)NULL);
		_exit(127);
	}
	for (; waitpid(child, &status, WNOHANG) == 0; seconds++) {
		if (seconds > USUAL_S * 100) {
			end(child);
			fail_msg("kfdsched %s waits for the attacker", command_name);
		}
		usleep(10000);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 126);
}

static void all_commands(pid_t pid)
{
	static const char *const commands[] = {"queues", "pidmap", "diagnose", "doctor"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		command(commands[i], pid);
		if (opens >= 0)
			nothing_opened(commands[i]);
	}
}

/* ---- tests ---- */

static void a_pipe_is_no_client_shm(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(mkfifo(in_dir(SHM_FILE), 0666), 0);
	watch(in_dir(SHM_FILE));
	pid = attack(holds_a_pipe);
	all_commands(pid);
	end(pid);
}

static void a_device_is_no_client_shm(void **state)
{
	pid_t pid;

	(void)state;
	put(in_dir(SHM_FILE), "");
	watch(ptsname(terminal));
	pid = attack(holds_a_device);
	all_commands(pid);
	end(pid);
}

static void fuse_keeps_no_command(void **state)
{
	pid_t pid;

	(void)state;
	if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) != 0) {
		print_message("not tried here: a FUSE file (needs root and /dev/fuse)\n");
		return;
	}
	put(in_dir(SHM_FILE), "");
	pid = attack(holds_fuse);
	all_commands(pid);
	end(pid);
}

/* The same check without FUSE: procfs is not a file system that contains shared memory of clients
 * either. */
static void other_file_systems_are_refused(void **state)
{
	struct proc_files files;

	(void)state;
	proc_files_begin(&files, getpid());
	assert_int_equal(proc_files_open(&files, AT_FDCWD, "/proc/self/status"), -EXDEV);
	assert_int_equal(proc_files_open_path(&files, "/proc/version"), -EXDEV);
	assert_int_equal(proc_files_open_path(&files, "/tmp/../etc/passwd"), -ELOOP);
	assert_int_equal(proc_files_find(&files, "/tmp/no such file"), -ENOENT);
	proc_files_end(&files);
}

static void a_pipe_names_no_container(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(mkfifo(in_dir("run/.containerenv"), 0666), 0);
	watch(in_dir("run/.containerenv"));
	pid = attack(lives_in_it);
	all_commands(pid);
	end(pid);
}

static void a_device_names_no_container(void **state)
{
	pid_t pid;

	(void)state;
	put(in_dir("run/.containerenv"), "");
	watch(ptsname(terminal));
	pid = attack(lives_with_a_device);
	all_commands(pid);
	end(pid);
}

static void a_link_names_no_container(void **state)
{
	pid_t pid;

	(void)state;
	put(in_dir("run/elsewhere"), PODMAN);
	assert_int_equal(symlink("elsewhere", in_dir("run/.containerenv")), 0);
	watch(in_dir("run/elsewhere"));
	pid = attack(lives_in_it);
	all_commands(pid);
	end(pid);
}

static void a_containers_file_is_read(void **state)
{
	struct container container;
	pid_t pid;

	(void)state;
	put(in_dir("run/.containerenv"), PODMAN);
	pid = attack(lives_in_it);
	container_read(pid, 1, &container);
	assert_int_equal(container.engine, CONTAINER_PODMAN);
	assert_string_equal(container.name, "innocent");
	end(pid);
}

static void a_client_shm_is_read(void **state)
{
	struct source_shm *shm = source_shm_new();
	struct observe_list list = {0};
	char why[OBSERVE_WHY] = "";
	pid_t pid;

	(void)state;
	pid = attack(has_shm_file);
	assert_int_equal(source_shm(shm, pid, &list, why), 0);
	source_shm_free(shm);
	observe_list_free(&list);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pipe_is_no_client_shm, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_device_is_no_client_shm, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(fuse_keeps_no_command, make_dir, remove_dir),
		cmocka_unit_test(other_file_systems_are_refused),
		cmocka_unit_test_setup_teardown(a_pipe_names_no_container, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_device_names_no_container, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_link_names_no_container, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_containers_file_is_read, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_client_shm_is_read, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
