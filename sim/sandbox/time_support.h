/* SPDX-License-Identifier: MIT */
/* Checks for the kernel features that virtual time needs. */
#ifndef KFDSHIM_SIM_SANDBOX_TIME_SUPPORT_H
#define KFDSHIM_SIM_SANDBOX_TIME_SUPPORT_H

/* Tries all of them. Returns 0, or an exit status after a message on standard error that names what
 * is missing and a remedy. */
int time_support_check(void);

#endif
