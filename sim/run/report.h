/* SPDX-License-Identifier: MIT */
/* The file of --report (docs/formats.md). */
#ifndef KFDSHIM_SIM_RUN_REPORT_H
#define KFDSHIM_SIM_RUN_REPORT_H

#include <jansson.h>
#include <stdbool.h>

struct report {
	const char *path; /* NULL: none is wanted */
	int fd;
	bool made; /* the file was not there before */
};

/* Opens the file before anything starts, so that an hour's run does not end
 * with "permission denied". An exit status, said why. */
int report_open(struct report *report, const char *path);
/* Writes the object with the exit code added; takes over the reference. */
int report_write(struct report *report, json_t *object, int exit_code);
/* There was no world to report on: leaves no empty file. */
void report_drop(struct report *report);

#endif
