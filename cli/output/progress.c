// SPDX-License-Identifier: MIT
#include "cli/output/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* True while the terminal shows a live line, which must be erased before other output. */
static bool live_line;

int progress_is_live(void)
{
	static int terminal = -1;

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	return terminal;
}

void progress_clear(void)
{
	if (live_line)
		fputs("\r\033[K", stderr);
	live_line = false;
}

void progress_note(const char *fmt, ...)
{
	va_list ap;

	progress_clear();
	fputs("kfdsched colocate: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void progress_live(const char *fmt, ...)
{
	va_list ap;

	if (!progress_is_live())
		return;
	progress_clear();
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
	live_line = true;
}
