/* SPDX-License-Identifier: MIT */
/*
 * The rules of the driver by name (abi/rules.def), for the program that checks
 * them (kfdconform) and the one that can break them (kfdsim --break).
 * All pure; no function allocates.
 */
#ifndef KFDSHIM_ABI_RULES_H
#define KFDSHIM_ABI_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* The releases between which the rules differ, oldest (and strictest) first. */
enum kfdabi_kernel { KFDABI_LINUX_6_12_95, KFDABI_LINUX_6_12_107, KFDABI_LINUX_7_3 };
#define KFDABI_KERNELS 3

enum kfdabi_kernels { /* sets of them */
		      KFDABI_KERNELS_6_12_95 = 1,
		      KFDABI_KERNELS_6_12 = 3, /* both */
		      KFDABI_KERNELS_FROM_6_12_107 = 6,
		      KFDABI_KERNELS_7_3 = 4,
		      KFDABI_KERNELS_ALL = 7,
};

enum kfdabi_needs {
	KFDABI_NEEDS_NONE = 0,
	KFDABI_NEEDS_PER_VMID = 1,    /* debugging by VMID: 9.4.2 and later, 11 and later */
	KFDABI_NEEDS_SHARED_VMID = 2, /* one debugged process a GPU: 9.0, 9.4.1, 10 */
	KFDABI_NEEDS_MANY_XCC = 4,    /* a node with more than one XCC */
	KFDABI_NEEDS_TWO_NODES = 8,
};

enum kfdabi_rule {
	KFDABI_RULE_NONE,
#define RULE(id, kernels, needs, text) RULE_##id,
#include "abi/rules.def"
	KFDABI_RULES_END,
};

struct kfdabi_rule_info {
	const char *name;
	const char *text;
	uint8_t kernels; /* enum kfdabi_kernels */
	uint8_t needs;	 /* enum kfdabi_needs, several */
};

/* What there is. */
struct kfdabi_machine {
	enum kfdabi_kernel kernel;
	uint32_t gfx_target_version; /* of its GPUs, as in the topology: 90010 = gfx90a */
	uint32_t xccs;		     /* of one node */
	uint32_t nodes;
};

const struct kfdabi_rule_info *kfdabi_rule(enum kfdabi_rule rule);
enum kfdabi_rule kfdabi_rule_find(const char *name); /* KFDABI_RULE_NONE: unknown */
const char *kfdabi_rule_area(enum kfdabi_rule rule); /* what it is about, some words */
const char *kfdabi_rule_near(const char *name);	     /* the rule that is called most alike */
bool kfdabi_rule_applies(enum kfdabi_rule rule, const struct kfdabi_machine *machine);

/* "6.12.95" and so on, exactly; -1: not one of them. */
int kfdabi_kernel_find(const char *name);
const char *kfdabi_kernel_name(enum kfdabi_kernel kernel);
/* The release whose rules a running kernel follows, from uname's release: the
 * newest that is not newer. */
enum kfdabi_kernel kfdabi_kernel_of_release(const char *release);
/* Can several processes be debugged on such a GPU at once? */
bool kfdabi_per_vmid(uint32_t gfx_target_version);

#endif
