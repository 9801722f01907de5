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

#define NEXT_FUNCTIONS(X)                                                                          \
	X(read)                                                                                    \
	X(readv)                                                                                   \
	X(recvfrom)                                                                                \
	X(recvmsg)                                                                                 \
	X(recvmmsg)                                                                                \
	X(write)                                                                                   \
	X(writev)                                                                                  \
	X(sendto)                                                                                  \
	X(sendmsg)                                                                                 \
	X(sendmmsg)                                                                                \
	X(accept4)                                                                                 \
	X(connect)                                                                                 \
	X(timer_create)                                                                            \
	X(timer_settime)                                                                           \
	X(timer_gettime)                                                                           \
	X(timer_getoverrun)                                                                        \
	X(timer_delete)                                                                            \
	X(pthread_setaffinity_np)                                                                  \
	X(pthread_attr_setaffinity_np)                                                             \
	X(pthread_setschedparam)

struct next {
#define FIELD(name) __typeof__(name) *name;
	NEXT_FUNCTIONS(FIELD)
#undef FIELD
};

/* Found when the library starts, or earlier if another library's constructor makes such a call:
 * dlsym() must not run in a signal handler. */
const struct next *next(void);

#endif
