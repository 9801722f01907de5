// SPDX-License-Identifier: MIT
/* A program that calls the kernel without libc: `PROGRAM CALL` waits in that call for a thousand
 * seconds of real time. It is linked dynamically (time_bypass) and statically (time_static). Used
 * by bypasses.sh. */
#include <linux/futex.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Bypasses syscall(), which the time library replaces. */
static long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = 0, r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

int main(int argc, char **argv)
{
	struct timespec t = {1000, 0};
	struct pollfd none = {.fd = -1};
	uint32_t word = 0;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "nanosleep"))
		call(SYS_nanosleep, (long)&t, 0, 0, 0);
	else if (!strcmp(argv[1], "clock_nanosleep"))
		call(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, (long)&t, 0);
	else if (!strcmp(argv[1], "poll"))
		call(SYS_poll, (long)&none, 1, 1000000, 0);
	else if (!strcmp(argv[1], "futex"))
		call(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, (long)&t);
	else if (!strcmp(argv[1], "read")) /* a read that never returns by itself */
		call(SYS_read, 0, (long)&word, 1, 0);
	return 1;
}
