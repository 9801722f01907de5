// SPDX-License-Identifier: MIT
#include "sim/sandbox/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sim/sandbox/say.h"

int report_open(struct report *report, const char *path)
{
	*report = (struct report){.path = path, .fd = -1};
	if (!path)
		return 0;
	report->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	report->made = report->fd >= 0;
	if (report->fd < 0 && errno == EEXIST)
		report->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (report->fd < 0)
		return complain(STATUS_USAGE, "cannot write the report %s (%s)", path,
				strerror(errno));
	return 0;
}

int report_write(struct report *report, json_t *object, int exit_code)
{
	int bad = 0;

	if (report->fd >= 0) {
		bad = !object || json_object_set_new(object, "exit_code", json_integer(exit_code));
		/* ftruncate() fails with EINVAL for a pipe or /dev/stdout, which do not need it. */
		if (!bad && ftruncate(report->fd, 0) && errno != EINVAL)
			bad = 1;
		if (!bad)
			bad = json_dumpfd(object, report->fd, JSON_INDENT(1)) ||
			      write(report->fd, "\n", 1) != 1;
		bad |= close(report->fd) != 0;
		report->fd = -1;
	}
	json_decref(object);
	return bad ? complain(STATUS_FAILED, "cannot write the report %s", report->path) : 0;
}

void report_drop(struct report *report)
{
	if (report->fd < 0)
		return;
	close(report->fd);
	report->fd = -1;
	if (report->made)
		unlink(report->path);
}
