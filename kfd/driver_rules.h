/* SPDX-License-Identifier: MIT */
/*
 * The rules of the driver by name (kfd/driver_rules.def), for the program that checks them
 * (kfdconform) and the program that can violate them (kfdsim --break).
 *
 * Pure: no function allocates, does I/O or has state. Threads: any. All returned strings are
 * static.
 */
#ifndef KFDSHIM_KFD_DRIVER_RULES_H
#define KFDSHIM_KFD_DRIVER_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* The Linux releases in which rules change, the oldest (which has the strictest rules) first. */
enum kfdabi_kernel { KFDABI_LINUX_6_12_95, KFDABI_LINUX_6_12_107, KFDABI_LINUX_7_3 };
#define KFDABI_KERNELS 3

enum kfdabi_kernels { /* sets of releases; bit: enum kfdabi_kernel */
		      KFDABI_KERNELS_6_12_95 = 1,
		      KFDABI_KERNELS_6_12 = 3, /* 6.12.95 and 6.12.107 */
		      KFDABI_KERNELS_FROM_6_12_107 = 6,
		      KFDABI_KERNELS_7_3 = 4,
		      KFDABI_KERNELS_ALL = 7,
};

/* What a machine must have so that a rule can be checked on it; flags. */
enum kfdabi_needs {
	KFDABI_NEEDS_NONE = 0,
	/* GPUs with debugging by VMID: GC 9.4.2 to 9.5, 11 and later */
	KFDABI_NEEDS_PER_VMID = 1,
	KFDABI_NEEDS_SHARED_VMID = 2, /* GPUs that debug one process at a time: GC 9.0, 9.4.1, 10 */
	KFDABI_NEEDS_MANY_XCC = 4,    /* a node with more than one XCC */
	KFDABI_NEEDS_TWO_NODES = 8,
};

/* RULE_id for each line of driver_rules.def, in the same order. */
enum kfdabi_rule {
	KFDABI_RULE_NONE,
#define RULE(id, kernels, needs, text) RULE_##id,
#include "kfd/driver_rules.def"
	KFDABI_RULES_END,
};

struct kfdabi_rule_info {
	const char *name;
	const char *text;
	uint8_t kernels; /* enum kfdabi_kernels */
	uint8_t needs;	 /* enum kfdabi_needs, one or several */
};

/* The kernel and the GPUs of a machine. */
struct kfdabi_machine {
	enum kfdabi_kernel kernel;
	uint32_t gfx_target_version; /* of its GPUs, as in the topology: 90010 = gfx90a */
	uint32_t xccs;		     /* number of XCCs of a node */
	uint32_t nodes;		     /* number of GPU nodes */
};

/* Returns the description of a rule; NULL: there is no such rule. */
const struct kfdabi_rule_info *kfdabi_rule(enum kfdabi_rule rule);
/* Returns the rule with this id; KFDABI_RULE_NONE: there is none. */
enum kfdabi_rule kfdabi_rule_find(const char *name);
/* Returns the title (some words) of the area that the rule belongs to. */
const char *kfdabi_rule_area(enum kfdabi_rule rule);
/* Returns the id that is most similar to `name`, for an error message. */
const char *kfdabi_rule_near(const char *name);
/* Returns NULL if the rule applies to this machine and can be checked on it; otherwise a text that
 * says why not. */
const char *kfdabi_rule_why_not(enum kfdabi_rule rule, const struct kfdabi_machine *machine);

/* Returns the enum kfdabi_kernel with exactly this name, as "6.12.95"; -1: there is none. */
int kfdabi_kernel_find(const char *name);
/* Returns the name of a release, as "6.12.95". */
const char *kfdabi_kernel_name(enum kfdabi_kernel kernel);
/* Returns the release whose rules a running kernel follows: the newest one that is not newer than
 * `release`, the release from uname(2). For kernels older than all of them it is the oldest. */
enum kfdabi_kernel kfdabi_kernel_of_release(const char *release);
/* Returns true if several processes can be debugged at once on a GPU of this version (by VMID). */
bool kfdabi_per_vmid(uint32_t gfx_target_version);

#endif
