/* SPDX-License-Identifier: MIT */
/* Every rule's check: returns when the rule holds, else ends the process (lab.h). */
#ifndef KFDSHIM_CONFORM_CHECKS_H
#define KFDSHIM_CONFORM_CHECKS_H

#define RULE(id, kernels, needs, text) void check_##id(void);
#include "abi/rules.def"

#endif
