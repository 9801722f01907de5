// SPDX-License-Identifier: MIT
/*
 * Preloaded into a GPU program: SIGUSR1 ends the first thread, and the program continues in its
 * others. By the system call, because pthread_exit() unwinds through the runtime, which aborts.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void end_thread(int number)
{
	(void)number;
	if (gettid() == getpid())
		syscall(SYS_exit, 0);
}

__attribute__((constructor)) static void start(void)
{
	struct sigaction action = {.sa_handler = end_thread};

	sigaction(SIGUSR1, &action, NULL);
}
