// SPDX-License-Identifier: MIT
/*
 * Replaces ioctl() for the GPU drivers, /dev/kfd and /dev/dri, recognised by command number; the
 * supervisor serves the calls. Each call delays the thread by its cost in virtual time (charge(),
 * page.h). If time has passed in a call, the thread has slept, and the cost of a wake-up is added.
 *
 * ROCr 6.4 has a thread that waits for events again and again without ever sleeping, on real GPUs
 * too, because the event age that it passes stays behind the event's. After SPIN_CALLS such calls
 * the thread sleeps before each further one, until a GPU or a program does something for which it
 * could wait. The sleep grows from STEP_MIN_NS to at most STEP_MAX_NS.
 */
#include <stdarg.h>

#include "sim/host/time/library.h"

#define WAIT_EVENTS_NR 0x0c
#define SPIN_CALLS 50u
#define STEP_MIN_NS 10000u
#define STEP_MAX_NS 1000000u

static __thread struct {
	unsigned calls; /* calls in a row that have not slept */
	/* last pause, ns; 0: none */
	uint64_t step_ns;
} spin __attribute__((tls_model("initial-exec")));

static bool waits_for_events(unsigned long command)
{
	return _IOC_TYPE(command) == 'K' && _IOC_NR(command) == WAIT_EVENTS_NR;
}

static void pause_spin(void)
{
	if (spin.calls < SPIN_CALLS) {
		spin.calls++;
		return;
	}
	spin.step_ns = spin_step(spin.step_ns, STEP_MIN_NS, STEP_MAX_NS);
	sleep_until(deadline_after(spin.step_ns), TIME_WAIT_SPIN);
}

static long call_driver(int fd, unsigned long command, long argument)
{
	uint64_t before;
	long r;

	charge(time_page()->ioctl_ns);
	if (waits_for_events(command))
		pause_spin();
	before = now_ns();
	r = raw(SYS_ioctl, fd, (long)command, argument, 0, 0, 0);
	if (now_ns() == before)
		return r;
	if (waits_for_events(command)) {
		spin.calls = 0;
		spin.step_ns = 0;
	}
	charge_wake();
	return r;
}

EXPORT int interposed_ioctl(int fd, unsigned long command, ...) __asm__("ioctl");
EXPORT int interposed_ioctl(int fd, unsigned long command, ...)
{
	va_list list;
	long argument;

	va_start(list, command);
	argument = va_arg(list, long);
	va_end(list);
	if ((_IOC_TYPE(command) != 'K' && _IOC_TYPE(command) != 'd') || !time_page())
		return (int)returned(raw(SYS_ioctl, fd, (long)command, argument, 0, 0, 0));
	return (int)returned(call_driver(fd, command, argument));
}
