// SPDX-License-Identifier: MIT
#include "sim/sandbox/say.h"

#include <stdarg.h>
#include <stdio.h>

int complain(int status, const char *format, ...)
{
	char line[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* Print the line with one call, because the command writes to the same stderr. */
	fprintf(stderr, "kfdsim: %s\n", line);
	return status;
}
