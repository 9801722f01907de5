/* SPDX-License-Identifier: MIT */
/* What virtual time needs of the kernel. */
#ifndef KFDSHIM_SIM_RUN_TIME_SUPPORT_H
#define KFDSHIM_SIM_RUN_TIME_SUPPORT_H

/* Tries all of it. 0, or an exit status, with what is missing and what to do on standard error. */
int time_support_check(void);

#endif
