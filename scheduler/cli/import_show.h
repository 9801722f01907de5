/* SPDX-License-Identifier: MIT */
/* How `kfdsched import-log` prints what a log adds up to. Threads: none. */
#ifndef KFDSHIM_CLI_IMPORT_SHOW_H
#define KFDSHIM_CLI_IMPORT_SHOW_H

#include "scheduler/cli/import_tally.h"

/* What was read of it, besides the tally. */
struct import_read {
	const char *file; /* "-": stdin */
	uint64_t bytes, lines;
	uint64_t cut; /* lines longer than HIPLOG_LINE_MAX, of which the rest was not looked at */
	bool stopped; /* somebody asked, before its end */
};

enum import_format { IMPORT_TABLE, IMPORT_JSON, IMPORT_PYTHON };

/* Prints on stdout. 0, or -ENOMEM. */
int import_show(const struct import_read *read, const struct tally *tally,
		enum import_format format);

#endif
