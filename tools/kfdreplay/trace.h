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

#include <stdbool.h>
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

/*
 * The plan: a recorded trace, converted into operations for a given GPU.
 *
 * Kernels. The recorded GPU has 132 multiprocessors. A recorded kernel of G workgroups and duration
 * D becomes a spin kernel:
 *
 *   G >= 132   w = round(G / (132 x shared)) waves of workgroups, at least one, at most D / 1 us.
 *              It has w x (compute units) workgroups, each of which spins for D / w. So it fills
 *              this GPU as it filled the recorded one, and yields compute units as often.
 *   G < 132    It has round(G / 132 x compute units) workgroups (at least one), each of which spins
 *              for D. So it uses the same share of the GPU for the same time.
 *
 * `shared` is the number of workgroups that ran on one multiprocessor at a time. A recording does
 * not contain it, so there are two assumptions:
 * - `shared` is the number that fits if a thread uses 64 registers. With 65536 registers for each
 *   multiprocessor (NVIDIA H200, Hopper tuning guide) there is room for 1024 threads, so it is
 *   1024 / (threads of a workgroup), at least one.
 * - All workgroups that shared a multiprocessor become one workgroup here, which occupies a whole
 *   compute unit (it is dispatched with all 64 KiB of LDS). So these kernels leave no room for
 *   others, where the recorded ones may have left some.
 *
 * Copies remain copies of the same number of bytes. The runtime does them, and they take as long as
 * this machine needs.
 *
 * A memset becomes a spin kernel of its recorded duration in the same queue, with a workgroup for
 * each 64 KiB, at most one for each compute unit. That is similar to what drivers do: a small
 * kernel in the stream. The runtime's fill call is not used, because it is synchronous and would
 * put a host wait into the stream. A copy is not used, because it would go through another queue
 * and need two more dependencies.
 *
 * Units: ns of the recording; ticks of the 100 MHz counter (10 ns).
 */
#define PLAN_RECORDED_CUS 132u	    /* multiprocessors of the recorded GPU */
#define PLAN_RECORDED_THREADS 1024u /* resident threads of a multiprocessor, at 64 registers */
#define PLAN_TICK_NS 10u
#define PLAN_THREADS 256u     /* threads of a workgroup of the spin kernel */
#define PLAN_LDS_BYTES 65536u /* LDS of a workgroup of the spin kernel */

enum plan_kind { PLAN_SPIN, PLAN_H2D, PLAN_D2H, PLAN_D2D };
#define PLAN_KINDS 4u

struct plan_op {
	enum plan_kind kind;
	uint32_t workgroups;  /* spin: number of workgroups, > 0 */
	uint64_t ticks;	      /* spin: duration of each workgroup, > 0 */
	uint64_t cell;	      /* spin: index of its first cell (--count) within the request */
	uint64_t bytes;	      /* copy: size */
	uint64_t duration_ns; /* recorded duration */
	uint64_t launch_ns; /* recorded launch, since the launch of the request's first operation */
};

struct plan_request {
	size_t first, count;  /* index of the first operation, and their number, > 0 */
	uint64_t duration_ns; /* sum of the recorded durations of its operations */
	uint64_t cells;	      /* sum of the workgroups of its operations */
};

struct plan {
	uint32_t compute_units;
	struct plan_op *ops;
	size_t op_count;
	struct plan_request *requests;
	size_t request_count;  /* > 0 */
	size_t max_ops;	       /* most operations of a request */
	uint64_t max_cells;    /* most cells of a request */
	uint64_t max_bytes;    /* largest copy */
	bool uses[PLAN_KINDS]; /* kinds of operations that occur */
	double mean_ns;	       /* mean recorded GPU time of a request */
};

/* Makes a plan for a GPU with that number of compute units. Returns 0, -ENOMEM, or -EINVAL if
 * compute_units is 0 or above 65535, or the trace has no request. The caller frees *out by
 * plan_free(). */
int plan_make(const struct trace *trace, uint32_t compute_units, struct plan *out);
void plan_free(struct plan *plan);

#endif
