// SPDX-License-Identifier: MIT
/*
 * Proves that a line of HIP's log, in the format of each version, is parsed completely and contains
 * no field that the line does not have.
 */
#include "tests/lib/hiplog_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/inspect/hiplog.h"

static struct hiplog_record read_line(const char *line)
{
	struct hiplog_record record;

	assert_true(hiplog_parse(line, strlen(line), &record));
	return record;
}

static void assert_text(struct hiplog_text text, const char *expected)
{
	assert_int_equal(text.bytes, strlen(expected));
	assert_memory_equal(text.text, expected, text.bytes);
}

#define PROCESS (HIPLOG_HAS_PID | HIPLOG_HAS_THREAD)

static void test_prefixes(void **state)
{
	struct hiplog_record r = read_line(LINE_5_2_DISPATCH);

	(void)state;
	assert_int_equal(r.level, 4);
	assert_int_equal(r.us, 25647826028);
	assert_int_equal(r.pid, 2);
	assert_int_equal(r.thread, 0x7f4d0d24d780);
	assert_text(r.file, "rocvirtual.cpp");

	r = read_line(LINE_6_1_DISPATCH);
	assert_int_equal(r.pid, 202289);
	assert_int_equal(r.thread, 0x7f674bedd880);
	r = read_line(LINE_7_2_DISPATCH);
	assert_int_equal(r.pid, 4711);
	assert_int_equal(r.thread, 0x7fefa9a2f780);
	/* Since 6.4, lines of level 3 name no process and no thread. */
	r = read_line(LINE_7_2_CREATED_3);
	assert_int_equal(r.kind, HIPLOG_CREATED);
	assert_false(r.has & PROCESS);
	assert_int_equal(r.us, 25701113241);
}

static void test_packets(void **state)
{
	struct hiplog_record r = read_line(LINE_5_2_DISPATCH);

	(void)state;
	assert_int_equal(r.kind, HIPLOG_DISPATCH);
	assert_int_equal(r.has, PROCESS | HIPLOG_HAS_HWQ);
	assert_int_equal(r.hwq, 0x7f4d0b49a000);
	assert_text(r.name, "Dispatch");

	r = read_line(LINE_6_1_DISPATCH);
	assert_int_equal(r.has, PROCESS | HIPLOG_HAS_RING);
	assert_int_equal(r.ring, 0x7f674b000000);
	r = read_line(LINE_6_1_BARRIER_VALUE);
	assert_int_equal(r.kind, HIPLOG_BARRIER);
	assert_int_equal(r.has, PROCESS | HIPLOG_HAS_HWQ);

	r = read_line(LINE_6_4_BARRIER);
	assert_int_equal(r.kind, HIPLOG_BARRIER);
	assert_text(r.name, "BarrierAND");
	assert_int_equal(r.has,
			 PROCESS | HIPLOG_HAS_HSA_QUEUE | HIPLOG_HAS_RING | HIPLOG_HAS_HSA_ID);

	r = read_line(LINE_7_2_DISPATCH);
	assert_int_equal(r.kind, HIPLOG_DISPATCH);
	assert_int_equal(r.hsa_queue, 0x7fefa8eb6000);
	assert_int_equal(r.ring, 0x7fefa4c00000);
	assert_int_equal(r.hsa_id, 1);
	assert_int_equal(r.rptr, 7);
	assert_int_equal(r.wptr, 10);
	assert_int_equal(r.has, PROCESS | HIPLOG_HAS_HSA_QUEUE | HIPLOG_HAS_RING |
					HIPLOG_HAS_HSA_ID | HIPLOG_HAS_RPTR | HIPLOG_HAS_WPTR);
	/* Additional fields in between, as of a later release. */
	r = read_line(LINE_NEWER_DISPATCH);
	assert_int_equal(r.kind, HIPLOG_DISPATCH);
	assert_int_equal(r.hsa_id, 12);
	assert_int_equal(r.wptr, 4294967295);
	r = read_line(LINE_OTHER_PACKET);
	assert_int_equal(r.kind, HIPLOG_PACKET);
	assert_text(r.name, "Metadata");
}

static void test_queues(void **state)
{
	struct hiplog_record r = read_line(LINE_5_2_CREATED);

	(void)state;
	assert_int_equal(r.kind, HIPLOG_CREATED);
	assert_int_equal(r.hsa_queue, 0x7ff1953b1000);
	assert_int_equal(r.packets, 4096);
	assert_int_equal(r.priority, 1);
	assert_false(r.cooperative);
	assert_int_equal(r.has, PROCESS | HIPLOG_HAS_HSA_QUEUE | HIPLOG_HAS_PACKETS |
					HIPLOG_HAS_PRIORITY | HIPLOG_HAS_COOPERATIVE);
	r = read_line(LINE_7_2_CREATED_3);
	assert_int_equal(r.hsa_queue, 0x7f4fc28b4000);
	assert_int_equal(r.ring, 0x7f4fbc600000);
	assert_int_equal(r.packets, 16384);

	r = read_line(LINE_7_2_ACQUIRED);
	assert_int_equal(r.kind, HIPLOG_ACQUIRED);
	assert_int_equal(r.hwq, 0x7f6f7c200000);
	assert_int_equal(r.references, 1);
	r = read_line(LINE_5_2_SELECTED);
	assert_int_equal(r.kind, HIPLOG_ACQUIRED);
	assert_int_equal(r.references, 3);
	r = read_line(LINE_7_2_RELEASED);
	assert_int_equal(r.kind, HIPLOG_RELEASED);
	assert_int_equal(r.references, 0);
	assert_true(r.has & HIPLOG_HAS_REFERENCES);
	r = read_line(LINE_5_2_DELETED);
	assert_int_equal(r.kind, HIPLOG_DELETED);
	assert_int_equal(r.hwq, 0x7ff194026000);
	r = read_line(LINE_7_2_ABORTED);
	assert_int_equal(r.kind, HIPLOG_ABORTED);
	assert_int_equal(r.hwq, 0x7f6f7c200000);

	r = read_line(LINE_5_2_POOL);
	assert_int_equal(r.kind, HIPLOG_POOL);
	assert_int_equal(r.pool[HIPLOG_LOW], 0);
	assert_int_equal(r.pool[HIPLOG_NORMAL], 3);
	assert_int_equal(r.pool[HIPLOG_HIGH], 1);
	assert_int_equal(r.pool[HIPLOG_MAX_EACH], 4);
}

static void test_work(void **state)
{
	struct hiplog_record r = read_line(LINE_5_2_COPY);

	(void)state;
	assert_int_equal(r.kind, HIPLOG_COPY);
	assert_int_equal(r.has, PROCESS);
	r = read_line(LINE_7_2_COPY);
	assert_int_equal(r.kind, HIPLOG_COPY);
	assert_int_equal(r.bytes, 65536);
	assert_int_equal(r.engines, 2);
	/* A line about the method of a copy is not a copy. */
	assert_int_equal(read_line(LINE_7_2_STAGED).kind, HIPLOG_OTHER);

	r = read_line(LINE_7_2_KERNEL);
	assert_int_equal(r.kind, HIPLOG_KERNEL);
	assert_text(r.name, "_Z4gemmILi4EEvPf (cut : here)");

	r = read_line(LINE_5_2_CALL);
	assert_int_equal(r.kind, HIPLOG_CALL);
	assert_text(r.name, "hipStreamCreate");
	r = read_line(LINE_7_2_CALL);
	assert_int_equal(r.kind, HIPLOG_CALL);
	assert_text(r.name, "hipMemcpyAsync");
	r = read_line(LINE_7_2_RETURN);
	assert_int_equal(r.kind, HIPLOG_RETURN);
	assert_text(r.name, "hipMemcpyAsync");
	assert_text(r.result, "hipSuccess");
	assert_int_equal(r.duration_us, 112);
	assert_true(r.has & HIPLOG_HAS_DURATION);
	r = read_line(LINE_7_2_RETURN_ALONE);
	assert_int_equal(r.kind, HIPLOG_RETURN);
	assert_text(r.result, "hipErrorNoBinaryForGpu");
	assert_false(r.has & HIPLOG_HAS_DURATION);
}

static void test_other_text(void **state)
{
	static const char *const none[] = {
		"",
		":",
		":3:",
		"\n",
		"Error: Cannot create kernels.",
		"Warning: Resource leak detected by SharedSignalPool, 1 Signals leaked.",
		":3:rocdevice.cpp            :416 : us: [pid:2 tid: 0x1] no time",
		":3:rocdevice.cpp            :416 : 99999999999999999999999 us: overflow",
		":10:rocdevice.cpp           :416 : 1 us: level",
		"::::::::::::::::::::::::::::::",
	};
	struct hiplog_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(hiplog_parse(none[i], strlen(none[i]), &r));
	/* Text before the line: mpirun's rank, a container's timestamp, a dot of another
	 * program. */
	r = read_line("[1,0]<stderr>:" LINE_7_2_RELEASED);
	assert_int_equal(r.kind, HIPLOG_RELEASED);
	assert_int_equal(r.before.bytes, strlen("[1,0]<stderr>:"));
	assert_memory_equal(r.before.text, "[1,0]<stderr>:", r.before.bytes);
	r = read_line("2026-11-22T18:19:58.1Z stderr F " LINE_5_2_DISPATCH);
	assert_int_equal(r.kind, HIPLOG_DISPATCH);
	r = read_line("epoch 1: ....:3:rocd" LINE_5_2_DISPATCH);
	assert_int_equal(r.kind, HIPLOG_DISPATCH);
	assert_int_equal(r.level, 4);
	assert_int_equal(r.before.bytes, strlen("epoch 1: ....:3:rocd"));
	/* Windows line ends, and colours around the line. */
	r = read_line(LINE_7_2_DISPATCH "\r\n");
	assert_int_equal(r.wptr, 10);
	assert_int_equal(r.before.bytes, 0);
	r = read_line("\033[31m\033[1m" LINE_7_2_RELEASED "\033[0m");
	assert_int_equal(r.kind, HIPLOG_RELEASED);
	/* Addresses that no process can have. */
	r = read_line(PREFIX_7_2 "SWq=0x0, HWq=0x0, id=1, Dispatch Header = 0x0");
	assert_int_equal(r.kind, HIPLOG_DISPATCH);
	assert_false(r.has & (HIPLOG_HAS_HSA_QUEUE | HIPLOG_HAS_RING | HIPLOG_HAS_HWQ));
	r = read_line(PREFIX_5_2 "HWq=0xfffffffffffffffff, Dispatch Header = 0x0");
	assert_false(r.has & HIPLOG_HAS_HWQ);
}

/* Each line is truncated at every byte, at the end of the allocated memory, so that a sanitizer
 * detects a read beyond it. A field parsed from a part must also be in the whole line. */
static void test_cut(void **state)
{
	static const char *const lines[] = {
		LINE_5_2_DISPATCH, LINE_6_1_DISPATCH,	LINE_6_4_BARRIER,  LINE_7_2_DISPATCH,
		LINE_5_2_CREATED,  LINE_7_2_CREATED_3,	LINE_7_2_ACQUIRED, LINE_5_2_SELECTED,
		LINE_7_2_RELEASED, LINE_5_2_DELETED,	LINE_7_2_ABORTED,  LINE_5_2_POOL,
		LINE_5_2_COPY,	   LINE_7_2_COPY,	LINE_7_2_STAGED,   LINE_7_2_KERNEL,
		LINE_5_2_CALL,	   LINE_7_2_CALL,	LINE_7_2_RETURN,   LINE_7_2_RETURN_ALONE,
		LINE_OTHER_PACKET, LINE_NEWER_DISPATCH,
	};
	struct hiplog_record part, whole;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		whole = read_line(lines[i]);
		for (size_t n = 0; n < strlen(lines[i]); n++) {
			char *copy = malloc(n ? n : 1);

			memcpy(copy, lines[i], n);
			if (hiplog_parse(copy, n, &part)) {
				assert_int_equal(part.level, whole.level);
				assert_int_equal(part.us, whole.us);
				assert_int_equal(part.has & ~whole.has, 0);
			}
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes),   cmocka_unit_test(test_packets),
		cmocka_unit_test(test_queues),	   cmocka_unit_test(test_work),
		cmocka_unit_test(test_other_text), cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
