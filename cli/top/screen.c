// SPDX-License-Identifier: MIT
#include "cli/top/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/allocate.h"
#include "common/text.h"

#define BYTES_OF_ONE 4u	 /* bytes of the longest UTF-8 character */
#define PRINT_BYTES 512u /* buffer for one text; the rest is cut */

void screen_begin(struct screen *screen, unsigned width, unsigned height)
{
	if (width != screen->width || height != screen->height) {
		bool utf8 = screen->utf8;

		screen_free(screen);
		screen->utf8 = utf8;
		screen->line = allocate(height, sizeof(*screen->line));
		screen->width = width;
		screen->height = height;
		for (unsigned i = 0; i < height; i++)
			screen->line[i].text = allocate(width * BYTES_OF_ONE + 1, 1);
	}
	for (unsigned i = 0; i < height; i++) {
		struct screen_line *line = &screen->line[i];

		line->bytes = line->columns = line->spans = 0;
		line->text[0] = '\0';
	}
	screen->cursor = false;
}

void screen_free(struct screen *screen)
{
	for (unsigned i = 0; screen->line && i < screen->height; i++)
		free(screen->line[i].text);
	free(screen->line);
	*screen = (struct screen){0};
}

/* Returns the width of a character in columns; 0 if it must not be shown, because the terminal
 * would interpret it (a control character) or it changes the characters next to it. */
static unsigned columns_of(uint32_t c)
{
	int width;

	if (!plain_is_printable(c))
		return 0;
	if (c < 0x7f)
		return 1;
	width = wcwidth((wchar_t)c);
	return width > 0 ? (unsigned)width : 0;
}

unsigned screen_harmless(char *out, size_t size, const char *text, unsigned columns, bool utf8)
{
	const char *at = text;
	unsigned used = 0;

	while (*at) {
		uint32_t c;
		size_t n = plain_decode(at, &c);
		unsigned width = n && (utf8 || n == 1) ? columns_of(c) : 0;
		const char *from = width ? at : "?";
		size_t bytes = width ? n : 1;

		width = width ? width : 1;
		if (used + width > columns || bytes + 1 > size)
			break;
		memcpy(out, from, bytes);
		out += bytes;
		size -= bytes;
		used += width;
		at += n ? n : 1;
	}
	*out = '\0';
	return used;
}

/* Appends filtered text to a line. Text that does not fit is dropped. */
static void add(struct screen *screen, struct screen_line *line, enum screen_ink ink,
		const char *text, unsigned columns)
{
	size_t bytes = strlen(text);

	if (!bytes || line->columns + columns > screen->width)
		return;
	if (!line->spans || line->span[line->spans - 1].ink != ink) {
		if (line->spans == SCREEN_SPANS)
			return;
		line->span[line->spans++] = (struct screen_span){
			.column = line->columns,
			.start = line->bytes,
			.ink = ink,
		};
	}
	memcpy(line->text + line->bytes, text, bytes + 1);
	line->bytes += bytes;
	line->columns += columns;
}

void screen_text(struct screen *screen, unsigned at, enum screen_ink ink, const char *text)
{
	char harmless[PRINT_BYTES];
	struct screen_line *line;
	unsigned columns;

	if (at >= screen->height)
		return;
	line = &screen->line[at];
	columns = screen_harmless(harmless, sizeof(harmless), text, screen->width - line->columns,
				  screen->utf8);
	add(screen, line, ink, harmless, columns);
}

void screen_print(struct screen *screen, unsigned line, enum screen_ink ink, const char *fmt, ...)
{
	char text[PRINT_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	screen_text(screen, line, ink, text);
}

static void blanks(struct screen *screen, struct screen_line *line, enum screen_ink ink,
		   unsigned columns)
{
	static const char blank[] = "                ";

	while (columns) {
		unsigned n = columns < sizeof(blank) - 1 ? columns : (unsigned)sizeof(blank) - 1;

		add(screen, line, ink, blank + sizeof(blank) - 1 - n, n);
		columns -= n;
	}
}

void screen_cell(struct screen *screen, unsigned at, enum screen_ink ink, const char *text,
		 unsigned columns, bool left)
{
	char harmless[PRINT_BYTES];
	struct screen_line *line;
	unsigned used;

	if (at >= screen->height)
		return;
	line = &screen->line[at];
	if (columns > screen->width - line->columns)
		columns = screen->width - line->columns;
	used = screen_harmless(harmless, sizeof(harmless), text, columns, screen->utf8);
	if (!left)
		blanks(screen, line, ink, columns - used);
	add(screen, line, ink, harmless, used);
	if (left)
		blanks(screen, line, ink, columns - used);
}

void screen_fill(struct screen *screen, unsigned at, enum screen_ink ink)
{
	if (at < screen->height)
		blanks(screen, &screen->line[at], ink, screen->width - screen->line[at].columns);
}

void screen_cursor(struct screen *screen, unsigned at)
{
	if (at >= screen->height)
		return;
	screen->cursor = true;
	screen->cursor_line = at;
	screen->cursor_column = screen->line[at].columns;
	if (screen->cursor_column >= screen->width && screen->width)
		screen->cursor_column = screen->width - 1;
}
