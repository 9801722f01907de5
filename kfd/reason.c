// SPDX-License-Identifier: MIT
#include "kfd/reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *code, *text;
	bool transient;
} reasons[REASONS] = {
#define REASON(code, transient, text) [REASON_##code] = {#code, text, transient},
#include "kfd/reasons.def"
#undef REASON
};

/* Writes the text with its placeholders filled in. */
static void fill(struct reason *reason, const char *text, const char *detail)
{
	size_t used = 0;

	for (; *text && used < sizeof(reason->text) - 1; text++) {
		char *at = reason->text + used;
		size_t room = sizeof(reason->text) - used;
		int n = 1;

		if (text[0] == '%' && text[1] == 's')
			n = snprintf(at, room, "%s", detail);
		else if (text[0] == '%' && text[1] == 'd')
			n = snprintf(at, room, "%d", (int)reason->pid);
		else
			*at = *text;
		text += text[0] == '%';
		used += (size_t)n < room ? (size_t)n : room - 1;
	}
	reason->text[used] = '\0';
}

int reason_set(struct reason *reason, enum reason_code code, pid_t pid, int error,
	       const char *detail, ...)
{
	char text[REASON_TEXT];
	va_list ap;

	reason->code = code;
	reason->error = error;
	reason->pid = pid;
	va_start(ap, detail);
	if (detail)
		vsnprintf(text, sizeof(text), detail, ap);
	va_end(ap);
	fill(reason, code == REASON_NONE ? "" : reasons[code].text,
	     detail ? text : strerror(-error));
	return error;
}

void reason_add(struct reason *reason, const char *more, ...)
{
	size_t used = strlen(reason->text);
	va_list ap;

	va_start(ap, more);
	vsnprintf(reason->text + used, sizeof(reason->text) - used, more, ap);
	va_end(ap);
}

const char *reason_name(enum reason_code code)
{
	return code > REASON_NONE && code < REASONS ? reasons[code].code : NULL;
}

enum reason_code reason_find(const char *name)
{
	for (enum reason_code code = REASON_NONE + 1; name && code < REASONS; code++)
		if (!strcmp(name, reasons[code].code))
			return code;
	return REASON_NONE;
}

bool reason_is_transient(enum reason_code code)
{
	return code > REASON_NONE && code < REASONS && reasons[code].transient;
}
