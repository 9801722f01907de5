// SPDX-License-Identifier: MIT
#include "scheduler/daemon/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
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

#define NICE (-15)
#define NICE_ADMISSION (-5)
#define CALLS 1024 /* larger call numbers share one entry */
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* glibc names its memory */
#endif

#ifndef NS_GET_TGID_FROM_PIDNS
#define NS_GET_TGID_FROM_PIDNS _IOR(NSIO, 0x7, int)
#endif

/* Mask for the type and number of an ioctl request. The size is not compared, because structs of
 * KFD may grow. */
#define IOCTL_MASK 0xffffu
#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
	 CLONE_NEWCGROUP)

/* ---- filters of system calls ---- */

/* System calls that are allowed with any arguments: names, separated by one blank. */

/* Calls of each process. */
static const char basic[] =
	/* open descriptors */
	"read write writev close "
	/* waiting */
	"poll ppoll epoll_ctl epoll_wait epoll_pwait futex restart_syscall "
	/* time and memory */
	"clock_gettime gettimeofday time brk munmap madvise "
	/* the process itself; a sanitizer calls sigaltstack when a thread ends */
	"getpid gettid exit exit_group rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack";

/* Calls of all processes except those that accept connections, serve metrics, or write the
 * recording or the log. */
static const char common[] =
	/* files and pipes; open descriptors */
	"pread64 pwrite64 readv lseek fstat stat lstat newfstatat statx access faccessat faccessat2 "
	"readlink readlinkat getdents64 getcwd dup pipe2 eventfd2 signalfd4 timerfd_create "
	"timerfd_settime memfd_create "
	/* waiting */
	"epoll_create1 epoll_pwait2 nanosleep clock_nanosleep clock_getres sched_yield wait4 waitid "
	/* memory */
	"mmap mremap mprotect getrandom "
	/* the process itself */
	"getppid getuid geteuid getgid getegid uname sysinfo getrusage set_robust_list "
	"set_tid_address rseq membarrier sched_getaffinity sched_getparam sched_getscheduler "
	"sched_get_priority_min sched_get_priority_max getpriority getcpu "
	/* targets; peers on kernels without SO_PEERPIDFD */
	"pidfd_open";

/* Calls on open sockets. They are not allowed for an executor process, which has no sockets, and
 * for kfdschedd-read, which uses read() and write() on its one socket. */
static const char sockets[] =
	"accept4 recvmsg recvfrom sendmsg sendto shutdown getsockopt setsockopt "
	"getsockname getpeername";

/* Calls of the watchdog: for its lock, its socket file, its children, and the start of a worker.
 * The child that reads the configuration also needs some of them to resolve user names (nscd, sssd
 * and systemd are reached by AF_UNIX sockets). */
static const char watchdogs[] =
	"flock unlink unlinkat kill capget capset seccomp prctl connect fcntl tgkill mlock mlockall "
	"landlock_create_ruleset landlock_restrict_self "
	/* kfdschedd-door */
	"dup2 dup3 close_range";

/* Calls of the process that accepts connections. */
static const char doors[] =
	/* connections */
	"accept4 recvmsg sendmsg sendto shutdown getsockopt epoll_create1 "
	/* processes that close descriptors that may block */
	"pipe2 dup2 dup3 close_range wait4 set_robust_list rseq "
	/* memory; the process itself */
	"mmap geteuid";

/* Calls that HTTP over a listening socket needs. No file can be opened; the only new descriptors
 * are accepted connections. */
static const char servers[] = "readv nanosleep clock_nanosleep mremap getrandom";

/* Sets of roles. */
#define ROLE(name) (1u << FILTER_##name)
#define WATCHDOG ROLE(WATCHDOG)
#define WORKERS (ROLE(WORKER) | ROLE(EXECUTOR) | ROLE(READER))
#define TRACERS (ROLE(EXECUTOR) | WATCHDOG)
#define LOGGERS (ROLE(EXECUTOR) | ROLE(READER) | ROLE(RECORD))

static const struct {
	unsigned roles;
	const char *calls;
} lists[] = {
	{~0u, basic},
	{WORKERS | WATCHDOG, common},
	{ROLE(WORKER) | ROLE(METRICS) | WATCHDOG, sockets},
	{WATCHDOG, watchdogs},
	{ROLE(ADMISSION), doors},
	{ROLE(METRICS), servers},
};

/* flags of open(2) */
#define CHANGES (O_WRONLY | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
/* Conditions on argument n. */
#define IS(n, value) SCMP_A##n(SCMP_CMP_EQ, value)
#define MASKED(n, mask, value) SCMP_A##n(SCMP_CMP_MASKED_EQ, mask, value)
#define IOCTL(request) MASKED(1, IOCTL_MASK, (request)&IOCTL_MASK)

/* Calls that are allowed only if all `count` conditions on their arguments hold. */
static const struct {
	unsigned roles;
	int call;
	unsigned count;
	struct scmp_arg_cmp when[2];
} rules[] = {
	/* Allow open() for reading, and for reading and writing, as /dev/kfd needs. No role may
	 * truncate a file, and only the watchdog may create one (its lock). */
	{WATCHDOG, SCMP_SYS(openat), 1, {MASKED(2, CHANGES, 0)}},
	{WATCHDOG, SCMP_SYS(open), 1, {MASKED(1, CHANGES, 0)}},
	{WORKERS, SCMP_SYS(openat), 1, {MASKED(2, CHANGES | O_CREAT, 0)}},
	{WORKERS, SCMP_SYS(open), 1, {MASKED(1, CHANGES | O_CREAT, 0)}},
	/* Allow driver calls, and the ptrace(2) requests of a tracer that does not change its
	 * targets: no access to memory or registers. PTRACE_SEIZE is allowed only without options,
	 * because PTRACE_O_EXITKILL would kill the target when its tracer ends. */
	{TRACERS, SCMP_SYS(ioctl), 1, {IOCTL(KFDABI_IOC_GET_VERSION)}},
	{TRACERS, SCMP_SYS(ioctl), 1, {IOCTL(KFDABI_IOC_DBG_TRAP)}},
	{TRACERS, SCMP_SYS(ptrace), 2, {IS(0, PTRACE_SEIZE), IS(3, 0)}},
	{TRACERS, SCMP_SYS(ptrace), 1, {IS(0, PTRACE_INTERRUPT)}},
	{TRACERS, SCMP_SYS(ptrace), 1, {IS(0, PTRACE_CONT)}},
	{TRACERS, SCMP_SYS(ptrace), 1, {IS(0, PTRACE_LISTEN)}},
	{TRACERS, SCMP_SYS(ptrace), 1, {IS(0, PTRACE_DETACH)}},
	{ROLE(READER) | WATCHDOG, SCMP_SYS(ioctl), 1, {IOCTL(NS_GET_TGID_FROM_PIDNS)}},
	/* SIOCOUTQ shows whether a client has read all that was sent to it. */
	{ROLE(WORKER) | WATCHDOG, SCMP_SYS(ioctl), 1, {IOCTL(SIOCOUTQ)}},
	/* The log may be a socket. */
	{LOGGERS, SCMP_SYS(sendto), 2, {IS(0, STDERR_FILENO), IS(4, 0)}},
	/* Allow changes of priorities and limits, for the calling process only. */
	{WORKERS | WATCHDOG, SCMP_SYS(prlimit64), 1, {IS(0, 0)}},
	{WORKERS | WATCHDOG, SCMP_SYS(sched_setscheduler), 1, {IS(0, 0)}},
	{WORKERS | WATCHDOG, SCMP_SYS(setpriority), 2, {IS(0, PRIO_PROCESS), IS(1, 0)}},
	/* F_SETOWN and F_SETSIG could send a signal to any process, so they are not in the list. */
	{WORKERS, SCMP_SYS(fcntl), 1, {IS(1, F_DUPFD)}},
	{WORKERS, SCMP_SYS(fcntl), 1, {IS(1, F_DUPFD_CLOEXEC)}},
	{WORKERS, SCMP_SYS(fcntl), 1, {IS(1, F_GETFD)}},
	{WORKERS, SCMP_SYS(fcntl), 1, {IS(1, F_SETFD)}},
	{WORKERS | ROLE(METRICS), SCMP_SYS(fcntl), 1, {IS(1, F_GETFL)}},
	{WORKERS | ROLE(METRICS), SCMP_SYS(fcntl), 1, {IS(1, F_SETFL)}},
	{WORKERS, SCMP_SYS(fcntl), 1, {IS(1, F_ADD_SEALS)}},
	{WORKERS, SCMP_SYS(fcntl), 1, {IS(1, F_GET_SEALS)}},
	/* Allow the children of the watchdog to create threads, kfdschedd-door to create processes,
	 * and the watchdog to create both. */
	{WATCHDOG, SCMP_SYS(clone), 1, {MASKED(0, NAMESPACES, 0)}},
	{ROLE(ADMISSION), SCMP_SYS(clone), 1, {MASKED(0, NAMESPACES | CLONE_THREAD, 0)}},
	{WORKERS, SCMP_SYS(clone), 1, {MASKED(0, NAMESPACES | CLONE_THREAD, CLONE_THREAD)}},
	{ROLE(ADMISSION), SCMP_SYS(prctl), 1, {IS(0, PR_SET_PDEATHSIG)}},
	{WORKERS, SCMP_SYS(prctl), 1, {IS(0, PR_SET_NAME)}},
	{WORKERS, SCMP_SYS(prctl), 1, {IS(0, PR_SET_VMA)}},
	/* for sd_notify and for names of users */
	{WATCHDOG, SCMP_SYS(socket), 1, {IS(0, AF_UNIX)}},
	/* Allow no executable memory, so that an attacker cannot add code to the process. */
	{ROLE(METRICS), SCMP_SYS(mmap), 1, {MASKED(2, PROT_EXEC, 0)}},
	{ROLE(METRICS), SCMP_SYS(mprotect), 1, {MASKED(2, PROT_EXEC, 0)}},
};

static uint64_t *refused_calls;
static uint64_t refused_here;		   /* number of calls refused to this process */
static uint8_t refused_numbers[CALLS + 1]; /* 1: refused; 2: refused and logged */

/* The register with the result of a system call, in the context of a signal handler. */
#if defined(__x86_64__)
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#endif

#ifdef RESULT
/* Handles SIGSYS, which the filter sends instead of making a system call: sets the result of the
 * call to -EPERM and counts it. Only stores values, because it runs in a signal handler. */
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

static int allow(scmp_filter_ctx filter, int call, unsigned count, const struct scmp_arg_cmp *when)
{
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, count, when);
}

/* Allows the system calls whose names are in `calls`. Logs each name that an older libseccomp does
 * not know. Returns 0 or a negative errno. */
static int allow_all(scmp_filter_ctx filter, const char *calls)
{
	char name[32];
	int error = 0;

	for (; *calls && !error; calls += strspn(calls, " ")) {
		size_t length = strcspn(calls, " ");
		int call;

		snprintf(name, sizeof(name), "%.*s", (int)length, calls);
		calls += length;
		call = seccomp_syscall_resolve_name(name);
		if (call == __NR_SCMP_ERROR)
			log_error("the daemon's seccomp filter refuses the system call %s, which "
				  "libseccomp does not know: use a newer libseccomp",
				  name);
		else
			error = allow(filter, call, 0, NULL);
	}
	return error;
}

static int allow_role(scmp_filter_ctx filter, unsigned role)
{
	/* tgkill is needed by abort(3), for the process itself. A filter is installed by the
	 * process to which it applies, so getpid() is the right number. Only the watchdog's filter,
	 * which its children inherit, allows signals to other processes. */
	const struct scmp_arg_cmp itself = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());
	int error = 0;

	for (size_t i = 0; i < COUNT(lists) && !error; i++)
		if (role & lists[i].roles)
			error = allow_all(filter, lists[i].calls);
	for (size_t i = 0; i < COUNT(rules) && !error; i++)
		if (role & rules[i].roles)
			error = allow(filter, rules[i].call, rules[i].count, rules[i].when);
	if (!error && role & (WORKERS | ROLE(METRICS) | ROLE(RECORD)))
		error = allow(filter, SCMP_SYS(tgkill), 1, &itself);
	/* A filter cannot read the flags of clone3, so clone3 fails with ENOSYS and the C library
	 * uses clone. */
	if (!error && role & (WORKERS | WATCHDOG | ROLE(ADMISSION)))
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return error;
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
	/* Without this, a system call of another ABI, such as 32-bit, would kill the thread. */
	error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, otherwise);
	if (!error)
		error = allow_role(filter, 1u << role);
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

/* ---- capabilities and priorities ---- */

/* Drops all capabilities except those in `wanted` that are permitted now. If `effective`, makes the
 * remaining ones effective, too. */
static void keep(const cap_value_t *wanted, int count, bool effective)
{
	cap_t now = cap_get_proc(), next = cap_init();
	int error = now && next ? 0 : -1;

	for (int i = 0; i < count && !error; i++) {
		cap_flag_value_t has = CAP_CLEAR;

		error = cap_get_flag(now, wanted[i], CAP_PERMITTED, &has);
		if (has != CAP_SET || error)
			continue;
		error = cap_set_flag(next, CAP_PERMITTED, 1, &wanted[i], CAP_SET);
		if (!error && effective)
			error = cap_set_flag(next, CAP_EFFECTIVE, 1, &wanted[i], CAP_SET);
	}
	if (error || cap_set_proc(next) != 0)
		log_error("cannot drop capabilities: %s", strerror(errno));
	cap_free(now);
	cap_free(next);
}

static const cap_value_t rights[] = {CAP_SYS_PTRACE, CAP_SYS_NICE};

/* Sets a real-time priority, because the loop and the executors must not wait for a CPU behind the
 * processes that they schedule, and they use very little CPU time. Programs that run in real time
 * for long use the lowest real-time priority, so the daemon uses one above it. */
void privilege_urgent(bool log_failure)
{
	const struct sched_param low = {.sched_priority = sched_get_priority_min(SCHED_RR) + 1};

	keep(rights, 2, true);
	if (sched_setscheduler(0, SCHED_RR, &low) == 0)
		return;
	if (setpriority(PRIO_PROCESS, 0, NICE) != 0 && log_failure)
		log_info("no permission for real-time or higher scheduling priority: the "
			 "scheduler is late on a busy host (it needs CAP_SYS_NICE)");
}

void privilege_drop(enum filter_role role, uint64_t *refused)
{
	bool reads = role == FILTER_EXECUTOR || role == FILTER_READER;
	int error;

	if (role == FILTER_ADMISSION) {
		keep(rights, 2, true);
		(void)setpriority(PRIO_PROCESS, 0, NICE_ADMISSION);
	}
	keep(rights, role == FILTER_WATCHDOG ? 2 : reads, reads);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		log_error("cannot set no-new-privs: %s", strerror(errno));
	error = filter_install(role, refused);
	if (error)
		log_error("cannot install the seccomp filter: %s; continuing without it. The "
			  "kernel needs CONFIG_SECCOMP_FILTER",
			  strerror(-error));
}
