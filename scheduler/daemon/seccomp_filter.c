// SPDX-License-Identifier: MIT
#include "scheduler/daemon/seccomp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "kfd/uapi.h"
#include "scheduler/daemon/log.h"

#define CALLS 1024 /* larger call numbers share one entry */
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* glibc names its memory */
#endif

#ifndef NS_GET_TGID_FROM_PIDNS
#define NS_GET_TGID_FROM_PIDNS _IOR(NSIO, 0x7, int)
#endif

#define IOCTL_MASK 0xffffu /* type and number only, because KFD's structs may grow */
#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
	 CLONE_NEWCGROUP)

/* Calls that each process can make with any arguments. */
static const int basic[] = {
	/* open descriptors */
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	/* waiting */
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(futex),
	SCMP_SYS(restart_syscall),
	/* time and memory */
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(madvise),
	/* the process itself; a sanitizer calls sigaltstack when a thread ends */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
};

/* All processes except those that accept connections, serve metrics, or write the recording or
 * the log. */
static const int common[] = {
	/* files and pipes; open descriptors */
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(readv),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(getcwd),
	SCMP_SYS(dup),
	SCMP_SYS(pipe2),
	SCMP_SYS(eventfd2),
	SCMP_SYS(signalfd4),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(memfd_create),
	/* waiting */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_getres),
	SCMP_SYS(sched_yield),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	/* memory */
	SCMP_SYS(mmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(getrandom),
	/* the process itself */
	SCMP_SYS(getppid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getrusage),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(rseq),
	SCMP_SYS(membarrier),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(sched_get_priority_min),
	SCMP_SYS(sched_get_priority_max),
	SCMP_SYS(getpriority),
	SCMP_SYS(getcpu),
	/* targets; peers on kernels without SO_PEERPIDFD */
	SCMP_SYS(pidfd_open),
};

/* Calls on open sockets. Not for an executor process, which has no sockets, and not for
 * kfdschedd-read, which uses read() and write() on one. */
static const int sockets[] = {
	SCMP_SYS(accept4),     SCMP_SYS(recvmsg),     SCMP_SYS(recvfrom),   SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),      SCMP_SYS(shutdown),    SCMP_SYS(getsockopt), SCMP_SYS(setsockopt),
	SCMP_SYS(getsockname), SCMP_SYS(getpeername),
};

/* The watchdog: its lock, its socket file, its children, and what a worker does at its start.
 * Also what the child that reads the configuration needs to resolve user names (nscd, sssd and
 * systemd are reached by AF_UNIX sockets). */
static const int watchdogs[] = {
	SCMP_SYS(flock),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(kill),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(seccomp),
	SCMP_SYS(prctl),
	SCMP_SYS(connect),
	SCMP_SYS(fcntl),
	SCMP_SYS(tgkill),
	SCMP_SYS(mlock),
	SCMP_SYS(mlockall),
	SCMP_SYS(landlock_create_ruleset),
	SCMP_SYS(landlock_restrict_self),
	/* kfdschedd-door */
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(close_range),
};

/* The process that accepts connections: calls with any arguments. */
static const int doors[] = {
	/* connections */
	SCMP_SYS(accept4),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockopt),
	SCMP_SYS(epoll_create1),
	/* processes that close descriptors that may block */
	SCMP_SYS(pipe2),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(close_range),
	SCMP_SYS(wait4),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	/* memory; the process itself */
	SCMP_SYS(mmap),
	SCMP_SYS(geteuid),
};

/* The fcntl(2) commands of a worker. F_SETOWN and F_SETSIG could send a signal to any process,
 * so they are not in the list. */
static const unsigned fcntls[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_ADD_SEALS, F_GET_SEALS,
};

/* The ptrace(2) requests of a tracer that does not change its targets: no access to memory or
 * registers. */
static const unsigned traces[] = {
	PTRACE_INTERRUPT,
	PTRACE_CONT,
	PTRACE_LISTEN,
	PTRACE_DETACH,
};

static const uint32_t driver_ioctls[] = {KFDABI_IOC_GET_VERSION & IOCTL_MASK,
					 KFDABI_IOC_DBG_TRAP &IOCTL_MASK};

static const uint32_t client_ioctls[] = {SIOCOUTQ}; /* has a client read all that was sent to it? */
static const uint32_t reader_ioctls[] = {NS_GET_TGID_FROM_PIDNS & IOCTL_MASK};

static uint64_t *refused_calls;
static uint64_t refused_here;		   /* number of calls refused to this process */
static uint8_t refused_numbers[CALLS + 1]; /* 1: refused; 2: refused and logged */

static int allow(scmp_filter_ctx filter, int call)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
}

static int allow_all(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = allow(filter, calls[i]);
	return error;
}

/* For abort(3). A filter is installed by the process to which it applies, so getpid() is the
 * right number. Only the watchdog's filter, which its children inherit, allows signals to
 * others. */
static int allow_abort(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
}

/* Priorities, limits and signals, for the calling process only. */
static int allow_on_itself(scmp_filter_ctx filter, bool worker)
{
	int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				     SCMP_A0(SCMP_CMP_EQ, 0));

	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_setscheduler), 1,
					 SCMP_A0(SCMP_CMP_EQ, 0));
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setpriority), 2,
					 SCMP_A0(SCMP_CMP_EQ, PRIO_PROCESS),
					 SCMP_A1(SCMP_CMP_EQ, 0));
	if (!error && worker)
		error = allow_abort(filter);
	return error;
}

static int allow_ioctls(scmp_filter_ctx filter, const uint32_t *list, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
					 SCMP_A1(SCMP_CMP_MASKED_EQ, IOCTL_MASK, list[i]));
	return error;
}

/* PTRACE_SEIZE without options, because PTRACE_O_EXITKILL would kill the target when its tracer
 * ends. */
static int allow_tracing(scmp_filter_ctx filter)
{
	int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 2,
				     SCMP_A0(SCMP_CMP_EQ, PTRACE_SEIZE), SCMP_A3(SCMP_CMP_EQ, 0));

	for (size_t i = 0; i < COUNT(traces) && !error; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 1,
					 SCMP_A0(SCMP_CMP_EQ, traces[i]));
	return error;
}

static int allow_driver(scmp_filter_ctx filter)
{
	int error = allow_ioctls(filter, driver_ioctls, COUNT(driver_ioctls));

	return error ? error : allow_tracing(filter);
}

static int allow_clients(scmp_filter_ctx filter)
{
	int error = allow_all(filter, sockets, COUNT(sockets));

	return error ? error : allow_ioctls(filter, client_ioctls, COUNT(client_ioctls));
}

/* The log may be a socket. */
static int allow_log(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendto), 2,
				SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO), SCMP_A4(SCMP_CMP_EQ, 0));
}

/* Calls that depend on arguments. */
static int allow_some(scmp_filter_ctx filter, enum filter_role role)
{
	bool worker = role != FILTER_WATCHDOG; /* any role but the watchdog */
	const scmp_datum_t never =
		O_WRONLY | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY) | (worker ? O_CREAT : 0);
	int error;

	/* Open for reading; and /dev/kfd for reading and writing. No role may truncate a file,
	 * and only the watchdog may create one (its lock). */
	error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				 SCMP_A2(SCMP_CMP_MASKED_EQ, never, 0));
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
					 SCMP_A1(SCMP_CMP_MASKED_EQ, never, 0));
	if (!error && (role == FILTER_EXECUTOR || role == FILTER_WATCHDOG))
		error = allow_driver(filter);
	if (!error && (role == FILTER_READER || role == FILTER_WATCHDOG))
		error = allow_ioctls(filter, reader_ioctls, COUNT(reader_ioctls));
	if (!error && (role == FILTER_EXECUTOR || role == FILTER_READER))
		error = allow_log(filter);
	if (!error)
		error = allow_on_itself(filter, worker);
	for (size_t i = 0; i < COUNT(fcntls) && !error && worker; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
					 SCMP_A1(SCMP_CMP_EQ, fcntls[i]));
	/* Children of the watchdog can create threads; the watchdog can create processes, too. A
	 * filter cannot read the flags of clone3, so clone3 fails with ENOSYS and the C library
	 * uses clone. */
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
					 SCMP_A0(SCMP_CMP_MASKED_EQ,
						 NAMESPACES | (worker ? CLONE_THREAD : 0),
						 worker ? CLONE_THREAD : 0));
	if (!error && worker)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
					 SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
	if (!error && worker)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
					 SCMP_A0(SCMP_CMP_EQ, PR_SET_VMA));
	/* for sd_notify and for names of users */
	if (!error && !worker)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
					 SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	return error;
}

/* Calls that HTTP over a listening socket needs. No file can be opened; the only new descriptors
 * are accepted connections. */
static const int servers[] = {
	SCMP_SYS(readv),  SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(mremap), SCMP_SYS(getrandom),
};

static int allow_serving(scmp_filter_ctx filter)
{
	static const int memory[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
	static const unsigned flags[] = {F_GETFL, F_SETFL};
	int error = allow_all(filter, servers, COUNT(servers));

	if (!error)
		error = allow_all(filter, sockets, COUNT(sockets));
	/* No executable memory, so that no code can be written. */
	for (size_t i = 0; i < COUNT(memory) && !error; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, memory[i], 1,
					 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	for (size_t i = 0; i < COUNT(flags) && !error; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
					 SCMP_A1(SCMP_CMP_EQ, flags[i]));
	return error ? error : allow_abort(filter);
}

/* The register with the result of a system call, in the context of a signal handler. */
#if defined(__x86_64__)
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#endif

#ifdef RESULT
/* Handler of SIGSYS: the call was not made, and this sets its result. It only stores values,
 * because it runs in a signal handler. */
static void refuse(int signal, siginfo_t *info, void *context)
{
	unsigned number = (unsigned)info->si_syscall;

	(void)signal;
	RESULT((ucontext_t *)context) = -EPERM;
	if (number > CALLS)
		number = CALLS;
	if (__atomic_load_n(&refused_numbers[number], __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&refused_numbers[number], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&refused_here, 1, __ATOMIC_RELEASE);
	if (refused_calls)
		__atomic_fetch_add(refused_calls, 1, __ATOMIC_RELAXED);
}
#endif

/* The process that accepts connections: calls that depend on arguments. */
static int allow_admission(scmp_filter_ctx filter)
{
	int error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
					 SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES | CLONE_THREAD, 0));
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
					 SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG));
	return error;
}

static int allow_role(scmp_filter_ctx filter, enum filter_role role)
{
	int error = allow_all(filter, basic, COUNT(basic));

	if (error)
		return error;
	if (role == FILTER_METRICS)
		return allow_serving(filter);
	if (role == FILTER_RECORD) {
		error = allow_log(filter);
		return error ? error : allow_abort(filter);
	}
	if (role == FILTER_ADMISSION) {
		error = allow_all(filter, doors, COUNT(doors));
		return error ? error : allow_admission(filter);
	}
	error = allow_all(filter, common, COUNT(common));
	if (!error && (role == FILTER_WORKER || role == FILTER_WATCHDOG))
		error = allow_clients(filter);
	if (!error && role == FILTER_WATCHDOG)
		error = allow_all(filter, watchdogs, COUNT(watchdogs));
	return error ? error : allow_some(filter, role);
}

int filter_install(enum filter_role role, uint64_t *refused)
{
	uint32_t otherwise = SCMP_ACT_ERRNO(EPERM);
	scmp_filter_ctx filter;
	int error;

	refused_calls = refused;
#ifdef RESULT
	const struct sigaction action = {.sa_sigaction = refuse,
					 .sa_flags = SA_SIGINFO | SA_RESTART};

	if (sigaction(SIGSYS, &action, NULL) == 0)
		otherwise = SCMP_ACT_TRAP;
#endif
	filter = seccomp_init(otherwise);
	if (!filter)
		return -ENOMEM;
	/* Otherwise a call of another architecture's table would kill the thread. */
	error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, otherwise);
	if (!error)
		error = allow_role(filter, role);
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	return error;
}

void filter_report(void)
{
	static uint64_t reported;
	uint64_t now = __atomic_load_n(&refused_here, __ATOMIC_ACQUIRE);

	if (now == reported)
		return;
	reported = now;
	for (int i = 0; i <= CALLS; i++) {
		char *name;

		if (__atomic_load_n(&refused_numbers[i], __ATOMIC_RELAXED) != 1)
			continue;
		__atomic_store_n(&refused_numbers[i], 2, __ATOMIC_RELAXED);
		name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
		log_error("system call %s was refused by the daemon's own seccomp filter; "
			  "please report this",
			  name ? name : "with an unknown number");
		free(name);
	}
}
