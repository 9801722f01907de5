/* SPDX-License-Identifier: MIT */
/* Prints the totals of a HIP log for `kfdsched import-log`. Threads: none. */
#ifndef KFDSHIM_CLI_IMPORT_LOG_OUTPUT_H
#define KFDSHIM_CLI_IMPORT_LOG_OUTPUT_H

#include "cli/import_log/stats.h"

/* How much of the log was read, besides the summary. */
struct import_read {
	const char *file; /* "-": stdin */
	uint64_t bytes, lines;
	uint64_t cut; /* lines longer than HIPLOG_LINE_MAX, whose rest was ignored */
	bool stopped; /* a signal stopped the reading before the log's end */
};

enum import_format { IMPORT_TABLE, IMPORT_JSON, IMPORT_PYTHON };

/* Prints the summary on stdout: as tables, as JSON (docs/reference/import-log.md), or the same as a
 * Python literal. */
void import_show(const struct import_read *read, const struct log_stats *stats,
		 enum import_format format);

#endif
