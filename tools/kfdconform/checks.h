/* SPDX-License-Identifier: MIT */
/* The checks of kfdconform: check_NAME() checks the driver rule NAME of kfd/driver_rules.def, whose
 * text describes what is expected. A check returns if the rule holds, and ends the process
 * otherwise (harness.h). Each check runs in a process of its own (main.c), so it frees nothing
 * and can use static variables. */
#ifndef KFDSHIM_TOOLS_KFDCONFORM_CHECKS_H
#define KFDSHIM_TOOLS_KFDCONFORM_CHECKS_H

#include "tools/kfdconform/harness/scripted_child.h"
#include "tools/kfdconform/harness/self_debug.h"

#define PAGE 4096u
#define DOORBELL_PAGE 8192u
#define UNMAPPED 0x10000ull  /* an address without a mapping */
#define BAD_ADDRESS 0x20000u /* an address without a buffer */
#define NOBODYS (1ull << 63) /* an address that no process can have */
#define NO_QUEUE 1000u	     /* an id that no queue has */
#define VIOLATION_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)

extern struct gpu_file gpu; /* opened by the check itself */

#define RULE(id, kernels, needs, text) void check_##id(void);
#include "kfd/driver_rules.def"

/* `static RULE_CHECK(ID, prepare) { ... }` defines check_ID(), which makes the call `prepare`
 * first, so that the check can initialize its variables with the results. */
#define RULE_CHECK(id, prepare)                                                                    \
	void test_##id(void);                                                                      \
	void check_##id(void)                                                                      \
	{                                                                                          \
		prepare;                                                                           \
		test_##id();                                                                       \
	}                                                                                          \
	static void test_##id(void)
/* Defines check_ID(), which makes the call `prepare` and then checks one value. */
#define RULE_IS(id, prepare, expression, wanted)                                                   \
	void check_##id(void)                                                                      \
	{                                                                                          \
		prepare;                                                                           \
		check_is(__FILE__, __LINE__, #expression, (long long)(expression),                 \
			 (long long)(wanted));                                                     \
	}

#endif
