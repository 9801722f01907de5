// SPDX-License-Identifier: MIT
/*
 * The copy and fill kernels of AMD's HIP and OpenCL runtime. They are in code
 * objects like a program's own, so their names tell them; the arguments are
 * those of the sources in the library (blitcl.cpp) and of the device library
 * behind them (amdblit.cl), in the two forms there have been: HIP 5, and HIP 6
 * and 7. Each is taken as rows of bytes to copy or to fill. In the older form a
 * work-item moves one element, so there are no more of them than the grid has:
 * HIP 5.2 dispatches a hipMemset of fewer bytes than its first element lacks to
 * alignment with a size below zero.
 */
#include <errno.h>
#include <string.h>

#include "sim/kfd/kfd.h"

#define PREFIX "__amd_rocclr_"
#define PATTERN_MAX 256u
#define ROWS_MAX (1ull << 26)
#define BYTES_MAX (1ull << 47)
#define BY_BYTE 8u

static const char *const names[] = {
	[BLIT_COPY] = "copyBuffer",	   [BLIT_COPY_ALIGNED] = "copyBufferAligned",
	[BLIT_RECT] = "copyBufferRect",	   [BLIT_RECT_ALIGNED] = "copyBufferRectAligned",
	[BLIT_FILL] = "fillBufferAligned", [BLIT_FILL_2D] = "fillBufferAligned2D",
	[BLIT_WRITE] = "streamOpsWrite",
};

/* Rows and slices of bytes; pitches in bytes. */
struct work {
	uint64_t dst, src; /* src: the pattern of a fill */
	uint64_t bytes, rows, slices;
	uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
	uint32_t pattern_bytes; /* a fill's, else 0 */
	uint64_t value;		/* a write's */
};

enum blit blit_of_name(const char *name)
{
	if (strncmp(name, PREFIX, sizeof PREFIX - 1))
		return BLIT_NONE;
	for (unsigned i = BLIT_NONE + 1; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name + sizeof PREFIX - 1, names[i]))
			return (enum blit)i;
	/* Preparing a heap or a barrier moves nothing that a program sees. */
	if (strcmp(name, PREFIX "initHeap") && strcmp(name, PREFIX "gwsInit"))
		return BLIT_UNKNOWN;
	return BLIT_NONE;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int read_args(const struct process *process, uint64_t kernarg, void *to, size_t n)
{
	return access_read(process, kernarg, to, n);
}

static int take_copy(const struct process *process, uint64_t kernarg, uint64_t items,
		     struct work *work)
{
	union {
		struct { /* HIP 6 */
			uint64_t src, dst, size;
			uint32_t rest, unit;
			uint64_t end;
		} later;
		struct {
			uint64_t src, dst, src_offset, dst_offset, dwords;
			uint32_t rest;
		} older;
	} a;

	memset(&a, 0, sizeof a);
	if (read_args(process, kernarg, &a, sizeof a.older))
		return -EFAULT;
	if ((a.later.unit == 4 || a.later.unit == 16) &&
	    a.later.end == a.later.dst + a.later.size - a.later.rest) {
		work->src = a.later.src;
		work->dst = a.later.dst;
		work->bytes = a.later.size;
		return 0;
	}
	if (!a.older.dwords)
		return -EFAULT;
	work->src = a.older.src + a.older.src_offset;
	work->dst = a.older.dst + a.older.dst_offset;
	/* One work-item a dword, the last for the rest; or one a byte. */
	if (a.older.rest == BY_BYTE)
		work->bytes = least(a.older.dwords, items);
	else if (a.older.dwords > items)
		work->bytes = items * 4;
	else
		work->bytes = (a.older.dwords - 1) * 4 + a.older.rest;
	return 0;
}

static int take_copy_aligned(const struct process *process, uint64_t kernarg, uint64_t items,
			     struct work *work)
{
	struct {
		uint64_t src, dst, src_offset, dst_offset, size;
		uint32_t alignment;
	} a;
	uint64_t unit;

	if (read_args(process, kernarg, &a, 44))
		return -EFAULT;
	unit = a.alignment == 16 ? 16 : 4;
	work->src = a.src + a.src_offset * unit;
	work->dst = a.dst + a.dst_offset * unit;
	work->bytes = least(a.size, items) * unit;
	return 0;
}

static int take_rect(const struct process *process, uint64_t kernarg, bool aligned,
		     struct work *work)
{
	struct { /* vectors of four: pitch, slice, offset; the sizes: x, y, z, unit */
		uint64_t src, dst, unused[2], from[4], to[4], size[4];
	} a;
	uint64_t unit = 1;

	if (read_args(process, kernarg, &a, sizeof a))
		return -EFAULT;
	if (aligned)
		unit = a.size[3] == 16 ? 16 : 4;
	if (a.size[0] > BYTES_MAX)
		return -EFAULT;
	work->src = a.src + a.from[2] * unit;
	work->dst = a.dst + a.to[2] * unit;
	work->bytes = a.size[0] * unit;
	work->rows = a.size[1];
	work->slices = a.size[2];
	work->src_pitch = a.from[0] * unit;
	work->src_slice = a.from[1] * unit;
	work->dst_pitch = a.to[0] * unit;
	work->dst_slice = a.to[1] * unit;
	return 0;
}

/* The only one of four typed pointers that is not null, and its type's size. */
static uint64_t typed(const uint64_t pointers[4], uint64_t *unit)
{
	uint64_t found = 0;

	for (unsigned i = 0; i < 4; i++)
		if (pointers[i]) {
			*unit = 1ull << i;
			found = found ? UINT64_MAX : pointers[i];
		}
	return found == UINT64_MAX ? 0 : found;
}

static int take_fill(const struct process *process, uint64_t kernarg, uint64_t items,
		     struct work *work)
{
	union {
		struct { /* HIP 6 */
			uint64_t dst, pattern;
			uint32_t length, unit;
			uint64_t end;
		} later;
		struct {
			uint64_t dst[4], pattern;
			uint32_t length, pad;
			uint64_t offset, size;
		} older;
	} a;
	uint64_t unit = 1, dst;

	memset(&a, 0, sizeof a);
	if (read_args(process, kernarg, &a, sizeof a.older) &&
	    read_args(process, kernarg, &a, sizeof a.later))
		return -EFAULT;
	dst = typed(a.older.dst, &unit);
	if (dst) {
		if (a.older.length > PATTERN_MAX)
			return -EFAULT;
		work->dst = dst + a.older.offset * unit;
		work->src = a.older.pattern;
		work->pattern_bytes = (uint32_t)(a.older.length * unit);
		work->bytes = least(a.older.size, items) * work->pattern_bytes;
		return 0;
	}
	if (a.later.length > PATTERN_MAX || a.later.unit > 16 || a.later.end < a.later.dst)
		return -EFAULT;
	work->dst = a.later.dst;
	work->src = a.later.pattern;
	work->pattern_bytes = a.later.length * a.later.unit;
	work->bytes = a.later.end - a.later.dst;
	return 0;
}

static int take_fill_2d(const struct process *process, uint64_t kernarg, struct work *work)
{
	struct {
		uint64_t dst[4], pattern;
		uint32_t length, pad;
		uint64_t origin, width, height, pitch;
	} a;
	uint64_t unit = 1, dst;

	if (read_args(process, kernarg, &a, sizeof a))
		return -EFAULT;
	dst = typed(a.dst, &unit);
	if (!dst || a.length > PATTERN_MAX || a.width > BYTES_MAX / PATTERN_MAX)
		return -EFAULT;
	work->dst = dst + a.origin * unit;
	work->src = a.pattern;
	work->pattern_bytes = (uint32_t)(a.length * unit);
	work->bytes = a.width * unit;
	work->rows = a.height;
	work->dst_pitch = a.pitch * unit;
	return 0;
}

static int take_write(const struct process *process, uint64_t kernarg, struct work *work)
{
	struct {
		uint64_t dst32, dst64, value;
	} a;

	if (read_args(process, kernarg, &a, sizeof a))
		return -EFAULT;
	work->dst = a.dst32 ? a.dst32 : a.dst64;
	work->bytes = a.dst32 ? 4 : 8;
	work->value = a.value;
	return 0;
}

static int take(const struct process *process, enum blit which, uint64_t kernarg, uint64_t items,
		struct work *work)
{
	int r = 0;

	*work = (struct work){.rows = 1, .slices = 1};
	switch (which) {
	case BLIT_COPY:
		r = take_copy(process, kernarg, items, work);
		break;
	case BLIT_COPY_ALIGNED:
		r = take_copy_aligned(process, kernarg, items, work);
		break;
	case BLIT_RECT:
	case BLIT_RECT_ALIGNED:
		r = take_rect(process, kernarg, which == BLIT_RECT_ALIGNED, work);
		break;
	case BLIT_FILL:
		r = take_fill(process, kernarg, items, work);
		break;
	case BLIT_FILL_2D:
		r = take_fill_2d(process, kernarg, work);
		break;
	default:
		r = take_write(process, kernarg, work);
		break;
	}
	if (r)
		return r;
	if (work->pattern_bytes > PATTERN_MAX || work->bytes > BYTES_MAX || work->rows > ROWS_MAX ||
	    work->slices > ROWS_MAX || work->rows * work->slices > ROWS_MAX)
		return -EFAULT;
	return 0;
}

int blit_bytes(const struct process *process, const struct blit_call *call, uint64_t *bytes)
{
	struct work work;
	int r = take(process, call->which, call->kernarg, call->items, &work);

	*bytes = r ? 0 : work.bytes * work.rows * work.slices;
	return r;
}

int blit_run(const struct process *process, const struct blit_call *call, uint64_t *fault)
{
	char pattern[PATTERN_MAX];
	struct work work;
	int r = take(process, call->which, call->kernarg, call->items, &work);

	*fault = call->kernarg;
	if (r)
		return r;
	*fault = work.dst;
	if (call->which == BLIT_WRITE)
		return access_write(process, work.dst, &work.value, work.bytes);
	if ((call->which == BLIT_FILL || call->which == BLIT_FILL_2D) &&
	    (!work.pattern_bytes || access_read(process, work.src, pattern, work.pattern_bytes)))
		return -EFAULT;
	for (uint64_t z = 0; z < work.slices; z++)
		for (uint64_t y = 0; y < work.rows; y++) {
			uint64_t dst = work.dst + z * work.dst_slice + y * work.dst_pitch;
			uint64_t src = work.src + z * work.src_slice + y * work.src_pitch;

			if (work.pattern_bytes)
				r = access_fill(process, dst, work.bytes, pattern,
						work.pattern_bytes);
			else
				r = access_copy(process, dst, src, work.bytes);
			if (r)
				return r;
		}
	return 0;
}
