// SPDX-License-Identifier: MIT
#include "scheduler/daemon/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool always, verbose; /* verbose: any thread reads it, the loop's writes it */

void log_set_verbose(bool wanted)
{
	__atomic_store_n(&verbose, wanted || always, __ATOMIC_RELAXED);
}

void log_verbose(void)
{
	always = true;
	log_set_verbose(true);
}

static void line(const char *format, va_list args)
{
	static const char name[] = "kfdschedd: ";
	const size_t start = sizeof(name) - 1;
	char text[600];
	size_t length;
	int n;

	memcpy(text, name, start);
	n = vsnprintf(text + start, sizeof(text) - start - 1, format, args);
	if (n < 0)
		return;
	length = start + (size_t)n;
	if (length > sizeof(text) - 2)
		length = sizeof(text) - 2;
	text[length++] = '\n';
	(void)!write(STDERR_FILENO, text, length);
}

void log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line(format, args);
	va_end(args);
}

void log_debug(const char *format, ...)
{
	va_list args;

	if (!__atomic_load_n(&verbose, __ATOMIC_RELAXED))
		return;
	va_start(args, format);
	line(format, args);
	va_end(args);
}
