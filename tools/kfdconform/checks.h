/* SPDX-License-Identifier: MIT */
/* The checks of kfdconform: check_NAME() checks the driver rule NAME of kfd/driver_rules.def, whose
 * text describes what is expected. A check returns if the rule holds, and ends the process
 * otherwise (harness.h). Each check runs in a process of its own (main.c), so it frees nothing
 * and can use static variables. */
#ifndef KFDSHIM_TOOLS_KFDCONFORM_CHECKS_H
#define KFDSHIM_TOOLS_KFDCONFORM_CHECKS_H

#define RULE(id, kernels, needs, text) void check_##id(void);
#include "kfd/driver_rules.def"

#endif
