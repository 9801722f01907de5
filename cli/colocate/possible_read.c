// SPDX-License-Identifier: MIT
/* The file has a header line and one line per request: arrival, start and end in us. The end is
 * empty if the request was not completed. */
#include "cli/colocate/possible_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "due_us,begin_us,end_us\n"

/* Returns false if the line is malformed. Times must not decrease within a line, and arrivals not
 * from line to line. An empty end time means that the request was not completed. */
static bool parse_line(const char *line, double last_due_us, struct request_time *out)
{
	double begin_us;
	int end = 0, last = 0;

	*out = (struct request_time){.end_us = NAN};
	if (sscanf(line, "%lf,%lf,%n", &out->due_us, &begin_us, &end) != 2 || end == 0)
		return false;
	if (line[end] != '\n' &&
	    (sscanf(line + end, "%lf%n", &out->end_us, &last) != 1 || line[end + last] != '\n' ||
	     !(out->end_us >= begin_us) || isinf(out->end_us)))
		return false;
	return out->due_us >= last_due_us && begin_us >= out->due_us;
}

static int add(struct request_list *list, size_t *room, struct request_time time)
{
	if (list->count == *room) {
		size_t more = *room ? *room * 2 : 1024;
		struct request_time *times = reallocarray(list->times, more, sizeof(*times));

		if (!times)
			return -ENOMEM;
		list->times = times;
		*room = more;
	}
	list->times[list->count++] = time;
	return 0;
}

static int read_lines(FILE *file, struct request_list *out)
{
	char line[128];
	double last_due_us = 0;
	size_t room = 0;
	int rc = 0;

	if (!fgets(line, sizeof(line), file) || strcmp(line, HEADER) != 0)
		return ferror(file) ? -EIO : -EINVAL;
	while (rc == 0 && fgets(line, sizeof(line), file)) {
		struct request_time time;

		if (!parse_line(line, last_due_us, &time))
			return -EINVAL;
		last_due_us = time.due_us;
		rc = add(out, &room, time);
	}
	return rc ? rc : ferror(file) ? -EIO : 0;
}

int request_list_read(const char *path, struct request_list *out)
{
	FILE *file = fopen(path, "re");
	int rc;

	*out = (struct request_list){0};
	if (!file)
		return -errno;
	rc = read_lines(file, out);
	fclose(file);
	if (rc)
		request_list_free(out);
	return rc;
}

void request_list_free(struct request_list *list)
{
	free(list->times);
	*list = (struct request_list){0};
}
