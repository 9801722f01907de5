/* SPDX-License-Identifier: MIT */
/* Inside the time library: the C library's own functions, for calls that are none of virtual time. */
#ifndef KFDSHIM_SIM_TIME_NEXT_H
#define KFDSHIM_SIM_TIME_NEXT_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct next {
#define NEXT(name) __typeof__(&(name)) name;
#include "sim/time/next.def"
#undef NEXT
};

/* Found when the library starts, or earlier if another library's constructor makes such a call:
 * dlsym() must not run in a signal handler. */
const struct next *next(void);

#endif
