// SPDX-License-Identifier: MIT
/*
 * Proves, for an environment with faults (a bad daemon, missing descriptors or memory, forbidden
 * calls, wrong directories): the driver's results are the same as without the shim, and with
 * KFDSHIM_LOG=error one line reports what is wrong and what to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_queue queue;
static char directory[64];
static int log_fd, stderr_fd;

static void begin(void)
{
	strcpy(directory, "/tmp/kfdshim-bad-XXXXXX");
	CHECK(mkdtemp(directory) != NULL);
	setenv("XDG_RUNTIME_DIR", directory, 1);
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	setenv("KFDSHIM_LOG", "error", 1);
	log_fd = (int)syscall(SYS_memfd_create, "said", MFD_CLOEXEC);
	stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	CHECK(log_fd >= 0 && stderr_fd >= 0 && dup2(log_fd, STDERR_FILENO) >= 0);
}

/* Makes the calls of a runtime and checks that they return the driver's results. */
static void run(void)
{
	struct fake_signal last = {.kind = 1};
	uint64_t handle;

	CHECK(fake_queue_create(&queue, AQL) == 0);
	for (int i = 0; i < 100; i++) {
		fake_ring(&queue, &last);
		fake_drain(&queue);
		fake_waited(&last);
	}
	CHECK(fake_queue_update(&queue, 9, 100) == 0);
	CHECK(fake_alloc(FAKE_GPU, 4096, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &handle) == 0);
	CHECK(fake_free(handle) == 0);
}

static int lines(char *text, size_t size)
{
	ssize_t n = pread(log_fd, text, size - 1, 0);
	int count = 0;

	text[n > 0 ? n : 0] = '\0';
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

static void limit(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limits;

	CHECK(getrlimit(resource, &limits) == 0);
	limits.rlim_cur = value;
	CHECK(setrlimit(resource, &limits) == 0);
}

static void remove_dir(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	CHECK(system(command) == 0);
}

/* Checks that the log is one line that contains both texts. */
static void expect_logged(const char *what, const char *remedy)
{
	char text[4096] = "";
	bool right;

	for (int i = 0; i < 3000 && lines(text, sizeof(text)) == 0; i++)
		fake_sleep_us(1000);
	/* longer than the next tries, so that a repeated line would be found */
	fake_sleep_us(1200000);
	right = lines(text, sizeof(text)) == 1 && strstr(text, what) && strstr(text, remedy);
	CHECK(fake_queue_destroy(&queue) == 0);
	CHECK(strncmp(fake.calls, "V", 1) == 0 || strncmp(fake.calls, "C", 1) == 0);
	dup2(stderr_fd, STDERR_FILENO);
	if (!right)
		fprintf(stderr, "expected '%s' and '%s' in one line, got:\n%s", what, remedy, text);
	CHECK(right);
	limit(RLIMIT_NOFILE, 64);
	remove_dir();
}

static void unreadable_values(void)
{
	static const char *const values[][3] = {
		{"KFDSHIM_PRIORITY", "urgent", "online, offline or a number"},
		{"KFDSHIM_PRIORITY", "16", "online, offline or a number"},
		{"KFDSHIM_LEVEL", "hard", "auto, trap, self"},
		{"KFDSHIM_SLO", "soon", "20ms"},
		{"KFDSHIM_SLO", "-1ms", "20ms"},
		{"KFDSHIM_VRAM_LIMIT", "lots", "40G"},
		{"KFDSHIM_VRAM_LIMIT", "99999999999999T", "40G"},
		{"KFDSHIM_GATE", "few", "number of packets"},
		{"KFDSHIM_UPDATE_QUEUE", "1", "may-reset-the-gpu"},
	};
	char text[4096];

	begin();
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		CHECK(ftruncate(log_fd, 0) == 0 && lseek(log_fd, 0, SEEK_SET) == 0);
		setenv(values[i][0], values[i][1], 1);
		fake_start();
		unsetenv(values[i][0]);
		CHECK(lines(text, sizeof(text)) == 1);
		CHECK(strstr(text, values[i][0]) && strstr(text, values[i][2]));
	}
	setenv("KFDSHIM_SOCKET",
	       "0123456789012345678901234567890123456789012345678901234567890123"
	       "0123456789012345678901234567890123456789012345678901234567890123",
	       1);
	CHECK(ftruncate(log_fd, 0) == 0 && lseek(log_fd, 0, SEEK_SET) == 0);
	fake_start();
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	run();
	expect_logged("KFDSHIM_SOCKET", "longer than");
}

static void a_socket_that_is_a_file(void)
{
	char path[80];

	begin();
	snprintf(path, sizeof(path), "%s/socket", directory);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	setenv("KFDSHIM_SOCKET", path, 1);
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	run();
	expect_logged(path, "KFDSHIM_SOCKET");
}

static struct fake_daemon daemon_;

/* Starts a daemon in a child process that answers each hello with `welcome` and with `fd` in place
 * of descriptor number `place` of the four. `fd` -1: all descriptors are right. */
static pid_t answering(struct protocol_welcome welcome, unsigned place, int fd)
{
	struct protocol_hello hello;
	int client, fds[PROTOCOL_WELCOME_FDS];
	pid_t pid;

	fake_daemon_open(&daemon_);
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fds[0] = client_shm_create(CLIENT_SHM_VERSION, &daemon_.shm);
	fds[1] = daemon_.daemon_shm_fd;
	fds[2] = daemon_.event_fd;
	if (fd >= 0)
		fds[place] = fd;
	for (;;) {
		client = accept(daemon_.listener, NULL, NULL);
		CHECK(protocol_receive(client, &hello, sizeof(hello), NULL, NULL, MEETS_MS) == 0);
		protocol_send(client, &welcome, sizeof(welcome), fds,
			      welcome.status ? 0 : PROTOCOL_WELCOME_FDS);
	}
}

static void finish(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	fake_daemon_remove(&daemon_);
}

static const struct protocol_welcome fine = {.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION};

static void a_daemon_of_another_version(void)
{
	struct protocol_welcome welcome = fine;
	pid_t pid;

	begin();
	welcome.version++;
	pid = answering(welcome, 0, -1);
	fake_start();
	run();
	expect_logged("Protocol error", "use adjacent versions");
	finish(pid);
}

static void a_client_shm_of_the_wrong_size(void)
{
	int fd = memfd_create("lane", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	pid_t pid;

	begin();
	CHECK(ftruncate(fd, 4096) == 0);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	pid = answering(fine, 0, fd);
	fake_start();
	run();
	expect_logged("Protocol error", "use adjacent versions");
	finish(pid);
}

/* The pipe has no reader, so a write to it raises SIGPIPE. */
static void a_wake_that_is_a_pipe(void)
{
	int ends[2];
	pid_t pid;

	begin();
	CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
	pid = answering(fine, 2, ends[1]);
	fake_start();
	run();
	expect_logged("Protocol error", "use adjacent versions");
	finish(pid);
}

static void no_descriptor_left(void)
{
	begin();
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	limit(RLIMIT_NOFILE, 3);
	run();
	expect_logged("(Too many open files), so the work of this process is not scheduled",
		      "raise the limit of open files");
}

/* The limit is reached when the agent's thread runs already. */
static void the_table_fills_later(void)
{
	begin();
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	run();
	fake_sleep_us(100000);
	limit(RLIMIT_NOFILE, 3);
	expect_logged("Too many open files", "raise the limit of open files");
}

static _Atomic unsigned sleeps; /* number of sleeps that the agent's thread has started */

int __real_poll_until_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns);
int __wrap_poll_until_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns);

int __wrap_poll_until_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns)
{
	sleeps++;
	return __real_poll_until_ns(fds, n, moment_ns);
}

/* ppoll() fails if it has more entries than RLIMIT_NOFILE allows. The agent's thread must still
 * sleep, and must see work. */
static void fewer_files_than_are_polled(void)
{
	struct fake_queue q;

	begin();
	fake_start();
	CHECK(fake_queue_create(&q, AQL) == 0);
	fake_sleep_us(100000);
	limit(RLIMIT_NOFILE, 1);
	sleeps = 0;
	fake_sleep_us(1000000);
	CHECK(sleeps > 0 && sleeps <= 250);
	fake_ring(&q, NULL);
	fake_drain(&q);
	EVENTUALLY(__atomic_load_n(&fake.active, __ATOMIC_SEQ_CST) == 0, 1000);
}

/* The socket exists from the start. Its daemon answers once the limit is set. */
static void no_memory_to_map(void)
{
	pid_t pid;

	begin();
	pid = answering(fine, 0, -1);
	kill(pid, SIGSTOP);
	fake_start();
	run();
	fake_sleep_us(100000);
	limit(RLIMIT_AS, 1);
	kill(pid, SIGCONT);
	fake_sleep_us(1500000);
	limit(RLIMIT_AS, RLIM_INFINITY);
	expect_logged("Cannot allocate memory", "raise the limit of memory");
	finish(pid);
}

static void too_many_contexts(void)
{
	begin();
	fake_start();
	run();
	for (int i = 0; i < 70; i++) {
		int fd = memfd_create("kfd", MFD_CLOEXEC);

		CHECK(fake_ioctl(fd, _IO('K', KFDABI_CREATE_PROCESS), NULL) == 0);
	}
	expect_logged("62 KFD contexts", "use fewer");
}

static void no_socket_allowed(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	begin();
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	run();
	expect_logged("Operation not permitted", "in the sandbox");
}

static void with_dir(void (*make)(const char *path))
{
	char path[80];

	begin();
	snprintf(path, sizeof(path), "%s/kfdshim", directory);
	make(path);
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	run();
	expect_logged(path, "it, or set XDG_RUNTIME_DIR");
}

static void make_open(const char *path)
{
	CHECK(mkdir(path, 0700) == 0 && chmod(path, 0770) == 0);
}

static void make_link(const char *path)
{
	CHECK(symlink("/dev/shm", path) == 0);
}

static void make_file(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY, 0700));
}

static void make_foreign(const char *path)
{
	CHECK(mkdir(path, 0700) == 0 && chown(path, 65534, 65534) == 0);
}

static void a_dir_that_others_can_write(void)
{
	with_dir(make_open);
}

static void a_dir_that_is_a_link(void)
{
	with_dir(make_link);
}

static void a_dir_that_is_a_file(void)
{
	with_dir(make_file);
}

/* This case needs root: an ordinary user can neither give a directory away nor open another user's
 * directory of mode 0700. */
static void root_and_a_directory_of_another_user(void)
{
	with_dir(make_foreign);
}

IN_CHILD(unreadable_values)
IN_CHILD(a_socket_that_is_a_file)
IN_CHILD(a_daemon_of_another_version)
IN_CHILD(a_client_shm_of_the_wrong_size)
IN_CHILD(a_wake_that_is_a_pipe)
IN_CHILD(no_descriptor_left)
IN_CHILD(the_table_fills_later)
IN_CHILD(no_memory_to_map)
IN_CHILD(fewer_files_than_are_polled)
IN_CHILD(too_many_contexts)
IN_CHILD(no_socket_allowed)
IN_CHILD(a_dir_that_others_can_write)
IN_CHILD(a_dir_that_is_a_link)
IN_CHILD(a_dir_that_is_a_file)
IN_CHILD(root_and_a_directory_of_another_user)

/* With an argument only the case that needs root runs. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unreadable_values),
		cmocka_unit_test(test_a_socket_that_is_a_file),
		cmocka_unit_test(test_a_daemon_of_another_version),
		cmocka_unit_test(test_a_client_shm_of_the_wrong_size),
		cmocka_unit_test(test_a_wake_that_is_a_pipe),
		cmocka_unit_test(test_no_descriptor_left),
		cmocka_unit_test(test_the_table_fills_later),
		cmocka_unit_test(test_no_memory_to_map),
		cmocka_unit_test(test_fewer_files_than_are_polled),
		cmocka_unit_test(test_too_many_contexts),
		cmocka_unit_test(test_no_socket_allowed),
		cmocka_unit_test(test_a_dir_that_others_can_write),
		cmocka_unit_test(test_a_dir_that_is_a_link),
		cmocka_unit_test(test_a_dir_that_is_a_file),
	};
	const struct CMUnitTest of_root[] = {
		cmocka_unit_test(test_root_and_a_directory_of_another_user),
	};

	(void)argv;
	return argc > 1 ? cmocka_run_group_tests(of_root, NULL, NULL)
			: cmocka_run_group_tests(tests, NULL, NULL);
}
