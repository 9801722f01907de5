// SPDX-License-Identifier: MIT
#include "cli/inspect/debugfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NO_DIGIT 0xffu
#define WORD_DIGITS 8u
#define RING_SHIFT_MAX 40u /* highest log2 of a ring's dwords that is valid */

/* ---- lines ---- */

bool line_next(struct lines *lines)
{
	const char *end;

	if (lines->next == lines->end)
		return false;
	lines->at = lines->next;
	lines->number++;
	end = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
	lines->cut = !end;
	if (!end)
		end = lines->end;
	lines->length = (size_t)(end - lines->at);
	lines->next = lines->cut ? end : end + 1;
	return true;
}

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a' + 10);
	return NO_DIGIT;
}

static bool word(const char *at, uint32_t *out)
{
	uint32_t value = 0;
	unsigned bad = 0;

	for (unsigned i = 0; i < WORD_DIGITS; i++) {
		unsigned d = digit(at[i]);

		bad |= d;
		value = value << 4 | (d & 15);
	}
	*out = value;
	return bad != NO_DIGIT && bad < 16;
}

unsigned line_row(const struct lines *lines, uint32_t *offset, uint32_t words[LINE_WORDS])
{
	const char *at = lines->at, *end = at + lines->length;
	unsigned n = 0;

	while (at < end && *at == ' ')
		at++;
	if (end - at < (ptrdiff_t)WORD_DIGITS + 1 || !word(at, offset) || at[WORD_DIGITS] != ':')
		return 0;
	for (at += WORD_DIGITS + 1; n < LINE_WORDS && end - at > (ptrdiff_t)WORD_DIGITS; n++) {
		if (*at != ' ' || !word(at + 1, &words[n]))
			return 0;
		at += WORD_DIGITS + 1;
	}
	return at == end ? n : 0;
}

/* Parses a number at *at and moves *at behind it. Returns false if there is no number or it exceeds
 * 32 bits. */
static bool number(const char **at, const char *end, unsigned base, uint32_t *out)
{
	uint64_t value = 0;
	const char *begin = *at;

	for (; *at < end && digit(**at) < base; ++*at) {
		value = value * base + digit(**at);
		if (value > UINT32_MAX)
			return false;
	}
	*out = (uint32_t)value;
	return *at != begin;
}

bool line_is(const struct lines *lines, const char *form, uint32_t *numbers)
{
	const char *at = lines->at, *end = at + lines->length;

	for (; *form; form++) {
		if (*form == '%') {
			form++;
			if (!number(&at, end, *form == 'x' ? 16 : 10, numbers++))
				return false;
		} else if (at == end || *at++ != *form) {
			return false;
		}
	}
	return at == end;
}

bool line_begins(const struct lines *lines, const char *text)
{
	size_t n = strlen(text);

	return lines->length >= n && memcmp(lines->at, text, n) == 0;
}

/* ---- words ---- */

bool words_known(const struct topology_gpu *gpu)
{
	return gpu && gpu->gfx_target_version / 10000 == 9;
}

void words_address(struct observe_queue *queue, enum observe_field field, uint64_t value,
		   enum observe_source source)
{
	if (value)
		observe_set(queue, field, value, source);
}

static void set_ring(struct observe_queue *queue, uint64_t base, unsigned log2_dw,
		     enum observe_source source)
{
	words_address(queue, OBSERVE_RING_ADDRESS, base << 8, source);
	if (log2_dw <= RING_SHIFT_MAX)
		observe_set(queue, OBSERVE_RING_BYTES, 4ull << log2_dw, source);
}

/* Returns the pipe priority (0 to 2) to which the driver maps a queue priority (0 to 15). */
static uint32_t pipe_of(uint32_t priority)
{
	return priority < 7 ? 0 : priority < 11 ? 1 : 2;
}

/* Sets the queue priority if it is known. It is known only if it matches the pipe priority, which
 * the driver derives from it. From Linux 7.2 on the driver does not write the queue priority, so a
 * 0 is used only if zero_is_known. The pipe priority alone is not reported, because it has only
 * three values. */
void words_priority(struct observe_queue *queue, const uint32_t *hqd, bool zero_is_known,
		    enum observe_source source)
{
	uint32_t priority = hqd[HQD_QUEUE_PRIORITY];

	if ((priority || zero_is_known) && priority <= 15 &&
	    pipe_of(priority) == hqd[HQD_PIPE_PRIORITY])
		observe_set(queue, OBSERVE_PRIORITY, priority, source);
}

void words_compute(struct observe_queue *queue, const uint32_t *hqd, enum observe_source source)
{
	uint32_t control = hqd[HQD_PQ_CONTROL];
	bool aql = (control & SLOT_BASED_WPTR) == SLOT_BASED_AQL;

	observe_set(queue, OBSERVE_TYPE, aql ? OBSERVE_AQL : OBSERVE_PM4, source);
	set_ring(queue, words_pair(&hqd[HQD_PQ_BASE]), (control & QUEUE_SIZE) + 1, source);
	words_address(queue, OBSERVE_RPTR_ADDRESS, words_pair(&hqd[HQD_RPTR_REPORT]), source);
	words_address(queue, OBSERVE_WPTR_ADDRESS, words_pair(&hqd[HQD_WPTR_POLL]), source);
	observe_set(queue, OBSERVE_DOORBELL, hqd[HQD_DOORBELL_CONTROL] & DOORBELL_OFFSET, source);
}

enum observe_type words_engine(const struct topology_gpu *gpu, uint32_t engine)
{
	uint32_t all = gpu->sdma_engines + gpu->xgmi_engines;

	return all && engine % all >= gpu->sdma_engines ? OBSERVE_XGMI : OBSERVE_SDMA;
}

void words_sdma(struct observe_queue *queue, const uint32_t *words, const struct topology_gpu *gpu,
		uint32_t engine, enum observe_source source)
{
	observe_set(queue, OBSERVE_TYPE, words_engine(gpu, engine), source);
	set_ring(queue, words_pair(&words[SDMA_RB_BASE]), RB_SIZE(words[SDMA_RB_CNTL]), source);
	words_address(queue, OBSERVE_RPTR_ADDRESS,
		      (uint64_t)words[SDMA_RPTR_ADDRESS_HI] << 32 | words[SDMA_RPTR_ADDRESS_LO],
		      source);
	observe_set(queue, OBSERVE_DOORBELL, words[SDMA_DOORBELL_OFFSET] & DOORBELL_OFFSET, source);
}

int words_odd_line(const struct lines *lines, const char *file, char why[static OBSERVE_WHY])
{
	if (lines->cut)
		snprintf(why, OBSERVE_WHY, "debugfs kfd/%s ends in the middle of line %zu", file,
			 lines->number);
	else
		snprintf(why, OBSERVE_WHY, "line %zu of debugfs kfd/%s cannot be parsed",
			 lines->number, file);
	return -EBADMSG;
}

int words_too_few(const char *file, size_t line, unsigned words, unsigned whole,
		  char why[static OBSERVE_WHY])
{
	snprintf(why, OBSERVE_WHY,
		 "debugfs kfd/%s is truncated: the block that begins in line %zu has %u words, not "
		 "%u",
		 file, line, words, whole);
	return -EBADMSG;
}

int words_unknown(const struct debugfs_copy *text, uint32_t gpu_id, const char *what,
		  char why[static OBSERVE_WHY])
{
	const struct topology_gpu *gpu = topology_find(text->gpus, text->n_gpus, gpu_id);

	if (gpu)
		snprintf(why, OBSERVE_WHY,
			 "%s are supported for gfx9 only, and node %u is gfx%u.%u.%u", what, gpu_id,
			 gpu->gfx_target_version / 10000, gpu->gfx_target_version / 100 % 100,
			 gpu->gfx_target_version % 100);
	else
		snprintf(why, OBSERVE_WHY,
			 "sysfs does not report the type of GPU of node %u, so its %s are not read",
			 gpu_id, what);
	return -EOPNOTSUPP;
}
