/* SPDX-License-Identifier: MIT */
/*
 * Error reporting of kfdsim: the function that detects an error prints one line on stderr and
 * returns the exit status, which its callers pass on. 0 means success.
 */
#ifndef KFDSHIM_SIM_SANDBOX_SAY_H
#define KFDSHIM_SIM_SANDBOX_SAY_H

#define STATUS_FAILED 1
#define STATUS_USAGE 2	     /* usage error */
#define STATUS_IMPOSSIBLE 77 /* not possible on this machine */

/* Prints "kfdsim: TEXT" and returns `status`. */
int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
