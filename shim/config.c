// SPDX-License-Identifier: MIT
#include "shim/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config config;

void say(enum log_level level, const char *format, ...)
{
	char line[512];
	int saved = errno, n, m;
	va_list list;

	if (level > config.log)
		return;
	n = snprintf(line, sizeof(line), "kfdshim[%d]: ", (int)getpid());
	va_start(list, format);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n, format, list);
	va_end(list);
	if (m > 0)
		n += m;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)n);
	errno = saved;
}

static void read_log(const char *value)
{
	static const char *const names[] = {"off", "error", "info", "debug"};

	for (unsigned i = 0; value && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(value, names[i]) == 0)
			config.log = (enum log_level)i;
}

/* Copies a text that must fit; false: left empty, and said. */
static bool read_text(const char *name, char *to, size_t size)
{
	const char *value = getenv(name);

	to[0] = '\0';
	if (!value || !*value)
		return false;
	if (strlen(value) >= size) {
		say(LOG_ERROR, "%s is longer than %zu characters and is ignored", name, size - 1);
		return false;
	}
	strcpy(to, value);
	return true;
}

static void read_level(const char *value)
{
	static const char *const names[] = {"auto", "trap", "self", "gate", "weight"};

	if (!value || !*value)
		return;
	if (strcmp(value, "observe") == 0) {
		config.observe = true;
		return;
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(value, names[i]) == 0)
			return; /* the daemon chooses */
	say(LOG_ERROR,
	    "KFDSHIM_LEVEL=%s is ignored: it is auto, trap, self, gate, weight or observe", value);
}

void config_read(void)
{
	const char *value;

	memset(&config, 0, sizeof(config));
	read_log(getenv("KFDSHIM_LOG"));
	config.priority = PRIORITY_UNSET;
	value = getenv("KFDSHIM_PRIORITY");
	if (value && *value && protocol_priority(value, &config.priority) != 0) {
		config.priority = PRIORITY_UNSET;
		say(LOG_ERROR,
		    "KFDSHIM_PRIORITY=%s is ignored: it is online, offline or a number from 0 to "
		    "15",
		    value);
	}
	read_text("KFDSHIM_GROUP", config.group, sizeof(config.group));
	if (!read_text("KFDSHIM_SOCKET", config.socket, sizeof(config.socket)))
		strcpy(config.socket, PROTOCOL_SOCKET);
	read_level(getenv("KFDSHIM_LEVEL"));
}
