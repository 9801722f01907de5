/* SPDX-License-Identifier: MIT */
/* The C library's own functions, for calls of the time library that are not in virtual time. */
#ifndef KFDSHIM_SIM_HOST_TIME_NEXT_H
#define KFDSHIM_SIM_HOST_TIME_NEXT_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* One pointer for each function of next.def, with that function's type. */
struct next_calls {
#define NEXT(name) __typeof__(&(name)) name;
#include "sim/host/time/next.def"
#undef NEXT
};

/* Returns the table. It is filled when the library starts, or earlier if a constructor of another
 * library makes such a call. It is not filled later, because dlsym() must not run in a signal
 * handler. Any thread. */
const struct next_calls *next(void);

#endif
