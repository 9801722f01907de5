// SPDX-License-Identifier: MIT
#include "cli/inspect/hiplog.h"

#include <string.h>

/* The part of a line that is not parsed yet. */
struct rest {
	const char *at, *end;
};

#define WORD(literal) literal, sizeof(literal) - 1

static bool begins(const struct rest *rest, const char *word, size_t length)
{
	return (size_t)(rest->end - rest->at) >= length && memcmp(rest->at, word, length) == 0;
}

static bool take(struct rest *rest, const char *word, size_t length)
{
	if (!begins(rest, word, length))
		return false;
	rest->at += length;
	return true;
}

static void skip_blanks(struct rest *rest)
{
	while (rest->at < rest->end && *rest->at == ' ')
		rest->at++;
}

/* Skips the text up to the end of the next `word`. Returns false if `word` does not follow. */
static bool skip_to(struct rest *rest, const char *word, size_t length)
{
	const char *found = memmem(rest->at, (size_t)(rest->end - rest->at), word, length);

	if (!found)
		return false;
	rest->at = found + length;
	return true;
}

/* Maximum numbers of digits. A longer number is not parsed, because it might not fit 64 bits or the
 * signed integers of JSON. */
#define DECIMAL_DIGITS 18
#define HEX_DIGITS 16

static bool decimal(struct rest *rest, uint64_t *out)
{
	const char *at = rest->at;
	uint64_t value = 0;
	unsigned digit;

	for (; at < rest->end && (digit = (unsigned char)*at - (unsigned)'0') < 10; at++)
		value = value * 10 + digit;
	if (at == rest->at || at - rest->at > DECIMAL_DIGITS)
		return false;
	rest->at = at;
	*out = value;
	return true;
}

/* Value plus 1 of each character that is a hexadecimal digit; 0 for other characters. */
static const unsigned char hex_digit[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static bool hex_digits(struct rest *rest, uint64_t *out)
{
	const char *at = rest->at;
	uint64_t value = 0;
	unsigned digit;

	for (; at < rest->end && (digit = hex_digit[(unsigned char)*at]); at++)
		value = value << 4 | (digit - 1);
	if (at == rest->at || at - rest->at > HEX_DIGITS)
		return false;
	rest->at = at;
	*out = value;
	return true;
}

static bool hex(struct rest *rest, uint64_t *out)
{
	return take(rest, WORD("0x")) && hex_digits(rest, out);
}

/* Parses an address into *out and sets `bit` in *has. Does nothing if the address is 0, which the
 * runtime prints if it has no address. */
static void address(struct rest *rest, uint64_t *out, unsigned *has, unsigned bit)
{
	uint64_t value;

	if (hex(rest, &value) && value) {
		*out = value;
		*has |= bit;
	}
}

static void number(struct rest *rest, uint64_t *out, unsigned *has, unsigned bit)
{
	if (decimal(rest, out))
		*has |= bit;
}

/* Parses the prefix ":LEVEL:FILE  :LINE: TIME us: ". Returns false if `rest` does not begin with
 * one. */
static bool prefix(struct rest *rest, struct hiplog_record *out)
{
	const char *colon;
	uint64_t line;

	if (rest->end - rest->at < 16 || rest->at[0] != ':' || rest->at[1] < '0' ||
	    rest->at[1] > '9' || rest->at[2] != ':')
		return false;
	out->level = (unsigned)(rest->at[1] - '0');
	rest->at += 3;
	colon = memchr(rest->at, ':', (size_t)(rest->end - rest->at));
	if (!colon)
		return false;
	out->file.text = rest->at;
	out->file.bytes = (size_t)(colon - rest->at);
	while (out->file.bytes && out->file.text[out->file.bytes - 1] == ' ')
		out->file.bytes--;
	rest->at = colon + 1;
	if (!decimal(rest, &line))
		return false;
	skip_blanks(rest);
	return take(rest, WORD(": ")) && decimal(rest, &out->us) && take(rest, WORD(" us: "));
}

/* Parses pid and thread, which are optional and have one of the forms "[pid:7     tid:0x7f00]",
 * "[pid:7 tid: 0x7f00]" and "7    : [tid:0x7f00]". Returns true for the forms that begin with
 * "[pid:". HIP 5.7 and later write these, older versions do not. */
static bool read_process(struct rest *rest, struct hiplog_record *out)
{
	struct rest at = *rest;
	const bool bracket = take(&at, WORD("[pid:"));
	uint64_t pid, thread;

	skip_blanks(&at);
	if (!decimal(&at, &pid))
		return bracket;
	skip_blanks(&at);
	if (bracket ? !take(&at, WORD("tid:")) : !take(&at, WORD(": [tid:")))
		return bracket;
	skip_blanks(&at);
	if (!hex(&at, &thread) || !take(&at, WORD("]")))
		return bracket;
	*rest = at;
	if (pid) {
		out->pid = pid;
		out->has |= HIPLOG_HAS_PID;
	}
	out->thread = thread;
	out->has |= HIPLOG_HAS_THREAD;
	return bracket;
}

/* Skips blanks and terminal colour sequences: the runtime colours function names, and the program
 * that stored the log may have added colours, too. */
static void skip_colours(struct rest *rest)
{
	for (;;) {
		skip_blanks(rest);
		if (!begins(rest, WORD("\033[")))
			return;
		const char *at = rest->at + 2;

		while (at < rest->end && ((*at >= '0' && *at <= '9') || *at == ';'))
			at++;
		if (at == rest->end || *at != 'm')
			return;
		rest->at = at + 1;
	}
}

/* Sets *name to the text before the next `stop` character. Returns false if there is no such
 * character. */
static bool name_until(struct rest *rest, struct hiplog_text *name, char stop)
{
	const char *end = memchr(rest->at, stop, (size_t)(rest->end - rest->at));

	if (!end)
		return false;
	*name = (struct hiplog_text){rest->at, (size_t)(end - rest->at)};
	rest->at = end;
	return true;
}

/* Parses "rptr=1" and "wptr=2" into *out. Searches backwards, because they are at the end of a long
 * line. */
static void pointers(struct rest *rest, struct hiplog_record *out)
{
	const char *at = rest->end;

	while (at - rest->at >= 5 && !(out->has & HIPLOG_HAS_RPTR)) {
		const char *equals = memrchr(rest->at, '=', (size_t)(at - rest->at));

		if (!equals || equals - rest->at < 4)
			return;
		struct rest value = {equals + 1, rest->end};

		if (memcmp(equals - 4, "wptr", 4) == 0)
			number(&value, &out->wptr, &out->has, HIPLOG_HAS_WPTR);
		else if (memcmp(equals - 4, "rptr", 4) == 0)
			number(&value, &out->rptr, &out->has, HIPLOG_HAS_RPTR);
		else if (out->has & HIPLOG_HAS_WPTR || rest->end - equals > 64)
			return;
		at = equals;
	}
}

/* Parses a packet: "[SWq=0x.., ]HWq=0x..[, id=1], Dispatch Header = 0x.. (...)...[, rptr=1,
 * wptr=2]". bracket: the line has "[pid:", as lines of HIP 5.7 and later do. */
static void packet(struct rest *rest, struct hiplog_record *out, bool bracket)
{
	struct rest at = *rest;
	const bool both = take(&at, WORD("SWq="));

	if (both)
		address(&at, &out->hsa_queue, &out->has, HIPLOG_HAS_HSA_QUEUE);
	if (both ? !take(&at, WORD(", HWq=")) : !take(&at, WORD("HWq=")))
		return;
	address(&at, &out->hwq, &out->has, HIPLOG_HAS_HWQ);

	/* The word in front of " Header = " is the kind of packet. Other fields can precede it. */
	struct rest fields = at;

	if (!skip_to(&at, WORD(" Header = "))) {
		/* The line was cut before the kind of the packet, so drop the fields that were
		 * read. */
		out->has &= HIPLOG_HAS_PID | HIPLOG_HAS_THREAD;
		return;
	}
	const char *end = at.at - (sizeof(" Header = ") - 1);
	const char *word = end;

	while (word > fields.at && word[-1] != ' ')
		word--;
	out->name = (struct hiplog_text){word, (size_t)(end - word)};
	fields.end = word;
	if (skip_to(&fields, WORD(" id=")))
		number(&fields, &out->hsa_id, &out->has, HIPLOG_HAS_HSA_ID);
	pointers(&at, out);

	struct rest kind = {word, end};

	/* Decide whether HWq= is the ring or the hsa_queue_t. It is the ring if there is SWq=. HIP
	 * 5.7 to 6.1 have no SWq= and print the ring, except for BarrierValue packets. */
	if (out->has & HIPLOG_HAS_HWQ &&
	    (both || (bracket && !begins(&kind, WORD("BarrierValue"))))) {
		out->ring = out->hwq;
		out->has ^= HIPLOG_HAS_HWQ | HIPLOG_HAS_RING;
	}
	if (begins(&kind, WORD("Dispatch")))
		out->kind = HIPLOG_DISPATCH;
	else if (begins(&kind, WORD("Barrier")))
		out->kind = HIPLOG_BARRIER;
	else
		out->kind = HIPLOG_PACKET;
}

/* Parses the creation of a queue: "... with size 4096 with priority 1, cooperative: 0". */
static void created(struct rest *rest, struct hiplog_record *out)
{
	uint64_t cooperative;

	out->kind = HIPLOG_CREATED;
	if (skip_to(rest, WORD("with size ")))
		number(rest, &out->packets, &out->has, HIPLOG_HAS_PACKETS);
	if (skip_to(rest, WORD("with priority ")))
		number(rest, &out->priority, &out->has, HIPLOG_HAS_PRIORITY);
	if (skip_to(rest, WORD("cooperative: ")) && decimal(rest, &cooperative)) {
		out->cooperative = cooperative != 0;
		out->has |= HIPLOG_HAS_COOPERATIVE;
	}
}

/* Parses "0x7f00 (2)", a hardware queue and the number of streams that use it, and makes the record
 * one of `kind`. Does nothing if there is no address. */
static void references(struct rest *rest, struct hiplog_record *out, enum hiplog_kind kind)
{
	skip_blanks(rest);
	address(rest, &out->hwq, &out->has, HIPLOG_HAS_HWQ);
	if (!(out->has & HIPLOG_HAS_HWQ))
		return;
	out->kind = kind;
	if (take(rest, WORD(" (")))
		number(rest, &out->references, &out->has, HIPLOG_HAS_REFERENCES);
}

static void pool(struct rest *rest, struct hiplog_record *out)
{
	static const struct {
		const char *word;
		size_t length;
	} sizes[HIPLOG_POOL_SIZES] = {
		[HIPLOG_LOW] = {WORD("low priority: ")},
		[HIPLOG_NORMAL] = {WORD("normal priority: ")},
		[HIPLOG_HIGH] = {WORD("high priority: ")},
		[HIPLOG_MAX_EACH] = {WORD("per priority is: ")},
	};

	for (unsigned i = 0; i < HIPLOG_POOL_SIZES; i++) {
		if (!skip_to(rest, sizes[i].word, sizes[i].length) || !decimal(rest, &out->pool[i]))
			return;
	}
	out->kind = HIPLOG_POOL;
}

/* Parses "HSA [Async ]Copy ... completion_signal=". Lines without a signal are not recorded as a
 * copy: they only describe how a copy is done that another line reports. */
static void copy(struct rest *rest, struct hiplog_record *out)
{
	struct rest at = *rest;

	if (!memmem(at.at, (size_t)(at.end - at.at), WORD("completion_signal=")))
		return;
	out->kind = HIPLOG_COPY;
	if (skip_to(&at, WORD("copy_engine=")) && hex(&at, &out->engines))
		out->has |= HIPLOG_HAS_ENGINES;
	at.at = rest->at;
	if (skip_to(&at, WORD(" size=")))
		number(&at, &out->bytes, &out->has, HIPLOG_HAS_BYTES);
}

static void aborted(struct rest *rest, struct hiplog_record *out)
{
	address(rest, &out->hwq, &out->has, HIPLOG_HAS_HWQ);
	if (!(out->has & HIPLOG_HAS_HWQ))
		return;
	skip_blanks(rest);
	out->kind = HIPLOG_ABORTED;
	out->name = (struct hiplog_text){rest->at, (size_t)(rest->end - rest->at)};
}

/* Parses the call or return of a HIP function: "hipMalloc ( ... )", or
 * "hipMalloc: Returned hipSuccess : ...: duration: 18 us". */
static void function(struct rest *rest, struct hiplog_record *out)
{
	const char *at = rest->at;

	while (at < rest->end && *at != ' ' && *at != ':' && *at != '(')
		at++;
	out->name = (struct hiplog_text){rest->at, (size_t)(at - rest->at)};
	rest->at = at;
	if (begins(rest, WORD(" (")) || begins(rest, WORD("("))) {
		out->kind = HIPLOG_CALL;
		return;
	}
	if (!take(rest, WORD(": Returned ")) || !name_until(rest, &out->result, ' '))
		return;
	out->kind = HIPLOG_RETURN;
	for (at = rest->end; at > rest->at && at[-1] != ':';)
		at--;
	struct rest tail = {at, rest->end};
	const size_t before = sizeof("duration:") - 1;

	skip_blanks(&tail);
	if ((size_t)(at - rest->at) >= before && memcmp(at - before, "duration:", before) == 0)
		number(&tail, &out->duration_us, &out->has, HIPLOG_HAS_DURATION);
}

static void read_c(struct rest *rest, struct hiplog_record *out)
{
	if (take(rest, WORD("Created SWq="))) {
		address(rest, &out->hsa_queue, &out->has, HIPLOG_HAS_HSA_QUEUE);
		if (skip_to(rest, WORD("HWq=")))
			address(rest, &out->ring, &out->has, HIPLOG_HAS_RING);
		created(rest, out);
	} else if (take(rest, WORD("created hardware queue "))) {
		address(rest, &out->hsa_queue, &out->has, HIPLOG_HAS_HSA_QUEUE);
		created(rest, out);
	} else if (take(rest, WORD("Callback: Queue "))) {
		aborted(rest, out);
	}
}

static void read_d(struct rest *rest, struct hiplog_record *out)
{
	rest->at++;
	if (!take(rest, WORD("eleting hardware queue ")) &&
	    !take(rest, WORD("eleting CG enabled hardware queue ")))
		return;
	address(rest, &out->hwq, &out->has, HIPLOG_HAS_HWQ);
	if (out->has & HIPLOG_HAS_HWQ)
		out->kind = HIPLOG_DELETED;
}

static void read_s(struct rest *rest, struct hiplog_record *out, bool bracket)
{
	if (begins(rest, WORD("SWq="))) {
		packet(rest, out, bracket);
	} else if (take(rest, WORD("ShaderName : "))) {
		out->kind = HIPLOG_KERNEL;
		out->name = (struct hiplog_text){rest->at, (size_t)(rest->end - rest->at)};
	} else {
		rest->at++;
		if (take(rest, WORD("elected queue")) && skip_to(rest, WORD("refCount:")))
			references(rest, out, HIPLOG_ACQUIRED);
	}
}

/* Parses the message behind the prefix. Its first letter selects the parsers that are called,
 * because most kinds of messages begin with a fixed word. */
static void message(struct rest *rest, struct hiplog_record *out, bool bracket)
{
	if (rest->at == rest->end)
		return;
	switch (*rest->at) {
	case 'S':
	case 's':
		read_s(rest, out, bracket);
		break;
	case 'H':
		if (begins(rest, WORD("HWq=")))
			packet(rest, out, bracket);
		else if (take(rest, WORD("HSA Async Copy")) || take(rest, WORD("HSA Asycn Copy")) ||
			 take(rest, WORD("HSA Copy")))
			copy(rest, out);
		break;
	case 'C':
	case 'c':
		read_c(rest, out);
		break;
	case 'D':
	case 'd':
		read_d(rest, out);
		break;
	case 'N':
	case 'n':
		rest->at++;
		if (take(rest, WORD("umber of allocated hardware queues")))
			pool(rest, out);
		break;
	case 'a':
		if (take(rest, WORD("acquireQueue refCount:")))
			references(rest, out, HIPLOG_ACQUIRED);
		break;
	case 'r':
		if (take(rest, WORD("releaseQueue refCount:")))
			references(rest, out, HIPLOG_RELEASED);
		break;
	case 'G':
		if (take(rest, WORD("Graph ShaderName : "))) {
			out->kind = HIPLOG_KERNEL;
			if (!name_until(rest, &out->name, ','))
				out->name = (struct hiplog_text){rest->at,
								 (size_t)(rest->end - rest->at)};
		}
		break;
	case 'h':
	case 'i':
	case '_':
		if (begins(rest, WORD("hip")) || begins(rest, WORD("ihip")) ||
		    begins(rest, WORD("__hip")))
			function(rest, out);
		break;
	default:
		break;
	}
}

bool hiplog_parse(const char *line, size_t bytes, struct hiplog_record *out)
{
	struct rest rest = {line, line + bytes};

	while (rest.end > rest.at && (rest.end[-1] == '\r' || rest.end[-1] == '\n'))
		rest.end--;
	/* Find the first complete prefix of HIP. Text in front of it is from another program. */
	for (;;) {
		struct rest found = rest;

		*out = (struct hiplog_record){.kind = HIPLOG_OTHER};
		if (prefix(&found, out)) {
			out->before = (struct hiplog_text){line, (size_t)(rest.at - line)};
			rest = found;
			break;
		}
		const char *colon = rest.at < rest.end ? memchr(rest.at + 1, ':',
								(size_t)(rest.end - rest.at - 1))
						       : NULL;

		if (!colon)
			return false;
		rest.at = colon;
	}
	bool bracket = read_process(&rest, out);

	skip_colours(&rest);
	out->message = (struct hiplog_text){rest.at, (size_t)(rest.end - rest.at)};
	message(&rest, out, bracket);
	return true;
}

const char *hiplog_priority_name(uint64_t priority)
{
	static const char *const names[] = {"low", "normal", "high"};

	return priority < sizeof(names) / sizeof(names[0]) ? names[priority] : "-";
}
