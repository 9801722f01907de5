// SPDX-License-Identifier: MIT
/*
 * Proves that randomly damaged lines of HIP's log are parsed safely: each result lies within its
 * line (a sanitizer detects reads beyond it), and the sums are consistent. SEED and LINES in the
 * environment select other and more lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/import_log/stats.h"
#include "tests/lib/hiplog_lines.h"

static const char *const lines[] = {
	LINE_5_2_DISPATCH,     LINE_6_1_DISPATCH, LINE_6_1_BARRIER_VALUE, LINE_6_4_BARRIER,
	LINE_7_2_DISPATCH,     LINE_5_2_CREATED,  LINE_7_2_CREATED_3,	  LINE_7_2_ACQUIRED,
	LINE_5_2_SELECTED,     LINE_7_2_RELEASED, LINE_5_2_DELETED,	  LINE_7_2_ABORTED,
	LINE_5_2_POOL,	       LINE_5_2_COPY,	  LINE_7_2_COPY,	  LINE_7_2_STAGED,
	LINE_7_2_KERNEL,       LINE_5_2_CALL,	  LINE_7_2_CALL,	  LINE_7_2_RETURN,
	LINE_7_2_RETURN_ALONE, LINE_OTHER_PACKET, LINE_NEWER_DISPATCH,
};
#define LINES_KNOWN (sizeof(lines) / sizeof(lines[0]))
#define LONGEST 1024u

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

/* Returns a character for the damage: one that the parser searches for, or any other. */
static char letter(void)
{
	static const char likely[] = "0123456789abcdefx=,:[]() \033\r\tHSWqrptid-";

	return draw(4) ? likely[draw(sizeof(likely) - 1)] : (char)draw(256);
}

/* Damages the line at random. Returns its new length. */
static size_t damage(char *line, size_t bytes)
{
	for (uint32_t n = draw(4); n > 0; n--) {
		size_t at = bytes ? draw((uint32_t)bytes) : 0;
		const char *other = lines[draw(LINES_KNOWN)];
		size_t from = draw((uint32_t)strlen(other));

		switch (draw(5)) {
		case 0: /* truncate */
			bytes = at;
			break;
		case 1: /* overwrite some bytes */
			for (uint32_t i = 1 + draw(6); i > 0 && at < bytes; i--)
				line[at++] = letter();
			break;
		case 2: /* remove a part */
			if (bytes) {
				size_t out = draw((uint32_t)(bytes - at) + 1);

				memmove(line + at, line + at + out, bytes - at - out);
				bytes -= out;
			}
			break;
		case 3: /* replace the rest by a part of another line */
			bytes = at + strlen(other + from);
			if (bytes > LONGEST)
				bytes = LONGEST;
			memcpy(line + at, other + from, bytes - at);
			break;
		default: /* insert bytes */
			for (uint32_t i = draw(40); i > 0 && bytes < LONGEST; i--) {
				memmove(line + at + 1, line + at, bytes - at);
				line[at] = letter();
				bytes++;
			}
			break;
		}
	}
	return bytes;
}

static void assert_within(struct hiplog_text text, const char *line, size_t bytes)
{
	if (!text.text)
		assert_int_equal(text.bytes, 0);
	else
		assert_true(text.text >= line && text.bytes <= bytes &&
			    text.text + text.bytes <= line + bytes);
}

static void play_line(struct tally *tally)
{
	char line[LONGEST];
	const char *base = lines[draw(LINES_KNOWN)];
	struct hiplog_record record;
	size_t bytes;
	char *exact;

	memcpy(line, base, strlen(base));
	bytes = damage(line, strlen(base));
	exact = malloc(bytes ? bytes : 1);
	assert_non_null(exact);
	memcpy(exact, line, bytes);
	if (hiplog_parse(exact, bytes, &record)) {
		assert_true(record.kind < HIPLOG_KINDS && record.level <= 9);
		assert_true(record.us <= (uint64_t)INT64_MAX && record.pid <= (uint64_t)INT64_MAX);
		assert_within(record.file, exact, bytes);
		assert_within(record.message, exact, bytes);
		assert_within(record.name, exact, bytes);
		assert_within(record.result, exact, bytes);
		tally_add(tally, &record);
	}
	free(exact);
}

static uint64_t packets_of(const struct tally_packets *packets)
{
	return packets->dispatches + packets->barriers + packets->others;
}

/* Every line that had room belongs to one thread and one process, every packet with an address to
 * one queue and one use of it. */
static void assert_agrees(const struct tally *tally)
{
	uint64_t of_processes = 0, of_threads = 0, seen = 0;
	uint64_t in_threads = 0, in_queues = 0, in_uses = 0;

	for (uint32_t i = 0; i < tally->processes; i++) {
		of_processes += tally->process[i].lines;
		for (unsigned k = 0; k < HIPLOG_KINDS; k++)
			seen += tally->process[i].seen[k];
	}
	for (uint32_t i = 0; i < tally->threads; i++) {
		of_threads += tally->thread[i].lines;
		in_threads += packets_of(&tally->thread[i].packets);
		assert_true(tally->thread[i].process < tally->processes);
	}
	for (uint32_t i = 0; i < tally->queues; i++) {
		in_queues += packets_of(&tally->queue[i].packets);
		assert_true(tally->queue[i].process < tally->processes);
	}
	for (uint32_t i = 0; i < tally->uses; i++) {
		const struct tally_use *use = &tally->use[i];

		in_uses += packets_of(&use->packets);
		assert_true(use->queue < tally->queues && use->thread < tally->threads);
		assert_int_equal(tally->queue[use->queue].process,
				 tally->thread[use->thread].process);
	}
	assert_int_equal(of_processes, of_threads);
	assert_int_equal(seen, of_threads);
	assert_true(of_threads + tally->skipped + tally->left_out >= tally->records);
	assert_true(in_queues <= in_threads);
	if (tally->full_processes || tally->full_threads || tally->full_queues || tally->full_uses)
		assert_true(tally->left_out > 0 && in_uses <= in_queues);
	else
		assert_true(tally->left_out == 0 && in_uses == in_queues);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void play(uint64_t count)
{
	struct tally *tally = tally_new(0);

	assert_non_null(tally);
	for (uint64_t i = 0; i < count; i++)
		play_line(tally);
	assert_agrees(tally);
	/* The lines were damaged, not destroyed. */
	assert_true(tally->records > count / 4 && tally->queues > 1);
	tally_free(tally);
}

static void test_noise(void **unused)
{
	(void)unused;
	state = setting("SEED", 1) * 0x9e3779b97f4a7c15ull | 1;
	for (unsigned round = 0; round < 8; round++)
		play(setting("LINES", 40000) / 8);
}

/* More processes, threads, queues and uses than there is room for. */
static void test_full(void **unused)
{
	struct tally *tally = tally_new(0);
	struct hiplog_record record = {.kind = HIPLOG_DISPATCH,
				       .has = HIPLOG_HAS_PID | HIPLOG_HAS_THREAD |
					      HIPLOG_HAS_HSA_QUEUE};

	(void)unused;
	assert_non_null(tally);
	for (uint64_t i = 0; i < 3 * TALLY_USES; i++) {
		record.pid = 1 + i % (TALLY_PROCESSES + 5);
		record.thread = i % 7;
		record.hsa_queue = 0x1000 + i % 11;
		tally_add(tally, &record);
	}
	assert_true(tally->full_processes && tally->full_queues);
	assert_agrees(tally);
	tally_free(tally);
}

/* The packets of a queue for which there is no room must not be added to an earlier queue at the
 * same address. */
static void test_address_again(void **unused)
{
	struct tally *tally = tally_new(0);
	struct hiplog_record record = {.has = HIPLOG_HAS_PID | HIPLOG_HAS_THREAD |
					      HIPLOG_HAS_HSA_QUEUE,
				       .pid = 1,
				       .hsa_queue = 0x1000};

	(void)unused;
	assert_non_null(tally);
	for (uint32_t i = 0; i < TALLY_QUEUES + 3; i++) {
		record.kind = HIPLOG_CREATED;
		tally_add(tally, &record);
		record.kind = HIPLOG_DISPATCH;
		tally_add(tally, &record);
	}
	assert_int_equal(tally->queues, TALLY_QUEUES);
	for (uint32_t i = 0; i < TALLY_QUEUES; i++)
		assert_int_equal(tally->queue[i].packets.dispatches, 1);
	assert_int_equal(tally->left_out, 2 * 3);
	assert_agrees(tally);
	tally_free(tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_address_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
