// SPDX-License-Identifier: MIT
#include "sim/sandbox/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void (*before_end)(void);

void end(int status)
{
	if (before_end)
		before_end();
	_exit(status);
}

static void print(const char *format, va_list args)
{
	char line[2048];

	vsnprintf(line, sizeof(line), format, args);
	/* Print the line with one call, because the command writes to the same stderr. */
	fprintf(stderr, "kfdsim: %s\n", line);
}

int complain(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
	return status;
}

void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
	end(status);
}
