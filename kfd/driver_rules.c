// SPDX-License-Identifier: MIT
#include "kfd/driver_rules.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_LENGTH 80u

static const struct kfdabi_rule_info rules[KFDABI_RULES_END] = {
#define RULE(id, kernels_, needs_, text_)                                                          \
	[RULE_##id] = {.name = #id,                                                                \
		       .text = (text_),                                                            \
		       .kernels = KFDABI_KERNELS_##kernels_,                                       \
		       .needs = KFDABI_NEEDS_##needs_},
#include "kfd/driver_rules.def"
};

static const struct {
	enum kfdabi_rule first;
	const char *title;
} areas[] = {
#define AREA(first_, title_) {RULE_##first_, (title_)},
#include "kfd/driver_rules.def"
};

static const struct {
	const char *name;
	unsigned version[3]; /* first release with these rules */
} kernels[KFDABI_KERNELS] = {
	[KFDABI_LINUX_6_12_95] = {"6.12.95", {6, 12, 95}},
	[KFDABI_LINUX_6_12_107] = {"6.12.107", {6, 12, 103}}, /* rules are new in .103 */
	[KFDABI_LINUX_7_3] = {"7.3", {7, 0, 0}},
};

const struct kfdabi_rule_info *kfdabi_rule(enum kfdabi_rule rule)
{
	return rule > KFDABI_RULE_NONE && rule < KFDABI_RULES_END ? &rules[rule] : NULL;
}

enum kfdabi_rule kfdabi_rule_find(const char *name)
{
	for (int i = KFDABI_RULE_NONE + 1; i < KFDABI_RULES_END; i++)
		if (!strcmp(rules[i].name, name))
			return (enum kfdabi_rule)i;
	return KFDABI_RULE_NONE;
}

const char *kfdabi_rule_area(enum kfdabi_rule rule)
{
	const char *title = "";

	for (size_t i = 0; i < sizeof areas / sizeof *areas && areas[i].first <= rule; i++)
		title = areas[i].title;
	return title;
}

/* Returns the edit distance: how many characters have to be changed, inserted or removed. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_LENGTH + 1], left, corner;
	size_t n = strlen(b);

	if (n > NAME_MAX_LENGTH)
		return UINT_MAX;
	for (size_t i = 0; i <= n; i++)
		row[i] = (unsigned)i;
	for (; *a; a++) {
		corner = row[0]++;
		for (size_t i = 1; i <= n; i++) {
			left = row[i - 1] < row[i] ? row[i - 1] : row[i];
			left = left + 1 < corner + (*a != b[i - 1]) ? left + 1
								    : corner + (*a != b[i - 1]);
			corner = row[i];
			row[i] = left;
		}
	}
	return row[n];
}

const char *kfdabi_rule_near(const char *name)
{
	unsigned least = UINT_MAX;
	const char *near = "";

	for (int i = KFDABI_RULE_NONE + 1; i < KFDABI_RULES_END; i++) {
		unsigned far = distance(rules[i].name, name);

		if (far < least) {
			least = far;
			near = rules[i].name;
		}
	}
	return near;
}

bool kfdabi_per_vmid(uint32_t gfx_target_version)
{
	/* The driver decides by the GC version (kfd_dbg_is_per_vmid_supported): 9.4.2, 9.4.3,
	 * 9.4.4, 9.5.0, and from 11 on. In the topology 9.4.2 is 90010 (gfx90a), and the first
	 * steppings of 9.4.3 are 90400 and 90401 (gfx940, gfx941; kgd2kfd_probe of older
	 * kernels). */
	return gfx_target_version == 90010 ||
	       (gfx_target_version >= 90400 && gfx_target_version < 100000) ||
	       gfx_target_version >= 110000;
}

const char *kfdabi_rule_why_not(enum kfdabi_rule rule, const struct kfdabi_machine *machine)
{
	const struct kfdabi_rule_info *info = kfdabi_rule(rule);
	bool per_vmid = kfdabi_per_vmid(machine->gfx_target_version);

	if (!info || !(info->kernels >> machine->kernel & 1))
		return "a rule of other kernels";
	if (info->needs & KFDABI_NEEDS_MANY_XCC && machine->xccs < 2)
		return "needs a GPU of several XCCs";
	if (info->needs & KFDABI_NEEDS_TWO_NODES && machine->nodes < 2)
		return "needs two GPUs";
	if (info->needs & KFDABI_NEEDS_PER_VMID && !per_vmid)
		return "needs a GPU such as gfx90a or gfx942, that debugs many processes";
	if (info->needs & KFDABI_NEEDS_SHARED_VMID && per_vmid)
		return "needs a GPU such as gfx908, that debugs one process at a time";
	return NULL;
}

int kfdabi_kernel_find(const char *name)
{
	for (int i = 0; i < KFDABI_KERNELS; i++)
		if (!strcmp(kernels[i].name, name))
			return i;
	return -1;
}

const char *kfdabi_kernel_name(enum kfdabi_kernel kernel)
{
	return kernels[kernel].name;
}

enum kfdabi_kernel kfdabi_kernel_of_release(const char *release)
{
	unsigned v[3] = {0};

	sscanf(release, "%u.%u.%u", &v[0], &v[1], &v[2]);
	for (int i = KFDABI_KERNELS - 1; i > 0; i--) {
		const unsigned *since = kernels[i].version;

		for (int part = 0; part < 3; part++) {
			if (v[part] < since[part])
				break;
			if (v[part] > since[part] || part == 2)
				return (enum kfdabi_kernel)i;
		}
	}
	return KFDABI_LINUX_6_12_95;
}
