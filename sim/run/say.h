/* SPDX-License-Identifier: MIT */
/*
 * How kfdsim fails: whoever knows what went wrong says it in one line on
 * stderr and hands the exit status up. 0 means that all is well.
 */
#ifndef KFDSHIM_SIM_RUN_SAY_H
#define KFDSHIM_SIM_RUN_SAY_H

#define STATUS_FAILED 1
#define STATUS_USAGE 2	     /* wrong use */
#define STATUS_IMPOSSIBLE 77 /* not possible here */

/* Prints "kfdsim: TEXT" and returns `status`. */
int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
