// SPDX-License-Identifier: MIT
#include "sim/sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd_pass.h"
#include "common/wait.h"
#include "sim/host/sim.h"
#include "sim/sandbox/say.h"

#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

/* Returns true if PATH has a file of this name. This distinguishes "not found" from "not
 * executable": execvp(3) also fails with EACCES if it may not search one of the directories. */
static bool is_in_path(const char *name)
{
	const char *at = strchr(name, '/') ? NULL : getenv("PATH");
	char path[PATH_MAX];

	if (!at)
		return true;
	for (size_t n; *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		snprintf(path, sizeof(path), "%.*s/%s", n ? (int)n : 1, n ? at : ".", name);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

/* Runs in the command's process: undoes kfdsim's own settings and executes the command. Exits with
 * 127 or 126 as a shell does if that fails. */
static _Noreturn void run_command(const struct spawn *spawn)
{
	int status, error;

	umask(spawn->umask);
	if (spawn->ignore_child)
		signal(SIGCHLD, SIG_IGN);
	if (!spawn->ignore_file_size)
		signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &spawn->mask, NULL);
	/* ROCr sorts by addresses; random ones would change the order of simultaneous events. */
	if (spawn->virtual_time)
		personality(ADDR_NO_RANDOMIZE);
	if (spawn->turns)
		cores_of_sim();
	execvp(spawn->command[0], spawn->command);
	error = errno;
	if (error == EACCES && !is_in_path(spawn->command[0]))
		error = ENOENT;
	status = error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	die(status, "cannot run %s (%s)", spawn->command[0], strerror(error));
}

/* Converts a wait status to an exit status, 128 + n for signal n. */
static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reaps all children, including orphans, until the command has ended; with wait_all, until all have
 * ended. Then exits with the command's exit status. */
static _Noreturn void reap(pid_t command, bool wait_all)
{
	int result = STATUS_FAILED;

	for (;;) {
		int status;
		pid_t pid = wait(&status);

		if (pid == command) {
			result = exit_status(status);
			if (!wait_all)
				_exit(result);
		}
		if (pid < 0 && errno != EINTR)
			_exit(result);
	}
}

/*
 * The seccomp filter of the simulation. It notifies the supervisor of
 * - ioctl() with a command of type 'K' (KFD, but also the console) or 'd' (DRM);
 * - process_vm_readv() and process_vm_writev();
 * - on request, openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC), which is how libkmod reads
 *   /proc/modules.
 *
 * All other system calls run at full speed.
 */

/* The type byte of an ioctl command. */
#define IOCTL_TYPE_MASK 0xff00u

static int add_rules(scmp_filter_ctx filter, bool trap_open)
{
	static const char types[] = {'K', 'd'};
	int rc = 0;

	for (size_t i = 0; i < sizeof(types) && !rc; i++)
		rc = seccomp_rule_add(
			filter, SCMP_ACT_NOTIFY, SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, IOCTL_TYPE_MASK, (scmp_datum_t)types[i] << 8));
	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(process_vm_readv), 0);
	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(process_vm_writev), 0);
	/* The mask limits the comparison to the low 32 bits, because the kernel ignores the high
	 * bits of these arguments. */
	if (!rc && trap_open)
		rc = seccomp_rule_add(
			filter, SCMP_ACT_NOTIFY, SCMP_SYS(openat), 2,
			SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, (uint32_t)AT_FDCWD),
			SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffffu, O_RDONLY | O_CLOEXEC));
	return rc;
}

/* Loads the filter and returns the listener or a negative errno. seccomp_load() turns EBUSY into
 * EFAULT (libseccomp 2.5.4), so the program is exported and loaded here. */
static int load(scmp_filter_ctx filter)
{
	struct sock_filter code[256];
	struct sock_fprog program = {.filter = code};
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t n;
	long rc;

	if (fd < 0)
		return -errno;
	rc = seccomp_export_bpf(filter, fd);
	n = rc ? 0 : pread(fd, code, sizeof(code), 0);
	close(fd);
	if (rc)
		return (int)rc;
	if (n <= 0 || n == sizeof(code))
		return -E2BIG;
	program.len = (unsigned short)((size_t)n / sizeof(code[0]));
	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		     &program);
	return rc < 0 ? -errno : (int)rc;
}

/* Installs the filter for the calling thread and all its future children. Needs CAP_SYS_ADMIN in
 * the user namespace. Does not set no_new_privs, so that setuid programs continue to work. Returns
 * the listener (close-on-exec) or a negative errno; -EBUSY: the thread already has a listener. */
static int notify_filter_install(bool trap_open)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc;

	if (!filter)
		return -ENOMEM;
	/* Allow 32-bit programs, because the driver refuses them anyway (EPERM at open). */
	rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
	if (!rc)
		rc = add_rules(filter, trap_open);
	if (!rc)
		rc = load(filter);
	seccomp_release(filter);
	return rc;
}

/* Runs the init process: mounts the file systems, installs the filter, sends the listener to the
 * supervisor, waits for its "go ahead", starts the command and reaps. */
static _Noreturn void init_main(const struct spawn *spawn, int control)
{
	int listener, pidfd;
	pid_t command;
	char byte;

	before_end = NULL; /* the supervisor does that */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		die(STATUS_FAILED, "cannot tie the simulation to kfdsim (%s)", strerror(errno));
	prctl(PR_SET_NAME, "kfdsim-init");
	mounts_sim(spawn->root, spawn->virtual_time);
	listener = notify_filter_install(spawn->trap_open);
	if (listener == -EBUSY)
		die(STATUS_IMPOSSIBLE,
		    "this process already has a seccomp listener (of another kfdsim, or "
		    "a container runtime), and there can be only one: start kfdsim "
		    "outside");
	if (listener < 0)
		die(STATUS_IMPOSSIBLE, "cannot install a seccomp filter (%s)", strerror(-listener));
	if (fd_send(control, listener))
		_exit(STATUS_FAILED);
	close(listener);
	/* If no byte comes, the supervisor died before PDEATHSIG was set, or gave up. */
	if (TEMP_FAILURE_RETRY(read(control, &byte, 1)) != 1)
		_exit(STATUS_FAILED);

	command = fork();
	if (command < 0)
		die(STATUS_FAILED, "cannot start the command (%s)", strerror(errno));
	if (!command)
		run_command(spawn);
	pidfd = (int)syscall(SYS_pidfd_open, command, 0);
	if (pidfd >= 0)
		fd_send(control, pidfd);
	/* The readers of the command's output must see the end of file when the command ends, not
	 * when this process ends. */
	syscall(SYS_close_range, 0u, ~0u, 0u);
	reap(command, spawn->wait_all);
}

/* Waits for the end of the init process. Returns its exit status, or 128 + n with *killed set if
 * signal n ended it. */
static int spawn_wait(const struct sim_init *init, bool *killed)
{
	int status;

	*killed = false;
	if (TEMP_FAILURE_RETRY(waitpid(init->pid, &status, 0)) < 0)
		return complain(STATUS_FAILED, "cannot wait for the simulation (%s)",
				strerror(errno));
	*killed = WIFSIGNALED(status);
	return exit_status(status);
}

void spawn_init(const struct spawn *spawn, struct sim_init *out)
{
	const unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD | SIGCHLD;
	int sock[2], status;
	bool killed;
	long pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		die(STATUS_FAILED, "cannot make a socket pair (%s)", strerror(errno));
	pid = syscall(SYS_clone, flags, NULL, &out->pidfd, NULL, 0UL);
	if (pid < 0)
		die(STATUS_IMPOSSIBLE,
		    "cannot make a pid namespace (%s): run kfdsim as root, or allow "
		    "user namespaces",
		    strerror(errno));
	if (!pid) {
		close(sock[0]);
		init_main(spawn, sock[1]);
	}
	close(sock[1]);
	out->pid = (pid_t)pid;
	out->control = sock[0];
	out->listener = fd_receive(sock[0]);
	if (out->listener < 0) {
		/* The init process has printed the reason. */
		status = spawn_wait(out, &killed);
		end(status ? status : STATUS_FAILED);
	}
}

void spawn_go(const struct sim_init *init)
{
	char byte = 1;

	if (send(init->control, &byte, 1, MSG_NOSIGNAL) != 1)
		die(STATUS_FAILED, "the init process of the simulation has ended (%s)",
		    strerror(errno));
}

void watch_signals(sigset_t *out)
{
	sigemptyset(out);
	sigaddset(out, SIGINT);
	sigaddset(out, SIGTERM);
	sigaddset(out, SIGHUP);
}

/* Forwards one signal to the command. */
static void hand_on(const struct watch *watch, int command)
{
	struct signalfd_siginfo info;

	if (read(watch->signals, &info, sizeof(info)) != sizeof(info))
		return;
	/* The terminal sends the signal to its whole foreground process group, so the command has
	 * already received it. */
	if (info.ssi_code == SI_KERNEL)
		return;
	/* If the command has ended, the signal ends the rest of the simulation (--wait-all). */
	if (syscall(SYS_pidfd_send_signal, command, (int)info.ssi_signo, NULL, 0u) &&
	    errno == ESRCH)
		kill(watch->init->pid, SIGKILL);
}

/* Runs the watch thread: forwards signals until the init process ends, then reaps it and makes
 * `stop` readable. Without the command's pidfd it only waits for the end. */
static void *watch_main(void *arg)
{
	struct watch *watch = arg;
	int command = fd_receive(watch->init->control); /* -1: there is none */
	struct pollfd fds[] = {
		{.fd = watch->init->pidfd, .events = POLLIN},
		{.fd = command < 0 ? -1 : watch->signals, .events = POLLIN},
	};
	uint64_t one = 1;

	while (!(fds[0].revents & POLLIN)) {
		if (poll_until_ns(fds, 2, WAIT_FOREVER) > 0 && (fds[1].revents & POLLIN))
			hand_on(watch, command);
	}
	watch->status = spawn_wait(watch->init, &watch->killed);
	if (command >= 0)
		close(command);
	while (write(watch->stop, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

void watch_start(struct watch *watch, const struct sim_init *init)
{
	sigset_t set;
	int rc;

	watch_signals(&set);
	watch->init = init;
	watch->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	watch->stop = eventfd(0, EFD_CLOEXEC);
	if (watch->signals < 0 || watch->stop < 0)
		die(STATUS_FAILED, "cannot create file descriptors (%s)", strerror(errno));
	rc = pthread_create(&watch->thread, NULL, watch_main, watch);
	if (rc)
		die(STATUS_FAILED, "cannot start a thread (%s)", strerror(rc));
}

int watch_join(struct watch *watch)
{
	pthread_join(watch->thread, NULL);
	close(watch->signals);
	close(watch->stop);
	return watch->status;
}
