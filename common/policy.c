// SPDX-License-Identifier: MIT
#include "common/policy.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t share_min, share_max;
} policies[] = {
#define POLICY(name, min, max, ...) {#name, min, max},
#include "common/policies.def"
#undef POLICY
};

int policy_parse(const char *text, enum policy *out)
{
	for (uint32_t i = 0; i < POLICIES; i++)
		if (strcmp(text, policies[i].name) == 0) {
			*out = (enum policy)i;
			return 0;
		}
	return -EINVAL;
}

const char *policy_name(uint32_t policy)
{
	return policy < POLICIES ? policies[policy].name : "unknown";
}

bool policy_takes_share(uint32_t policy)
{
	return policy < POLICIES && policies[policy].share_max;
}

bool policy_is_valid(uint32_t policy, uint32_t share_percent)
{
	return policy < POLICIES && share_percent >= policies[policy].share_min &&
	       share_percent <= policies[policy].share_max;
}

#define SEPARATOR ", "

const char *policy_names(void)
{
	static const char names[] =
#define POLICY(name, ...) SEPARATOR #name
#include "common/policies.def"
#undef POLICY
		;

	return names + strlen(SEPARATOR);
}

const char *policy_usage(void)
{
	static const char usage[] =
#define POLICY(name, min, max, parameter, ...) SEPARATOR #name parameter
#include "common/policies.def"
#undef POLICY
		;

	return usage + strlen(SEPARATOR);
}
