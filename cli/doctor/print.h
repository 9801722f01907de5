/* SPDX-License-Identifier: MIT */
/* Prints findings, for doctor and diagnose. */
#ifndef KFDSHIM_CLI_DOCTOR_PRINT_H
#define KFDSHIM_CLI_DOCTOR_PRINT_H

#include <jansson.h>

#include "cli/doctor/checks.h"

enum findings_view {
	VIEW_ALL,
	VIEW_PROBLEMS, /* warnings and missing ones; those that differ only in the GPU as one row */
	VIEW_OBSTACLES /* all, of one process that is named above the table */
};

/* Prints a table. Returns the number of rows, without which nothing is printed, or -ENOMEM. */
int findings_print(const struct doctor_findings *findings, enum findings_view view);
/* Returns an array with an object for each finding (docs/reference/doctor.md). of_one: of one
 * process, which is named elsewhere. */
json_t *findings_json(const struct doctor_findings *findings, bool of_one);
/* If the GPU is simulated, prints a line that says so, between `begin` and `end`. */
void print_simulated(const struct doctor_facts *facts, const char *begin, const char *end);

#endif
