// SPDX-License-Identifier: MIT
/*
 * Preloaded into an unmodified GPU program, to observe from outside what happens to it:
 *
 *   WITNESS=PREFIX        the handler of SIGUSR1 creates PREFIX.usr1; PREFIX.queue contains the
 *                         address of the read pointer of the largest AQL queue so far
 *   WITNESS_RAISES=N      that handler first raises SIGURG, which is ignored, N times
 *   WITNESS_RUNTIME=1     enables the runtime before ROCr begins, as ROCr 6 does by itself
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfd/uapi.h"

static char usr1[256], queue[256];
static int raises;

static void handle(int signal)
{
	int fd;

	for (int i = 0; i < raises; i++)
		raise(SIGURG);
	fd = open(usr1, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)signal;
	if (fd >= 0)
		close(fd);
}

static void enable_runtime(void)
{
	struct kfdabi_runtime_enable args = {.mode_mask = KFDABI_RUNTIME_MODE_ENABLE};
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	/* The file stays open, because the runtime is enabled for the process. */
	if (fd < 0 || ioctl(fd, KFDABI_IOC_RUNTIME_ENABLE, &args) < 0)
		perror("witness: cannot enable the runtime");
}

__attribute__((constructor)) static void begin(void)
{
	const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	const char *prefix = getenv("WITNESS"), *count = getenv("WITNESS_RAISES");

	if (!prefix)
		return;
	snprintf(usr1, sizeof(usr1), "%.200s.usr1", prefix);
	snprintf(queue, sizeof(queue), "%.200s.queue", prefix);
	raises = count ? atoi(count) : 0;
	sigaction(SIGUSR1, &action, NULL);
	if (getenv("WITNESS_RUNTIME"))
		enable_runtime();
	unsetenv("WITNESS"); /* not for child processes */
}

static void report_queue(const struct kfd_ioctl_create_queue_args *args)
{
	static uint64_t largest;
	FILE *f;

	if (!queue[0] || args->queue_type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL ||
	    args->ring_size <= largest)
		return;
	largest = args->ring_size;
	f = fopen(queue, "we");
	if (!f)
		return;
	fprintf(f, "%#llx\n", (unsigned long long)args->read_pointer_address);
	fclose(f);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	int (*next)(int, unsigned long, void *) =
		(int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
	va_list list;
	void *arg;
	int r;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	r = next(fd, request, arg);
	if (r == 0 && _IOC_TYPE(request) == KFDABI_TYPE &&
	    _IOC_NR(request) == _IOC_NR(AMDKFD_IOC_CREATE_QUEUE))
		report_queue(arg);
	return r;
}
