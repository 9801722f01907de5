// SPDX-License-Identifier: MIT
/*
 * Parses lines of trace_pipe. There are two formats, both with times of the clock `mono`:
 *
 *   Tracer function_graph with the options abstime, proc and tail. The time is that of the line;
 *   the line at the end of a function has the time of the end:
 *	   100.123456 |   1)   python3-1234   |               |  kfd_ioctl [amdgpu]() {
 *	   100.123459 |   1)   python3-1234   |   1.204 us    |    suspend_queues [amdgpu]();
 *	   100.123470 |   1)   python3-1234   | + 13.500 us   |  } / * kfd_ioctl [amdgpu] * /
 *	   100.123480 |   1)   python3-1234   |               |  / * drm_sched_job: entity=... * /
 *
 *   Tracer function, and events if the graph tracer is not active:
 *	      python3-1234    [001] ...1.   100.123456: kfd_ioctl <-__x64_sys_ioctl
 *	      python3-1234    [001] .....   100.123456: drm_sched_job: entity=...
 *
 * In both formats lost events are reported as "CPU:1 [LOST 12 EVENTS]".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/source_tracefs.h"

static const char *skip_blanks(const char *c)
{
	return c + strspn(c, " \t");
}

/* Parses "100.123456": seconds with six or nine decimals. Returns the text behind it;
 * NULL: malformed. */
static const char *take_time(const char *c, uint64_t *ns)
{
	char *end;
	unsigned long long s = strtoull(c, &end, 10);
	uint64_t part = 0, scale = 1000000000u;

	if (end == c || *end != '.' || s > 1000000000u || *c < '0' || *c > '9')
		return NULL;
	for (c = end + 1; *c >= '0' && *c <= '9' && scale > 1; c++) {
		part = part * 10 + (uint64_t)(*c - '0');
		scale /= 10;
	}
	*ns = s * 1000000000u + part * scale;
	return c;
}

/* Parses "comm-1234", which ends at `end`. A comm can contain blanks and dashes, so the
 * last dash counts. */
static bool take_task(const char *c, const char *end, struct trace_event *out)
{
	const char *dash;
	char *stop;

	c = skip_blanks(c);
	while (end > c && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	for (dash = end; dash > c && dash[-1] != '-'; dash--)
		;
	if (dash <= c + 1)
		return false;
	out->thread = strtoull(dash, &stop, 10);
	trace_copy(out->comm, sizeof(out->comm), c, (size_t)(dash - 1 - c));
	return stop == end;
}

/* Stores name and text. The name ends where the arguments, the module or the caller begin. */
static void take_name(const char *c, size_t bytes, struct trace_event *out)
{
	size_t n = strcspn(c, " (;:");

	trace_copy(out->name, sizeof(out->name), c, n < bytes ? n : bytes);
	trace_copy(out->text, sizeof(out->text), c, bytes);
}

/* Parses "+ 13.500 us" between two '|'. */
static bool take_duration(const char *c, struct trace_event *out)
{
	double us;
	char *end;

	c += strspn(c, " \t$@*#!+");
	us = strtod(c, &end);
	if (end == c || strncmp(skip_blanks(end), "us", 2) != 0 || us < 0 || us > 1e12)
		return false;
	out->has_duration = true;
	out->duration_ns = (uint64_t)(us * 1000);
	return true;
}

/* Parses what follows the time in a line of tracer function_graph. Returns false if it
 * is not an event. */
static bool parse_graph(const char *c, struct trace_event *out)
{
	const char *task = strchr(c, ')'), *bar = task ? strchr(task, '|') : NULL, *duration, *what,
		   *end;

	duration = bar ? bar + 1 : NULL;
	what = duration ? strchr(duration, '|') : NULL;
	if (!what || !take_task(task + 1, bar, out))
		return false;
	what = skip_blanks(what + 1);
	end = what + strlen(what);
	if (strncmp(what, "/* ", 3) == 0) { /* an event */
		if (end - what > 6 && strcmp(end - 3, " */") == 0)
			end -= 3;
		take_name(what + 3, (size_t)(end - what) - 3, out);
		return out->name[0] != '\0';
	}
	if (what[0] == '}') { /* end of a function: gives its span */
		what = strstr(what, "/* ");
		if (!what || !take_duration(duration, out) || out->duration_ns > out->ns)
			return false;
		what += 3;
		end = strstr(what, " */");
		take_name(what, end ? (size_t)(end - what) : strlen(what), out);
		out->ns -= out->duration_ns;
		out->mark = TRACE_SPAN;
		return true;
	}
	/* A function that has called no other traced function: one line. */
	if (end > what && end[-1] == ';' && take_duration(duration, out)) {
		take_name(what, (size_t)(end - what) - 1, out);
		out->mark = TRACE_SPAN;
		return true;
	}
	return false; /* start of a function: reported at its end */
}

/* Behind the task follow the CPU in brackets, the flags, the time and a colon. */
static bool parse_plain(const char *line, struct trace_event *out)
{
	const char *cpu = strstr(line, " ["), *c;

	while (cpu && !(cpu[2] >= '0' && cpu[2] <= '9'))
		cpu = strstr(cpu + 1, " [");
	c = cpu ? strchr(cpu, ']') : NULL;
	if (!c || !take_task(line, cpu, out))
		return false;
	c = skip_blanks(c + 1);
	if (*c < '0' || *c > '9') /* flags */
		c = skip_blanks(c + strcspn(c, " \t"));
	c = take_time(c, &out->ns);
	if (!c || *c != ':')
		return false;
	c = skip_blanks(c + 1);
	take_name(c, strlen(c), out);
	return out->name[0] != '\0';
}

bool tracefs_parse(const char *line, struct trace_event *out, uint64_t *lost)
{
	unsigned long long count;
	const char *c = skip_blanks(line), *lost_at = strstr(line, "[LOST ");

	*out = (struct trace_event){.source = TRACE_DRIVER};
	if (strncmp(c, "CPU:", 4) == 0 && lost_at &&
	    sscanf(lost_at, "[LOST %llu EVENTS]", &count) == 1) {
		*lost += count;
		return false;
	}
	c = take_time(c, &out->ns);
	if (c && *(c = skip_blanks(c)) == '|')
		return parse_graph(c + 1, out);
	return parse_plain(line, out);
}
