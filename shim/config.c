// SPDX-License-Identifier: MIT
#include "shim/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "common/stderr.h"

struct shim_config config;

void kfdshim_log(enum log_level level, const char *format, ...)
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
	stderr_line(line, (size_t)n);
	errno = saved;
}

const char *remedy(int err, const char *otherwise)
{
	switch (err) {
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files";
	case ENOMEM:
		return "raise the limit of memory";
	default:
		return otherwise;
	}
}

static void read_log(const char *value)
{
	static const char *const names[] = {"off", "error", "info", "debug"};

	for (unsigned i = 0; value && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(value, names[i]) == 0)
			config.log = (enum log_level)i;
}

/* Copies the value of an environment variable to `to`. Returns false, with `to` empty, if it is not
 * set or too long; a value that is too long is logged. */
static bool read_text(const char *name, char *to, size_t size)
{
	const char *value = getenv(name);

	to[0] = '\0';
	if (!value || !*value)
		return false;
	if (strlen(value) >= size) {
		kfdshim_log(LOG_ERROR, "%s is ignored: it is longer than %zu characters", name,
			    size - 1);
		return false;
	}
	strcpy(to, value);
	return true;
}

static bool read_priority(const char *value)
{
	return protocol_priority(value, &config.priority) == 0;
}

static bool read_level(const char *value)
{
	bool known = protocol_level(value, &config.level) == 0;

	config.observe = config.level == PROTOCOL_LEVEL_OBSERVE;
	return known;
}

static bool read_slo(const char *value)
{
	uint64_t ns;

	if (!parse_time_ns(value, &ns) || ns < 1000 || ns / 1000 > UINT32_MAX)
		return false;
	config.slo_us = (uint32_t)(ns / 1000);
	return true;
}

static bool read_vram_limit(const char *value)
{
	return parse_bytes(value, &config.vram_limit_bytes);
}

static bool read_gate(const char *value)
{
	return parse_uint(value, &config.gate_packets);
}

static bool read_update_queue(const char *value)
{
	config.update_queue = strcmp(value, "may-reset-the-gpu") == 0;
	return config.update_queue;
}

/* read() parses the value into `config`. For an invalid value it returns false, and must then leave
 * the setting at its default. */
static const struct {
	const char *name;
	bool (*read)(const char *value);
	const char *rule; /* which values are valid, for the log */
} settings[] = {
	{"KFDSHIM_PRIORITY", read_priority, "it must be online, offline or a number from 0 to 15"},
	{"KFDSHIM_LEVEL", read_level, "it must be auto, trap, self, gate, weight or observe"},
	{"KFDSHIM_SLO", read_slo, "it must be a time, such as 500us, 20ms or 1.5s"},
	{"KFDSHIM_GATE", read_gate, "it must be a number of packets, such as 4"},
	{"KFDSHIM_UPDATE_QUEUE", read_update_queue,
	 "only may-reset-the-gpu enables it, because it has reset GPUs"},
	{"KFDSHIM_VRAM_LIMIT", read_vram_limit,
	 "it must be a number of bytes, such as 40G or 512M"},
};

void config_read(void)
{
	const char *value;

	memset(&config, 0, sizeof(config));
	read_log(getenv("KFDSHIM_LOG"));
	config.priority = PRIORITY_UNSET;
	config.vram_limit_bytes = UINT64_MAX;
	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		value = getenv(settings[i].name);
		if (value && *value && !settings[i].read(value))
			kfdshim_log(LOG_ERROR, "%s=%s is ignored: %s", settings[i].name, value,
				    settings[i].rule);
	}
	read_text("KFDSHIM_GROUP", config.group, sizeof(config.group));
	if (!read_text("KFDSHIM_SOCKET", config.socket, sizeof(config.socket)))
		strcpy(config.socket, PROTOCOL_SOCKET);
	if (read_text("XDG_RUNTIME_DIR", config.runtime_dir, sizeof(config.runtime_dir)) &&
	    config.runtime_dir[0] != '/')
		config.runtime_dir[0] = '\0';
	/* ROCr compares this variable, which is its own, with "0". */
	value = getenv("HSA_ENABLE_INTERRUPT");
	config.no_interrupts = value && strcmp(value, "0") == 0;
}
