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

static void play_line(struct log_stats *stats)
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
		log_stats_add(stats, &record);
	}
	free(exact);
}

static uint64_t packets_of(const struct log_stats_packets *packets)
{
	return packets->dispatches + packets->barriers + packets->others;
}

/* Every line that had room belongs to one thread and one process, every packet with an address to
 * one queue and one use of it. */
static void assert_agrees(const struct log_stats *stats)
{
	uint64_t of_processes = 0, of_threads = 0, seen = 0;
	uint64_t in_threads = 0, in_queues = 0, in_uses = 0;

	for (uint32_t i = 0; i < stats->processes; i++) {
		of_processes += stats->process[i].lines;
		for (unsigned k = 0; k < HIPLOG_KINDS; k++)
			seen += stats->process[i].seen[k];
	}
	for (uint32_t i = 0; i < stats->threads; i++) {
		of_threads += stats->thread[i].lines;
		in_threads += packets_of(&stats->thread[i].packets);
		assert_true(stats->thread[i].process < stats->processes);
	}
	for (uint32_t i = 0; i < stats->queues; i++) {
		in_queues += packets_of(&stats->queue[i].packets);
		assert_true(stats->queue[i].process < stats->processes);
	}
	for (uint32_t i = 0; i < stats->uses; i++) {
		const struct log_stats_use *use = &stats->use[i];

		in_uses += packets_of(&use->packets);
		assert_true(use->queue < stats->queues && use->thread < stats->threads);
		assert_int_equal(stats->queue[use->queue].process,
				 stats->thread[use->thread].process);
	}
	assert_int_equal(of_processes, of_threads);
	assert_int_equal(seen, of_threads);
	assert_true(of_threads + stats->skipped + stats->left_out >= stats->records);
	assert_true(in_queues <= in_threads);
	if (stats->full_processes || stats->full_threads || stats->full_queues || stats->full_uses)
		assert_true(stats->left_out > 0 && in_uses <= in_queues);
	else
		assert_true(stats->left_out == 0 && in_uses == in_queues);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void play(uint64_t count)
{
	struct log_stats *stats = log_stats_new(0);

	assert_non_null(stats);
	for (uint64_t i = 0; i < count; i++)
		play_line(stats);
	assert_agrees(stats);
	/* The lines were damaged, not destroyed. */
	assert_true(stats->records > count / 4 && stats->queues > 1);
	log_stats_free(stats);
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
	struct log_stats *stats = log_stats_new(0);
	struct hiplog_record record = {.kind = HIPLOG_DISPATCH,
				       .has = HIPLOG_HAS_PID | HIPLOG_HAS_THREAD |
					      HIPLOG_HAS_HSA_QUEUE};

	(void)unused;
	assert_non_null(stats);
	for (uint64_t i = 0; i < 3 * LOG_STATS_USES; i++) {
		record.pid = 1 + i % (LOG_STATS_PROCESSES + 5);
		record.thread = i % 7;
		record.hsa_queue = 0x1000 + i % 11;
		log_stats_add(stats, &record);
	}
	assert_true(stats->full_processes && stats->full_queues);
	assert_agrees(stats);
	log_stats_free(stats);
}

/* The packets of a queue for which there is no room must not be added to an earlier queue at the
 * same address. */
static void test_address_again(void **unused)
{
	struct log_stats *stats = log_stats_new(0);
	struct hiplog_record record = {.has = HIPLOG_HAS_PID | HIPLOG_HAS_THREAD |
					      HIPLOG_HAS_HSA_QUEUE,
				       .pid = 1,
				       .hsa_queue = 0x1000};

	(void)unused;
	assert_non_null(stats);
	for (uint32_t i = 0; i < LOG_STATS_QUEUES + 3; i++) {
		record.kind = HIPLOG_CREATED;
		log_stats_add(stats, &record);
		record.kind = HIPLOG_DISPATCH;
		log_stats_add(stats, &record);
	}
	assert_int_equal(stats->queues, LOG_STATS_QUEUES);
	for (uint32_t i = 0; i < LOG_STATS_QUEUES; i++)
		assert_int_equal(stats->queue[i].packets.dispatches, 1);
	assert_int_equal(stats->left_out, 2 * 3);
	assert_agrees(stats);
	log_stats_free(stats);
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
