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

/* Copies the value of a variable. Returns false, with *to empty, if it is not set or too long; a
 * value that is too long is logged. */
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

static void read_level(const char *value)
{
	if (!value || !*value)
		return;
	if (protocol_level(value, &config.level) != 0)
		kfdshim_log(
			LOG_ERROR,
			"KFDSHIM_LEVEL=%s is ignored: it must be auto, trap, self, gate, weight or "
			"observe",
			value);
	config.observe = config.level == PROTOCOL_LEVEL_OBSERVE;
}

static void read_slo(const char *value)
{
	uint64_t ns;

	if (!value || !*value)
		return;
	if (parse_time_ns(value, &ns) && ns >= 1000 && ns / 1000 <= UINT32_MAX)
		config.slo_us = (uint32_t)(ns / 1000);
	else
		kfdshim_log(
			LOG_ERROR,
			"KFDSHIM_SLO=%s is ignored: it must be a time, such as 500us, 20ms or 1.5s",
			value);
}

static void read_vram_limit(const char *value)
{
	config.vram_limit_bytes = UINT64_MAX;
	if (!value || !*value)
		return;
	if (!parse_bytes(value, &config.vram_limit_bytes))
		kfdshim_log(
			LOG_ERROR,
			"KFDSHIM_VRAM_LIMIT=%s is ignored: it must be a number of bytes, such as 40G "
			"or 512M",
			value);
}

static void read_gate(const char *value)
{
	if (!value || !*value)
		return;
	if (!parse_uint(value, &config.gate_packets))
		kfdshim_log(LOG_ERROR,
			    "KFDSHIM_GATE=%s is ignored: it must be a number of packets, such as 4",
			    value);
}

static void read_update_queue(const char *value)
{
	if (!value || !*value)
		return;
	config.update_queue = strcmp(value, "may-reset-the-gpu") == 0;
	if (!config.update_queue)
		kfdshim_log(
			LOG_ERROR,
			"KFDSHIM_UPDATE_QUEUE=%s is ignored: only may-reset-the-gpu enables it, "
			"because it has reset GPUs",
			value);
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
		kfdshim_log(
			LOG_ERROR,
			"KFDSHIM_PRIORITY=%s is ignored: it must be online, offline or a number from 0 "
			"to 15",
			value);
	}
	read_text("KFDSHIM_GROUP", config.group, sizeof(config.group));
	if (!read_text("KFDSHIM_SOCKET", config.socket, sizeof(config.socket)))
		strcpy(config.socket, PROTOCOL_SOCKET);
	if (read_text("XDG_RUNTIME_DIR", config.runtime_dir, sizeof(config.runtime_dir)) &&
	    config.runtime_dir[0] != '/')
		config.runtime_dir[0] = '\0';
	read_level(getenv("KFDSHIM_LEVEL"));
	read_slo(getenv("KFDSHIM_SLO"));
	read_gate(getenv("KFDSHIM_GATE"));
	read_update_queue(getenv("KFDSHIM_UPDATE_QUEUE"));
	/* A variable of ROCr, which compares it with "0". */
	value = getenv("HSA_ENABLE_INTERRUPT");
	config.no_interrupts = value && strcmp(value, "0") == 0;
	read_vram_limit(getenv("KFDSHIM_VRAM_LIMIT"));
}
