// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/keys.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/daemon/config/value.h"

const char *key_allowed(const struct config_key *key, char text[static KEY_ALLOWED])
{
	char low[24], high[24];

	value_time_text(key->min, low);
	value_time_text(key->max, high);
	switch (key->kind) {
	case KEY_TIME:
	case KEY_SLO:
		snprintf(text, KEY_ALLOWED, "a number with its unit (us, ms, s), %s..%s", low,
			 high);
		return text;
	case KEY_MICROSECONDS:
		snprintf(text, KEY_ALLOWED, "a whole number of microseconds, %llu..%llu",
			 (unsigned long long)(key->min / 1000),
			 (unsigned long long)(key->max / 1000));
		return text;
	case KEY_COUNT:
		snprintf(text, KEY_ALLOWED, "a whole number, %llu..%llu",
			 (unsigned long long)key->min, (unsigned long long)key->max);
		return text;
	case KEY_PERCENT:
		snprintf(text, KEY_ALLOWED, "whole percent, %llu%%..%llu%%",
			 (unsigned long long)key->min, (unsigned long long)key->max);
		return text;
	case KEY_YES_NO:
	case KEY_SHIM:
		return "yes or no";
	case KEY_POLICY:
		return policy_names();
	case KEY_SHARE:
		return "whole percent, 1%..99%";
	case KEY_ADMIN_GROUP:
		return "an existing group, by name or number";
	case KEY_GRANT:
		return "SUBJECT over TARGET, each of them `uid NAME`, `gid NAME`, `cgroup "
		       "/PATTERN` or `all`, at most 64 grants";
	case KEY_UIDS:
		return "existing users, by name or number, at most 8, separated by commas";
	case KEY_GIDS:
		return "existing groups, by name or number, at most 8, separated by commas";
	case KEY_CGROUPS:
	case KEY_EXECUTABLES:
		return "patterns that begin with /, at most 8, separated by commas";
	case KEY_CONTAINERS:
		return "the first 6 to 64 hexadecimal digits (0-9, a-f) of an id, at most 8, "
		       "separated by commas";
	case KEY_PRIORITY:
		return "online, offline, 0..15, or none (observed, never scheduled)";
	case KEY_LEVEL:
		return "auto, trap, self, gate, weight or observe";
	case KEY_GROUP:
		return "a name of letters, digits, `.`, `_`, `-`, at most 63";
	case KEY_LISTEN:
		return "off or 127.0.0.1:PORT";
	default:
		return "info or debug";
	}
}

static bool take_condition(struct rule *rule, enum key_kind kind, const char *text)
{
	switch (kind) {
	case KEY_UIDS:
		rule->conditions |= RULE_UID;
		return rules_take_uids(&rule->uids, text);
	case KEY_GIDS:
		rule->conditions |= RULE_GID;
		return rules_take_gids(&rule->gids, text);
	case KEY_CGROUPS:
		rule->conditions |= RULE_CGROUP;
		return rules_take_paths(&rule->cgroups, text);
	case KEY_EXECUTABLES:
		rule->conditions |= RULE_EXECUTABLE;
		return rules_take_paths(&rule->executables, text);
	case KEY_CONTAINERS:
		rule->conditions |= RULE_CONTAINER;
		return rules_take_containers(&rule->containers, text);
	default:
		rule->conditions |= RULE_SHIM;
		return value_yes_no(text, &rule->shim);
	}
}

static bool take_effect(struct rule *rule, const struct config_key *key, const char *text)
{
	uint64_t ns;

	switch (key->kind) {
	case KEY_PRIORITY:
		rule->effects |= RULE_PRIORITY;
		if (strcmp(text, "none") != 0)
			return protocol_priority(text, &rule->priority) == 0;
		rule->priority = PRIORITY_UNSET;
		return true;
	case KEY_LEVEL:
		rule->effects |= RULE_LEVEL;
		return protocol_level(text, &rule->level) == 0;
	case KEY_GROUP:
		rule->effects |= RULE_GROUP;
		return value_name(text, rule->group, sizeof(rule->group));
	default:
		rule->effects |= RULE_SLO;
		if (!value_time(text, key->min, key->max, &ns))
			return false;
		rule->slo_us = (uint32_t)(ns / 1000);
		return true;
	}
}

static bool take_figure(void *at, const struct config_key *key, const char *text)
{
	uint64_t number;
	bool ok;

	switch (key->kind) {
	case KEY_TIME:
		ok = value_time(text, key->min, key->max, &number);
		break;
	case KEY_MICROSECONDS:
		ok = value_number(text, key->min / 1000, key->max / 1000, &number);
		number = ok ? number * 1000 : 0;
		break;
	case KEY_COUNT:
		if (!value_number(text, key->min, key->max, &number))
			return false;
		*(uint32_t *)at = (uint32_t)number;
		return true;
	case KEY_PERCENT:
		return value_percent(text, (uint32_t)key->min, (uint32_t)key->max, (uint32_t *)at);
	default:
		return value_yes_no(text, at);
	}
	if (ok)
		*(uint64_t *)at = number;
	return ok;
}

bool key_take(struct config *config, void *target, const struct config_key *key, const char *text)
{
	struct config_node *node = target;

	switch (key->kind) {
	case KEY_TIME:
	case KEY_MICROSECONDS:
	case KEY_COUNT:
	case KEY_PERCENT:
	case KEY_YES_NO:
		return take_figure((char *)config + key->offset, key, text);
	case KEY_POLICY:
		return policy_parse(text, &node->policy.rule) == 0;
	case KEY_SHARE:
		return value_percent(text, (uint32_t)key->min, (uint32_t)key->max,
				     &node->policy.share_percent);
	case KEY_ADMIN_GROUP:
		config->authority.has_admin_group = true;
		return value_group(text, &config->authority.admin_group);
	case KEY_GRANT:
		return rules_take_grant(&config->authority, text);
	case KEY_PRIORITY:
	case KEY_LEVEL:
	case KEY_GROUP:
	case KEY_SLO:
		return take_effect(target, key, text);
	case KEY_LISTEN:
		return value_listen(text, &config->metrics_port);
	case KEY_LOG_LEVEL:
		config->verbose = strcmp(text, "debug") == 0;
		return config->verbose || strcmp(text, "info") == 0;
	default:
		return take_condition(target, key->kind, text);
	}
}
