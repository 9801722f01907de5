// SPDX-License-Identifier: MIT
#include "sim/sandbox/watch.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/wait.h"
#include "sim/sandbox/say.h"

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

/* The thread: forwards signals until the init process ends, then reaps it and makes `stop`
 * readable. Without the command's pidfd it only waits for the end. */
static void *watch_main(void *arg)
{
	struct watch *watch = arg;
	int command = spawn_command_pidfd(watch->init);
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
