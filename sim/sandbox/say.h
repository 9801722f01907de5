/* SPDX-License-Identifier: MIT */
/* Error reporting of kfdsim: one line on stderr. A function that cannot do its work ends the
 * process with an exit status, because nothing that it has made outlives the process and its
 * namespaces. */
#ifndef KFDSHIM_SIM_SANDBOX_SAY_H
#define KFDSHIM_SIM_SANDBOX_SAY_H

#define STATUS_FAILED 1
#define STATUS_USAGE 2	     /* usage error */
#define STATUS_IMPOSSIBLE 77 /* not possible on this machine */

/* Function that end() calls first, or NULL. */
extern void (*before_end)(void);
/* Ends the process. The caller has printed the reason. */
_Noreturn void end(int status);
/* Prints "kfdsim: TEXT" and ends the process. */
__attribute__((noreturn, format(printf, 2, 3))) void die(int status, const char *format, ...);
/* Prints "kfdsim: TEXT" and returns `status`. */
int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
