// SPDX-License-Identifier: MIT
/* Proves: under the worker's filter what a worker does goes on, and what one that was
 * taken over would like to do fails with EPERM, is counted, and kills nobody; also in
 * threads, and on top of the watchdog's, which alone may fork and kill. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/kfd_abi.h"
#include "scheduler/daemon/filter.h"

static volatile uint64_t *refused, *done; /* shared with the children */

/* In a child, where cmocka cannot be told: its exit code is the line. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 250 + 1);                                                 \
	} while (0)
#define REFUSED(call)                                                                              \
	do {                                                                                       \
		uint64_t before = *refused;                                                        \
		errno = 0;                                                                         \
		MUST((long)(call) == -1 && errno == EPERM);                                        \
		MUST(*refused == before + 1);                                                      \
	} while (0)

static void in_a_child(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		fail_msg("%s %d", WIFSIGNALED(status) ? "signal" : "line (modulo 250, and 1)",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void *in_a_thread(void *arg)
{
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	return arg;
}

static void work_goes_on(void)
{
	pthread_t thread;
	int fd = eventfd(0, EFD_NONBLOCK);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct kfdabi_dbg_trap args = {0};
	FILE *f = fopen("/proc/self/stat", "re");

	MUST(fd >= 0 && null >= 0 && f);
	MUST(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0);
	fclose(f);
	/* as the driver answers, here none */
	MUST(ioctl(null, KFDABI_IOC_DBG_TRAP, &args) == -1 && errno == ENOTTY);
	MUST(ptrace(PTRACE_INTERRUPT, getppid(), NULL, NULL) == -1 && errno == ESRCH);
	MUST(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(prctl(PR_SET_NAME, "name") == 0);
}

static void others_are_refused(void)
{
	char *const nothing[] = {NULL};

	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(execve("/bin/true", nothing, nothing));
	REFUSED(open("/tmp/never", O_RDWR | O_CREAT, 0600));
	REFUSED(open("/tmp", O_RDWR | O_TMPFILE, 0600));
	REFUSED(open("/dev/null", O_WRONLY));
	REFUSED(open("/dev/null", O_RDWR | O_TRUNC));
	REFUSED(unlink("/nowhere/at/all"));
	REFUSED(kill(getppid(), 0));
	REFUSED(ptrace(PTRACE_POKEDATA, getppid(), NULL, NULL));
	REFUSED(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	REFUSED(ioctl(0, TIOCSTI, "x"));
	REFUSED(ioctl(0, AMDKFD_IOC_CREATE_QUEUE, NULL));
	REFUSED(unshare(CLONE_NEWUSER));
	REFUSED(mount("none", "/", "none", 0, NULL));
	REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	REFUSED(syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0));
	REFUSED(setuid(0));
}

static void a_worker(void)
{
	MUST(filter_install(FILTER_WORKER, (uint64_t *)refused) == 0);
	work_goes_on();
	others_are_refused();
}

static void a_watchdog(void)
{
	int status;
	pid_t pid;

	MUST(filter_install(FILTER_WATCHDOG, (uint64_t *)refused) == 0);
	work_goes_on();
	REFUSED(execve("/bin/true", (char *const[]){NULL}, (char *const[]){NULL}));
	REFUSED(open("/dev/null", O_WRONLY));
	REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	MUST(close(socket(AF_UNIX, SOCK_DGRAM, 0)) == 0);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		a_worker();
		*done = 1;
		poll(NULL, 0, -1);
	}
	/* it ends by itself only if something is wrong */
	for (int i = 0; i < 100 && *done == 0; i++)
		poll(NULL, 0, 100);
	MUST(*done == 1);
	MUST(kill(pid, SIGKILL) == 0);
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFSIGNALED(status));
}

static void a_workers_filter(void **state)
{
	(void)state;
	in_a_child(a_worker);
}

static void a_watchdogs_filter_and_a_workers(void **state)
{
	(void)state;
	in_a_child(a_watchdog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_workers_filter),
		cmocka_unit_test(a_watchdogs_filter_and_a_workers),
	};

	refused = mmap(NULL, 2 * sizeof(*refused), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	done = refused + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
