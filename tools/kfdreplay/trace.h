/* SPDX-License-Identifier: MIT */
/*
 * A recorded model trace: the operations of one model on a GPU, in order. The format of the file is
 * documented in traces/README.md.
 *
 * The reader is strict, because the meaning of a measurement depends on the trace: any line that is
 * not exactly in the format is an error, which names file, line and column (in bytes, from 1).
 * Lines can end in CR LF. A row `sync` ends a request; it is not stored as an operation.
 *
 * Units: ns, bytes, workgroups. Threads: any. Ownership: trace_free() releases everything.
 */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_TRACE_H
#define KFDSHIM_TOOLS_KFDREPLAY_TRACE_H

#include <stddef.h>
#include <stdint.h>

enum trace_op {
	TRACE_KERNEL,
	TRACE_MEMCPY_H2D,
	TRACE_MEMCPY_D2H,
	TRACE_MEMCPY_D2D,
	TRACE_MEMSET,
	TRACE_SYNC,
};

/* Maximum values in a line. A larger value is an error, because the file is probably damaged. */
#define TRACE_TIME_MAX 1000000000000000ull /* launch_ns, start_ns: eleven days */
#define TRACE_DURATION_MAX 60000000000ull  /* duration_ns: a minute */
#define TRACE_BYTES_MAX (1ull << 40)
#define TRACE_GRID_MAX (1ull << 32)  /* workgroups of a grid */
#define TRACE_BLOCK_MAX (1ull << 16) /* threads of a block */

struct trace_row {
	enum trace_op op; /* never TRACE_SYNC */
	uint64_t launch_ns;
	uint64_t duration_ns;
	uint64_t groups;  /* kernel: workgroups of the grid */
	uint64_t threads; /* kernel: threads of a workgroup */
	uint64_t bytes;	  /* copy and memset: size */
};

struct trace_request {
	size_t first, count;  /* index of the first row, and number of rows */
	uint64_t duration_ns; /* sum over its rows */
};

struct trace {
	char *name; /* name of the file without directory and .csv */
	struct trace_row *rows;
	size_t row_count;
	struct trace_request *requests;
	size_t request_count; /* > 0 */
};

/* Reads a file. Returns 0. On failure returns a negative errno (-EINVAL: error in the content),
 * writes one sentence without a newline to `error`, and leaves *out empty. */
int trace_read(const char *path, struct trace *out, char *error, size_t error_size);
void trace_free(struct trace *trace);

#endif
