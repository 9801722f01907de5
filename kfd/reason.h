/* SPDX-License-Identifier: MIT */
/*
 * The reason why a process cannot be suspended: a code, which programs compare, and a sentence,
 * which people read. Pure. Threads: any.
 */
#ifndef KFDSHIM_KFD_REASON_H
#define KFDSHIM_KFD_REASON_H

#include <stdbool.h>
#include <sys/types.h>

enum reason_code {
	REASON_NONE,
#define REASON(code, transient, text) REASON_##code,
#include "kfd/reasons.def"
#undef REASON
	REASONS
};

#define REASON_TEXT 256 /* bytes of a sentence, with its NUL */

struct reason {
	enum reason_code code;
	int error;		/* negative errno, as the function that failed returned it */
	pid_t pid;		/* process in the sentence; 0: none */
	char text[REASON_TEXT]; /* a sentence without a full stop; "": no reason */
};

/*
 * Sets the reason, and its sentence from the text in reasons.def. `detail`: a printf format; NULL:
 * the name of the error. Returns `error`, so that the caller can return the result as its own.
 */
int reason_set(struct reason *reason, enum reason_code code, pid_t pid, int error,
	       const char *detail, ...) __attribute__((format(printf, 5, 6)));
/* Appends to the sentence of the reason. */
void reason_add(struct reason *reason, const char *more, ...) __attribute__((format(printf, 2, 3)));
/* Returns the name of a code, such as "yama_forbids"; NULL for REASON_NONE and for a number that is
 * no code. */
const char *reason_name(enum reason_code code);
/* Returns the code with this name. Returns REASON_NONE if `name` is NULL or unknown, as a code of a
 * later version is. */
enum reason_code reason_find(const char *name);
/* Returns true if the reason is temporary: once the process has progressed, the daemon can suspend
 * it (PROTOCOL_LEVEL_TRAP), which is better than other levels, such as PROTOCOL_LEVEL_GATE. */
bool reason_is_transient(enum reason_code code);

#endif
