/* SPDX-License-Identifier: MIT */
/* The file of --report (docs/reference/kfdsim-report.md). The functions return 0 or an exit status
 * after an error message (say.h). */
#ifndef KFDSHIM_SIM_SANDBOX_REPORT_H
#define KFDSHIM_SIM_SANDBOX_REPORT_H

#include <jansson.h>
#include <stdbool.h>

struct report {
	const char *path; /* NULL: no report */
	int fd;
	bool made; /* the file did not exist before */
};

/* Opens the file. This happens before anything starts, so that a run of an hour does not end with
 * "permission denied". */
int report_open(struct report *report, const char *path);
/* Adds the exit code to the object and writes it. Takes over the reference to the object. */
int report_write(struct report *report, json_t *object, int exit_code);
/* Closes the file if no report was written, and deletes it if report_open() created it. */
void report_drop(struct report *report);

#endif
