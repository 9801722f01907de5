/* SPDX-License-Identifier: MIT */
/*
 * A recorded model trace: what one model asked of a GPU, operation by
 * operation. The file's format stands in traces/README.md.
 *
 * The reader is strict: a trace decides what a measurement means, so a line
 * that is not exactly right is an error, named by file, line and column
 * (bytes, from 1). Lines may end in CR LF. Rows end in a `sync`, which closes
 * a request; sync rows are not kept as operations.
 *
 * Units: nanoseconds, bytes, workgroups. Ownership: trace_free() releases all.
 */
#ifndef KFDSHIM_REPLAY_TRACE_H
#define KFDSHIM_REPLAY_TRACE_H

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

/* What a line may say at most; anything above is taken for damage. */
#define TRACE_TIME_MAX 1000000000000000ull /* launch_ns, start_ns: eleven days */
#define TRACE_DURATION_MAX 60000000000ull  /* duration_ns: a minute */
#define TRACE_BYTES_MAX (1ull << 40)
#define TRACE_GRID_MAX (1ull << 32)  /* workgroups of a grid */
#define TRACE_BLOCK_MAX (1ull << 16) /* threads of a block */

struct trace_row {
	enum trace_op op; /* never TRACE_SYNC */
	uint64_t launch_ns;
	uint64_t duration_ns;
	uint64_t groups;  /* kernel: workgroups of its grid */
	uint64_t threads; /* kernel: of one workgroup */
	uint64_t bytes;	  /* copies and memsets */
};

struct trace_request {
	size_t first, count;  /* rows */
	uint64_t duration_ns; /* sum over its rows */
};

struct trace {
	char *name; /* the file's, without folder and .csv */
	struct trace_row *rows;
	size_t row_count;
	struct trace_request *requests;
	size_t request_count; /* > 0 */
};

/* Reads a file. On failure returns a negative errno (-EINVAL: its contents),
 * writes one sentence without a newline to `error` and leaves *out empty. */
int trace_read(const char *path, struct trace *out, char *error, size_t error_size);
void trace_free(struct trace *trace);

#endif
