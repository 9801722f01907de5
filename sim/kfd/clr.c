// SPDX-License-Identifier: MIT
/*
 * HIP's own copy and fill kernels, which its runtime (CLR) launches for small
 * copies and for hipMemset: data would be wrong if they were timed only. Their
 * names come from the code object, the layouts of their arguments from the
 * runtime's source. There are two of each: that of 5.2 and that of 6.0 and later.
 */
#include <string.h>

#include "sim/kfd/kfd.h"

#define PATTERN_MAX 4096u
#define BY_BYTE 8u /* `remain` of the old copy: byte by byte */

struct copy_old {
	uint64_t src, dst, src_origin, dst_origin, size;
	uint32_t remain; /* of copyBufferAligned: bytes of one element */
};

struct copy_new {
	uint64_t src, dst, bytes;
	uint32_t remainder, element;
	uint64_t end;
};

struct fill_old {
	uint64_t by_1, by_2, by_4, by_8; /* one of them is the buffer */
	uint64_t pattern;
	uint32_t elements; /* of one pattern */
	uint32_t pad;
	uint64_t offset, patterns; /* offset in elements */
};

struct fill_new {
	uint64_t buffer, pattern;
	uint32_t elements, element;
	uint64_t end;
};

enum clr_kernel clr_kernel(const char *name)
{
	static const struct {
		const char *name;
		enum clr_kernel kernel;
	} known[] = {
		{"__amd_rocclr_copyBuffer", CLR_COPY},
		{"__amd_rocclr_copyBufferAligned", CLR_COPY_ALIGNED},
		{"__amd_rocclr_fillBufferAligned", CLR_FILL},
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (!strcmp(known[i].name, name))
			return known[i].kernel;
	return CLR_NONE;
}

static bool set_copy(struct packet *packet, uint64_t dst, uint64_t src, uint64_t bytes)
{
	packet->kind = PACKET_COPY;
	packet->move.dst = dst;
	packet->move.src = src;
	packet->move.bytes = bytes;
	return true;
}

static bool copy(const struct process *process, uint64_t kernarg, bool aligned,
		 struct packet *packet)
{
	struct copy_new new;
	struct copy_old old;
	uint64_t unit;

	if (!aligned && !access_read(process, kernarg, &new, sizeof new) &&
	    (new.element == 4 || new.element == 16) &&
	    new.end >= new.dst &&new.end - new.dst <= new.bytes &&new.bytes - (new.end - new.dst) <
		    new.element)
		return set_copy(packet, new.dst, new.src, new.bytes);
	if (access_read(process, kernarg, &old, sizeof old))
		return false;
	if (aligned) {
		unit = old.remain;
		return set_copy(packet, old.dst + old.dst_origin * unit,
				old.src + old.src_origin * unit, old.size * unit);
	}
	return set_copy(packet, old.dst + old.dst_origin, old.src + old.src_origin,
			old.remain == BY_BYTE ? old.size : old.size * 4 + old.remain);
}

/* hipMemset's patterns repeat a byte, a word or a dword; others (of OpenCL) are
 * not understood. */
static bool set_fill(const struct process *process, struct packet *packet, uint64_t dst,
		     uint64_t bytes, uint64_t pattern, uint64_t pattern_bytes)
{
	char text[PATTERN_MAX];
	uint32_t unit = pattern_bytes < 4 ? (uint32_t)pattern_bytes : 4;

	if (!pattern_bytes || pattern_bytes > PATTERN_MAX || pattern_bytes == 3 ||
	    access_read(process, pattern, text, pattern_bytes))
		return false;
	if (memcmp(text, text + unit, pattern_bytes - unit))
		return false;
	packet->kind = PACKET_FILL;
	packet->move.dst = dst;
	packet->move.bytes = bytes;
	packet->move.value = 0;
	memcpy(&packet->move.value, text, unit);
	packet->move.unit = unit;
	return true;
}

static bool fill(const struct process *process, uint64_t kernarg, struct packet *packet)
{
	struct fill_new new;
	struct fill_old old;
	uint64_t buffer, element;

	if (!access_read(process, kernarg, &new, sizeof new) &&
	    new.buffer &&new.element &&new.element <= 16 && !(new.element &(new.element - 1)) &&
	    new.end >= new.buffer)
		return set_fill(process, packet, new.buffer, new.end - new.buffer, new.pattern,
				(uint64_t) new.elements *new.element);
	if (access_read(process, kernarg, &old, sizeof old))
		return false;
	if (old.by_8) {
		buffer = old.by_8;
		element = 8;
	} else if (old.by_4) {
		buffer = old.by_4;
		element = 4;
	} else if (old.by_2) {
		buffer = old.by_2;
		element = 2;
	} else {
		buffer = old.by_1;
		element = 1;
	}
	return set_fill(process, packet, buffer + old.offset * element,
			old.patterns * old.elements * element, old.pattern, old.elements * element);
}

bool clr_classify(const struct process *process, enum clr_kernel kernel, uint64_t kernarg,
		  struct packet *packet)
{
	if (kernel == CLR_FILL)
		return fill(process, kernarg, packet);
	return copy(process, kernarg, kernel == CLR_COPY_ALIGNED, packet);
}
