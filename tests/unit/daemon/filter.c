// SPDX-License-Identifier: MIT
/* Proves, for the seccomp filters of the daemon's processes:
 *  - Under the filters of worker and executor process their normal work succeeds. Every call
 *    that an attacker in such a process could use fails with EPERM, is counted, and does not
 *    kill the process. This also holds in threads, and on top of the watchdog's filter.
 *  - Only the watchdog can fork and kill. Only an executor process can trace and call the
 *    driver. Only a worker can use sockets.
 *  - The process that serves metrics can serve a connection and nothing else.
 *  - The process that accepts connections can accept and fork. It cannot open files, send
 *    signals or change the protection of memory.
 *  - The process that writes a recording can read and write its open descriptors and nothing
 *    else. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel/client_shm.h"
#include "kfd/uapi.h"
#include "scheduler/daemon/privileges.h"
#include "tests/lib/processes.h"

#define NO_PROCESS (1 << 22) /* above every possible PID */

static volatile uint64_t *refused, *done; /* in memory that is shared with the children */
static int pair[2];			  /* connected sockets */

#define REFUSED(call)                                                                              \
	do {                                                                                       \
		uint64_t before = *refused;                                                        \
		errno = 0;                                                                         \
		MUST((long)(call) == -1 && errno == EPERM);                                        \
		MUST(*refused == before + 1);                                                      \
	} while (0)

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
	FILE *f = fopen("/proc/self/stat", "re");

	MUST(fd >= 0 && null >= 0 && f);
	MUST(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0);
	fclose(f);
	MUST(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(prctl(PR_SET_NAME, "name") == 0);
}

/* System calls that no process of the daemon uses, whatever their arguments. */
static const long absent[] = {
	/* start of programs and processes */
	SYS_execveat,
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
#endif
	SYS_setns,
	SYS_unshare,
	/* signals */
	SYS_tkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_pidfd_send_signal,
	SYS_timer_create,
	SYS_mq_notify,
	/* access to other processes */
	SYS_pidfd_getfd,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_sched_setparam,
	SYS_sched_setattr,
	SYS_sched_setaffinity,
	SYS_ioprio_set,
	SYS_migrate_pages,
	SYS_move_pages,
	SYS_kcmp,
	SYS_perf_event_open,
	/* files */
	SYS_openat2,
#ifdef SYS_creat
	SYS_creat,
	SYS_mknod,
	SYS_mkdir,
	SYS_rename,
	SYS_link,
	SYS_symlink,
	SYS_chmod,
	SYS_chown,
#endif
	SYS_mknodat,
	SYS_mkdirat,
	SYS_renameat2,
	SYS_linkat,
	SYS_symlinkat,
	SYS_fchmod,
	SYS_fchmodat,
	SYS_fchown,
	SYS_fchownat,
	SYS_truncate,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_setxattr,
	SYS_open_by_handle_at,
	/* sockets */
	SYS_socketpair,
	SYS_bind,
	SYS_listen,
	/* other calls with a large attack surface */
	SYS_bpf,
	SYS_io_uring_setup,
	SYS_io_setup,
	SYS_userfaultfd,
	SYS_keyctl,
	SYS_add_key,
	SYS_init_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_chroot,
	SYS_pivot_root,
	SYS_umount2,
	SYS_setuid,
	SYS_setgid,
	SYS_setgroups,
	SYS_setresuid,
	SYS_personality,
};

static void absent_are_refused(void)
{
	for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++)
		REFUSED(syscall(absent[i], -1L, -1L, -1L, -1L, -1L, -1L));
#ifdef __x86_64__
	REFUSED(syscall(0x40000000L | SYS_getpid)); /* a call of the x32 table */
#endif
}

static void itself_alone(void)
{
	struct sched_param ordinary = {.sched_priority = 0};
	struct rlimit limit;
	pid_t parent = getppid();

	MUST(sched_setscheduler(0, SCHED_OTHER, &ordinary) == 0);
	MUST(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)) == 0);
	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	REFUSED(sched_setscheduler(parent, SCHED_OTHER, &ordinary));
	/* The filter lets some of these arguments pass. The call must then change nothing, or find
	 * no target. */
	REFUSED(setpriority(PRIO_PROCESS, (id_t)parent, getpriority(PRIO_PROCESS, (id_t)parent)));
	REFUSED(setpriority(PRIO_PGRP, NO_PROCESS, 0));
	REFUSED(setpriority(PRIO_USER, 0x7ffffffe, 0));
	REFUSED(prlimit(parent, RLIMIT_NOFILE, NULL, &limit));
}

static void no_signal_to_others(void)
{
	struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = getppid()};
	pid_t parent = getppid();
	int ends[2];

	MUST(pipe2(ends, O_CLOEXEC) == 0);
	MUST(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && (fcntl(ends[0], F_GETFL) & O_NONBLOCK));
	MUST(fcntl(ends[0], F_DUPFD_CLOEXEC, 0) >= 0);
	REFUSED(fcntl(ends[0], F_SETOWN, parent));
	REFUSED(fcntl(ends[0], F_SETOWN_EX, &owner));
	REFUSED(fcntl(ends[0], F_SETSIG, SIGKILL));
	REFUSED(fcntl(ends[0], F_NOTIFY, DN_MODIFY));
	REFUSED(fcntl(ends[0], F_SETLEASE, F_RDLCK));
	REFUSED(ioctl(ends[0], FIOSETOWN, &parent));
	MUST(syscall(SYS_tgkill, getpid(), gettid(), 0) == 0);
	REFUSED(syscall(SYS_tgkill, parent, parent, 0));
	REFUSED(kill(parent, 0));
	REFUSED(kill(getpid(), 0));
	/* PTRACE_O_EXITKILL would kill the target when the tracer ends. */
	REFUSED(ptrace(PTRACE_SEIZE, NO_PROCESS, NULL, (void *)PTRACE_O_EXITKILL));
	REFUSED(ptrace(PTRACE_KILL, parent, NULL, NULL));
}

static void client_shm_is_made(void)
{
	struct daemon_shm *daemon_shm;
	struct client_shm *shm;
	int fd = client_shm_create(CLIENT_SHM_VERSION, &shm),
	    daemon_shm_fd = daemon_shm_create(CLIENT_SHM_VERSION, &daemon_shm);
	struct stat st;

	MUST(fd >= 0 && fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(*shm));
	MUST(daemon_shm_fd >= 0);
	MUST(shm->magic == CLIENT_SHM_MAGIC);
	close(fd);
	close(daemon_shm_fd);
}

static void others_are_refused(void)
{
	char *const nothing[] = {NULL};

	absent_are_refused();
	itself_alone();
	no_signal_to_others();
	client_shm_is_made();
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(execve("/bin/true", nothing, nothing));
	REFUSED(open("/tmp/never", O_RDWR | O_CREAT, 0600));
	REFUSED(open("/tmp", O_RDWR | O_TMPFILE, 0600));
	REFUSED(open("/dev/null", O_WRONLY));
	REFUSED(open("/dev/null", O_RDWR | O_TRUNC));
	REFUSED(unlink("/nowhere/at/all"));
	REFUSED(connect(0, NULL, 0));
	REFUSED(flock(0, LOCK_EX));
	REFUSED(ptrace(PTRACE_POKEDATA, getppid(), NULL, NULL));
	REFUSED(ptrace(PTRACE_PEEKDATA, getppid(), NULL, NULL));
	REFUSED(ptrace(PTRACE_SETREGSET, getppid(), NULL, NULL));
	REFUSED(ptrace(PTRACE_SETOPTIONS, getppid(), NULL, PTRACE_O_EXITKILL));
	REFUSED(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	REFUSED(ioctl(0, TIOCSTI, "x"));
	REFUSED(ioctl(0, AMDKFD_IOC_CREATE_QUEUE, NULL));
	REFUSED(unshare(CLONE_NEWUSER));
	REFUSED(mount("none", "/", "none", 0, NULL));
	REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static void driver_is_called(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct kfdabi_dbg_trap args = {0};

	/* The call must reach the file: /dev/null answers every ioctl with ENOTTY. */
	MUST(ioctl(null, KFDABI_IOC_DBG_TRAP, &args) == -1 && errno == ENOTTY);
	MUST(ptrace(PTRACE_SEIZE, NO_PROCESS, NULL, NULL) == -1 && errno == ESRCH);
	MUST(ptrace(PTRACE_INTERRUPT, getppid(), NULL, NULL) == -1 && errno == ESRCH);
	close(null);
}

static void a_worker(void)
{
	struct kfdabi_dbg_trap args = {0};
	char byte;

	MUST(filter_install(FILTER_WORKER, (uint64_t *)refused) == 0);
	work_goes_on();
	others_are_refused();
	REFUSED(ioctl(0, KFDABI_IOC_DBG_TRAP, &args));
	REFUSED(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
	REFUSED(ptrace(PTRACE_INTERRUPT, getppid(), NULL, NULL));
	MUST(recv(pair[0], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
}

/* Opens a listening socket on loopback and a second socket that is connected to it. */
static void listen_and_connect(int *listener, int *client)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(here);

	*listener = socket(AF_INET, SOCK_STREAM, 0);
	*client = socket(AF_INET, SOCK_STREAM, 0);
	MUST(bind(*listener, (struct sockaddr *)&here, size) == 0 && listen(*listener, 1) == 0);
	MUST(getsockname(*listener, (struct sockaddr *)&here, &size) == 0);
	MUST(connect(*client, (struct sockaddr *)&here, size) == 0);
}

/* The metrics server can serve one connection and do nothing else. */
static void a_metrics_server(void)
{
	int listener, client, connection, epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	pid_t parent = getppid();
	void *page;
	char byte;

	listen_and_connect(&listener, &client);
	/* The watchdog's filter comes first, because in the daemon this process is a child of the
	 * watchdog. */
	MUST(filter_install(FILTER_WATCHDOG, (uint64_t *)refused) == 0);
	MUST(filter_install(FILTER_METRICS, (uint64_t *)refused) == 0);
	connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	MUST(connection >= 0);
	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, connection, &event) == 0);
	MUST(send(client, "x", 1, MSG_NOSIGNAL) == 1);
	MUST(epoll_wait(epoll, &event, 1, 10000) == 1 && recv(connection, &byte, 1, 0) == 1);
	free(malloc(1 << 20));
	absent_are_refused();
	REFUSED(open("/dev/null", O_RDONLY));
	REFUSED(openat(AT_FDCWD, "/proc/self/maps", O_RDONLY));
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(connect(client, NULL, 0));
	REFUSED(execve("/bin/true", (char *const[]){NULL}, (char *const[]){NULL}));
	REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	REFUSED(syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, 0, 0, 0, 0));
	REFUSED(kill(parent, 0));
	REFUSED(syscall(SYS_tgkill, parent, parent, 0));
	REFUSED(fcntl(listener, F_SETOWN, parent));
	REFUSED(fcntl(listener, F_DUPFD, 0));
	REFUSED(ioctl(listener, FIOSETOWN, &parent));
	REFUSED(ioctl(listener, KFDABI_IOC_DBG_TRAP, NULL));
	REFUSED(ptrace(PTRACE_SEIZE, parent, NULL, NULL));
	REFUSED(syscall(SYS_pidfd_open, parent, 0));
	REFUSED(memfd_create("x", MFD_CLOEXEC));
	REFUSED(prlimit(0, RLIMIT_NOFILE, NULL, NULL));
	REFUSED(setpriority(PRIO_PROCESS, 0, 0));
	REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	REFUSED(readlink("/proc/self/exe", &byte, 1));
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(page != MAP_FAILED);
	REFUSED(mprotect(page, 4096, PROT_READ | PROT_EXEC));
	REFUSED(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void a_admission(void)
{
	struct iovec iov = {.iov_base = (char[1]){0}, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	char *const nothing[] = {NULL};
	pid_t parent = getppid(), child;
	void *page;
	int status;

	/* The watchdog's filter comes first, because in the daemon this process is a child of the
	 * watchdog. */
	MUST(filter_install(FILTER_WATCHDOG, (uint64_t *)refused) == 0);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(page != MAP_FAILED && filter_install(FILTER_ADMISSION, (uint64_t *)refused) == 0);
	MUST(recvmsg(pair[0], &msg, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	/* The process forks helpers that close descriptors (each close() can block). */
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		_exit(0);
	MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	absent_are_refused();
	REFUSED(mprotect(page, 4096, PROT_READ | PROT_WRITE));
	REFUSED(open("/dev/null", O_RDONLY));
	REFUSED(openat(AT_FDCWD, "/proc/self/maps", O_RDONLY));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(connect(pair[0], NULL, 0));
	REFUSED(execve("/bin/true", nothing, nothing));
	REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	REFUSED(syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, 0, 0, 0, 0));
	REFUSED(kill(parent, 0));
	REFUSED(syscall(SYS_tgkill, parent, parent, 0));
	REFUSED(fcntl(pair[0], F_SETOWN, parent));
	REFUSED(ioctl(pair[0], FIOSETOWN, &parent));
	REFUSED(ioctl(pair[0], KFDABI_IOC_DBG_TRAP, NULL));
	REFUSED(ptrace(PTRACE_SEIZE, parent, NULL, NULL));
	REFUSED(syscall(SYS_pidfd_open, parent, 0));
	REFUSED(prlimit(0, RLIMIT_NOFILE, NULL, NULL));
	REFUSED(setpriority(PRIO_PROCESS, 0, 0));
	REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	REFUSED(unlink("/nowhere/at/all"));
}

static void log_to_a_socket(void)
{
	MUST(dup2(pair[0], STDERR_FILENO) == STDERR_FILENO);
}

static void an_executor(void)
{
	char byte = 0;

	MUST(filter_install(FILTER_EXECUTOR, (uint64_t *)refused) == 0);
	work_goes_on();
	others_are_refused();
	driver_is_called();
	REFUSED(recv(pair[0], &byte, 1, MSG_DONTWAIT));
	REFUSED(send(pair[0], &byte, 1, MSG_DONTWAIT));
	REFUSED(accept4(pair[0], NULL, NULL, 0));
	MUST(send(STDERR_FILENO, &byte, 1, MSG_DONTWAIT) == 1);
}

/* kfdschedd-read can read files of other processes and do nothing else. */
static void a_reader(void)
{
	struct kfdabi_dbg_trap args = {0};
	char byte = 0;

	MUST(filter_install(FILTER_READER, (uint64_t *)refused) == 0);
	work_goes_on();
	others_are_refused();
	MUST(write(pair[0], &byte, 1) == 1 && read(pair[1], &byte, 1) == 1);
	REFUSED(ioctl(0, KFDABI_IOC_DBG_TRAP, &args));
	REFUSED(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
	REFUSED(recv(pair[0], &byte, 1, MSG_DONTWAIT));
	REFUSED(accept4(pair[0], NULL, NULL, 0));
}

/* kfdschedd-rec can read a pipe, write a file and send a log line, and do nothing else. */
static void a_recorder(void)
{
	pid_t parent = getppid();
	char byte = 0;

	log_to_a_socket();
	/* The watchdog's filter comes first, because in the daemon this process is a child of the
	 * watchdog. */
	MUST(filter_install(FILTER_WATCHDOG, (uint64_t *)refused) == 0);
	MUST(filter_install(FILTER_RECORD, (uint64_t *)refused) == 0);
	MUST(write(pair[0], &byte, 1) == 1 && read(pair[1], &byte, 1) == 1);
	MUST(send(STDERR_FILENO, &byte, 1, MSG_DONTWAIT) == 1);
	absent_are_refused();
	REFUSED(send(pair[1], &byte, 1, MSG_DONTWAIT));
	REFUSED(recv(pair[1], &byte, 1, MSG_DONTWAIT));
	REFUSED(open("/dev/null", O_RDONLY));
	REFUSED(openat(AT_FDCWD, "/proc/self/maps", O_RDONLY));
	REFUSED(unlink("/nowhere/at/all"));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(execve("/bin/true", (char *const[]){NULL}, (char *const[]){NULL}));
	REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	REFUSED(syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, 0, 0, 0, 0));
	REFUSED(kill(parent, 0));
	REFUSED(syscall(SYS_tgkill, parent, parent, 0));
	REFUSED(fcntl(pair[1], F_SETOWN, parent));
	REFUSED(ioctl(0, KFDABI_IOC_DBG_TRAP, NULL));
	REFUSED(ptrace(PTRACE_SEIZE, parent, NULL, NULL));
	REFUSED(prlimit(0, RLIMIT_NOFILE, NULL, NULL));
	REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	REFUSED(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void an_executor_alone(void)
{
	log_to_a_socket();
	an_executor();
}

/* Runs `what` in a forked child, as the watchdog starts its processes, and kills the child. */
static void forked(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		what();
		*done = 1;
		poll(NULL, 0, -1);
	}
	/* If a check fails in the child, the child ends by itself and `done` stays 0. */
	for (int i = 0; i < 100 && *done == 0; i++)
		poll(NULL, 0, 100);
	MUST(*done == 1);
	*done = 0;
	MUST(kill(pid, SIGKILL) == 0);
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFSIGNALED(status));
}

static void a_watchdog(void)
{
	log_to_a_socket();
	MUST(filter_install(FILTER_WATCHDOG, (uint64_t *)refused) == 0);
	work_goes_on();
	driver_is_called();
	REFUSED(execve("/bin/true", (char *const[]){NULL}, (char *const[]){NULL}));
	REFUSED(open("/dev/null", O_WRONLY));
	REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	MUST(close(socket(AF_UNIX, SOCK_DGRAM, 0)) == 0);
	forked(a_worker);
	forked(an_executor);
	forked(a_reader);
}

static void a_workers_filter(void **state)
{
	(void)state;
	in_a_child(a_worker);
}

static void a_servers_filter(void **state)
{
	(void)state;
	in_a_child(a_metrics_server);
}

static void a_doors_filter(void **state)
{
	(void)state;
	in_a_child(a_admission);
}

static void an_executors_filter(void **state)
{
	(void)state;
	in_a_child(an_executor_alone);
}

static void a_readers_filter(void **state)
{
	(void)state;
	in_a_child(a_reader);
}

static void a_recorders_filter(void **state)
{
	(void)state;
	in_a_child(a_recorder);
}

static void a_watchdogs_filter_and_theirs(void **state)
{
	(void)state;
	in_a_child(a_watchdog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_workers_filter),
		cmocka_unit_test(an_executors_filter),
		cmocka_unit_test(a_readers_filter),
		cmocka_unit_test(a_watchdogs_filter_and_theirs),
		cmocka_unit_test(a_servers_filter),
		cmocka_unit_test(a_doors_filter),
		cmocka_unit_test(a_recorders_filter),
	};

	refused = mmap(NULL, 2 * sizeof(*refused), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	done = refused + 1;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
