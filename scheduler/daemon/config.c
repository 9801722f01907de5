// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct key {
	const char *name;
	uint64_t min_us, max_us;
	size_t offset; /* of a nanosecond value in struct core_config */
};

static const struct key keys[] = {
	{"slow_suspend_us", 1, 60000000, offsetof(struct core_config, slow_suspend_ns)},
	{"max_suspended_us", 1000, 3600000000, offsetof(struct core_config, max_suspended_ns)},
	{"min_run_us", 0, 60000000, offsetof(struct core_config, min_run_ns)},
};
#define KEYS (sizeof(keys) / sizeof(*keys))

struct reading {
	struct core_config *config;
	char *problem; /* of the first line that has one */
	size_t size;
};

static bool parse_us(const char *text, const struct key *key, uint64_t *ns)
{
	char *end;
	unsigned long long us;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	us = strtoull(text, &end, 10);
	if (errno || *end || us < key->min_us || us > key->max_us)
		return false;
	*ns = us * 1000u;
	return true;
}

static int bad(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int bad(struct reading *r, const char *format, ...)
{
	va_list args;

	if (r->problem[0])
		return 0;
	va_start(args, format);
	vsnprintf(r->problem, r->size, format, args);
	va_end(args);
	return 0;
}

/* 1: taken, 0: a problem, as inih wants it. */
static int take(void *user, const char *section, const char *name, const char *value)
{
	struct reading *r = user;
	uint64_t ns;

	if (strcmp(section, "scheduler") != 0)
		return bad(r, "unknown section [%s]; the only one is [scheduler]", section);
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(name, keys[i].name) != 0)
			continue;
		if (!parse_us(value, &keys[i], &ns))
			return bad(r, "%s = %s: must be a whole number of microseconds, %llu..%llu",
				   name, value, (unsigned long long)keys[i].min_us,
				   (unsigned long long)keys[i].max_us);
		memcpy((char *)r->config + keys[i].offset, &ns, sizeof(ns));
		return 1;
	}
	return bad(r, "unknown key %s; known are %s, %s, %s", name, keys[0].name, keys[1].name,
		   keys[2].name);
}

int config_load(const char *path, struct core_config *out, char *problem, size_t size)
{
	char what[256] = "";
	struct reading reading = {.config = out, .problem = what, .size = sizeof(what)};
	int line;

	errno = 0;
	line = ini_parse(path, take, &reading);
	if (line == 0)
		return 0;
	if (line < 0) {
		int error = errno ? errno : ENOMEM;

		snprintf(problem, size, "%s: %s", path, strerror(error));
		return -error;
	}
	snprintf(problem, size, "%s:%d: %s", path, line,
		 what[0] ? what : "not `key = value`, [section], or a comment with # or ;");
	return -EINVAL;
}
