// SPDX-License-Identifier: MIT
#include "scheduler/daemon/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* syslog(3) */
#define PRIORITY_ERROR 3
#define PRIORITY_INFO 6
#define PRIORITY_DEBUG 7

static bool journal;
static bool always, verbose; /* verbose: any thread reads it, the loop's writes it */

void log_to_journal(void)
{
	journal = true;
}

void log_set_verbose(bool wanted)
{
	__atomic_store_n(&verbose, wanted || always, __ATOMIC_RELAXED);
}

void log_verbose(void)
{
	always = true;
	log_set_verbose(true);
}

static void line(int priority, const char *format, va_list args)
{
	char text[600];
	size_t start, length;
	int n;

	start = (size_t)(journal ? snprintf(text, sizeof(text), "<%d>", priority)
				 : snprintf(text, sizeof(text), "kfdschedd: "));
	n = vsnprintf(text + start, sizeof(text) - start - 1, format, args);
	if (n < 0)
		return;
	length = start + (size_t)n;
	if (length > sizeof(text) - 2)
		length = sizeof(text) - 2;
	text[length++] = '\n';
	(void)!write(STDERR_FILENO, text, length);
}

void log_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line(PRIORITY_ERROR, format, args);
	va_end(args);
}

void log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line(PRIORITY_INFO, format, args);
	va_end(args);
}

void log_debug(const char *format, ...)
{
	va_list args;

	if (!__atomic_load_n(&verbose, __ATOMIC_RELAXED))
		return;
	va_start(args, format);
	line(PRIORITY_DEBUG, format, args);
	va_end(args);
}
