/* SPDX-License-Identifier: MIT */
/* Checks for the kernel features that virtual time needs. */
#ifndef KFDSHIM_SIM_SANDBOX_TIME_SUPPORT_H
#define KFDSHIM_SIM_SANDBOX_TIME_SUPPORT_H

/* Tries all of them. If one is missing, ends the process after a message that names it and a remedy. */
void time_support_check(void);

#endif
