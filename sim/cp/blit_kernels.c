// SPDX-License-Identifier: MIT
/*
 * The copy and fill kernels of AMD's HIP and OpenCL runtime.
 *
 * They are in code objects like a program's own kernels and are recognised by their names. Their
 * arguments are those of the sources in the runtime (blitcl.cpp) and in the device library behind
 * it (amdblit.cl), in the two versions that exist: HIP 5, and HIP 6 and 7. Each dispatch becomes
 * rows of bytes to copy or to fill.
 *
 * In the older version a work-item moves one element, so that no more elements are moved than the
 * grid has work-items. The code applies this limit, because HIP 5.2 dispatches a fill with a
 * negative size for a hipMemset() that ends before the first aligned element.
 */
#include <errno.h>
#include <string.h>

#include "sim/driver/queue.h"

#define PREFIX "__amd_rocclr_"
#define ROWS_MAX (1ull << 26)
#define BYTES_MAX (1ull << 47)
#define BY_BYTE 8u

static const char *const names[] = {
	[BLIT_COPY] = "copyBuffer",	   [BLIT_COPY_ALIGNED] = "copyBufferAligned",
	[BLIT_RECT] = "copyBufferRect",	   [BLIT_RECT_ALIGNED] = "copyBufferRectAligned",
	[BLIT_FILL] = "fillBufferAligned", [BLIT_FILL_2D] = "fillBufferAligned2D",
	[BLIT_WRITE] = "streamOpsWrite",
};

enum blit blit_of_name(const char *name)
{
	if (strncmp(name, PREFIX, sizeof PREFIX - 1))
		return BLIT_NONE;
	for (unsigned i = BLIT_NONE + 1; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name + sizeof PREFIX - 1, names[i]))
			return (enum blit)i;
	/* initHeap and gwsInit only prepare a heap or a barrier. A program sees no data from them,
	 * so they need no effect. */
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
		     struct move *move)
{
	union {
		struct { /* HIP 6 and 7 */
			uint64_t src, dst, size;
			uint32_t rest, element;
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
	if ((a.later.element == 4 || a.later.element == 16) &&
	    a.later.end == a.later.dst + a.later.size - a.later.rest) {
		move->src = a.later.src;
		move->dst = a.later.dst;
		move->bytes = a.later.size;
		return 0;
	}
	if (!a.older.dwords)
		return -EFAULT;
	move->src = a.older.src + a.older.src_offset;
	move->dst = a.older.dst + a.older.dst_offset;
	/* Each work-item copies one dword, and the last one only the rest. If `rest` is BY_BYTE,
	 * each copies one byte. */
	if (a.older.rest == BY_BYTE)
		move->bytes = least(a.older.dwords, items);
	else if (a.older.dwords > items)
		move->bytes = items * 4;
	else
		move->bytes = (a.older.dwords - 1) * 4 + a.older.rest;
	return 0;
}

static int take_copy_aligned(const struct process *process, uint64_t kernarg, uint64_t items,
			     struct move *move)
{
	struct {
		uint64_t src, dst, src_offset, dst_offset, size;
		uint32_t alignment;
	} a;
	uint64_t element;

	if (read_args(process, kernarg, &a, 44))
		return -EFAULT;
	element = a.alignment == 16 ? 16 : 4;
	move->src = a.src + a.src_offset * element;
	move->dst = a.dst + a.dst_offset * element;
	move->bytes = least(a.size, items) * element;
	return 0;
}

static int take_rect(const struct process *process, uint64_t kernarg, bool aligned,
		     struct move *move)
{
	/* from[], to[]: pitch, slice, offset, unused; size[]: x, y, z, bytes of an element */
	struct {
		uint64_t src, dst, unused[2], from[4], to[4], size[4];
	} a;
	uint64_t element = 1;

	if (read_args(process, kernarg, &a, sizeof a))
		return -EFAULT;
	if (aligned)
		element = a.size[3] == 16 ? 16 : 4;
	if (a.size[0] > BYTES_MAX)
		return -EFAULT;
	move->src = a.src + a.from[2] * element;
	move->dst = a.dst + a.to[2] * element;
	move->bytes = a.size[0] * element;
	move->rows = a.size[1];
	move->slices = a.size[2];
	move->src_pitch = a.from[0] * element;
	move->src_slice = a.from[1] * element;
	move->dst_pitch = a.to[0] * element;
	move->dst_slice = a.to[1] * element;
	return 0;
}

/* Returns the only one of four typed pointers that is not NULL, and sets *@element to the size of
 * its type. Returns 0 if there is not exactly one. */
static uint64_t typed(const uint64_t pointers[4], uint64_t *element)
{
	uint64_t found = 0;

	for (unsigned i = 0; i < 4; i++)
		if (pointers[i]) {
			*element = 1ull << i;
			found = found ? UINT64_MAX : pointers[i];
		}
	return found == UINT64_MAX ? 0 : found;
}

static int take_fill(const struct process *process, uint64_t kernarg, uint64_t items,
		     struct move *move)
{
	union {
		struct { /* HIP 6 and 7 */
			uint64_t dst, pattern;
			uint32_t length, element;
			uint64_t end;
		} later;
		struct {
			uint64_t dst[4], pattern;
			uint32_t length, pad;
			uint64_t offset, size;
		} older;
	} a;
	uint64_t element = 1, dst;

	memset(&a, 0, sizeof a);
	if (read_args(process, kernarg, &a, sizeof a.older) &&
	    read_args(process, kernarg, &a, sizeof a.later))
		return -EFAULT;
	dst = typed(a.older.dst, &element);
	if (dst) {
		if (a.older.length > MOVE_PATTERN_MAX)
			return -EFAULT;
		move->dst = dst + a.older.offset * element;
		move->src = a.older.pattern;
		move->pattern_bytes = (uint32_t)(a.older.length * element);
		move->bytes = least(a.older.size, items) * move->pattern_bytes;
		return 0;
	}
	if (a.later.length > MOVE_PATTERN_MAX || a.later.element > 16 || a.later.end < a.later.dst)
		return -EFAULT;
	move->dst = a.later.dst;
	move->src = a.later.pattern;
	move->pattern_bytes = a.later.length * a.later.element;
	move->bytes = a.later.end - a.later.dst;
	return 0;
}

static int take_fill_2d(const struct process *process, uint64_t kernarg, struct move *move)
{
	struct {
		uint64_t dst[4], pattern;
		uint32_t length, pad;
		uint64_t origin, width, height, pitch;
	} a;
	uint64_t element = 1, dst;

	if (read_args(process, kernarg, &a, sizeof a))
		return -EFAULT;
	dst = typed(a.dst, &element);
	if (!dst || a.length > MOVE_PATTERN_MAX || a.width > BYTES_MAX / MOVE_PATTERN_MAX)
		return -EFAULT;
	move->dst = dst + a.origin * element;
	move->src = a.pattern;
	move->pattern_bytes = (uint32_t)(a.length * element);
	move->bytes = a.width * element;
	move->rows = a.height;
	move->dst_pitch = a.pitch * element;
	return 0;
}

static int take_write(const struct process *process, uint64_t kernarg, struct move *move)
{
	struct {
		uint64_t dst32, dst64, value;
	} a;

	if (read_args(process, kernarg, &a, sizeof a))
		return -EFAULT;
	move->dst = a.dst32 ? a.dst32 : a.dst64;
	move->bytes = move->pattern_bytes = a.dst32 ? 4 : 8;
	memcpy(move->pattern, &a.value, sizeof a.value);
	return 0;
}

/* Reads the arguments of a kernel and describes its effect in *@move. Returns 0, or -EFAULT if the
 * arguments cannot be read or are larger than any real ones. */
static int take(const struct process *process, enum blit which, uint64_t kernarg, uint64_t items,
		struct move *move)
{
	int r = 0;

	*move = (struct move){.rows = 1, .slices = 1};
	switch (which) {
	case BLIT_COPY:
		r = take_copy(process, kernarg, items, move);
		break;
	case BLIT_COPY_ALIGNED:
		r = take_copy_aligned(process, kernarg, items, move);
		break;
	case BLIT_RECT:
	case BLIT_RECT_ALIGNED:
		r = take_rect(process, kernarg, which == BLIT_RECT_ALIGNED, move);
		break;
	case BLIT_FILL:
		r = take_fill(process, kernarg, items, move);
		break;
	case BLIT_FILL_2D:
		r = take_fill_2d(process, kernarg, move);
		break;
	default:
		r = take_write(process, kernarg, move);
		break;
	}
	if (r)
		return r;
	if (move->pattern_bytes > MOVE_PATTERN_MAX || move->bytes > BYTES_MAX ||
	    move->rows > ROWS_MAX || move->slices > ROWS_MAX ||
	    move->rows * move->slices > ROWS_MAX)
		return -EFAULT;
	return 0;
}

int blit_bytes(const struct process *process, const struct blit_call *call, uint64_t *bytes)
{
	struct move move;
	int r = take(process, call->which, call->kernarg, call->items, &move);

	*bytes = r ? 0 : move.bytes * move.rows * move.slices;
	return r;
}

int blit_move(const struct process *process, const struct blit_call *call, struct move *move,
	      uint64_t *fault)
{
	int r = take(process, call->which, call->kernarg, call->items, move);

	*fault = call->kernarg;
	if (r || (call->which != BLIT_FILL && call->which != BLIT_FILL_2D))
		return r;
	*fault = move->src;
	if (!move->pattern_bytes)
		return -EFAULT;
	return access_read(process, move->src, move->pattern, move->pattern_bytes);
}
