/* SPDX-License-Identifier: MIT */
/*
 * Looks up the names and parameters of the scheduling policies (policies.def). Pure: no I/O, no
 * allocation. Threads: any.
 */
#ifndef KFDSHIM_COMMON_POLICY_H
#define KFDSHIM_COMMON_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum policy {
#define POLICY(name, ...) POLICY_##name,
#include "common/policies.def"
#undef POLICY
	POLICIES
};

/* Parses a name. Returns 0, or -EINVAL if there is no such policy. */
int policy_parse(const char *text, enum policy *out);
/* Returns the policy's name, or "unknown" if there is no policy with this number. */
const char *policy_name(uint32_t policy);
/* Returns true if the policy takes a percentage. */
bool policy_takes_share(uint32_t policy);
/* Returns true if there is a policy with this number, and the percentage (0: none) fits it. */
bool policy_is_valid(uint32_t policy, uint32_t share_percent);
/* Returns the names of all policies, separated by ", ". */
const char *policy_names(void);
/* Returns the names of all policies with the ranges of their percentages, for an error message. */
const char *policy_usage(void);

#endif
