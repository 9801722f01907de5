// SPDX-License-Identifier: MIT
/*
 * Proves the parser of debugfs kfd/mqds and kfd/hqds: the driver's formats of several releases, one
 * and several XCCs, other GPU generations, and damaged texts.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/inspect/debugfs.h"

#define MQD 512
#define SDMA 128
#define HQD 56
#define SDMA_SLOT 44 /* dwords, since gfx 9.4.3 */

static const struct topology_gpu gpus[] = {
	{.gpu_id = 0xd8f1,
	 .gfx_target_version = 90402,
	 .xccs = 4,
	 .sdma_engines = 2,
	 .xgmi_engines = 6},
	{.gpu_id = 0x3098,
	 .gfx_target_version = 90010,
	 .xccs = 1,
	 .sdma_engines = 2,
	 .xgmi_engines = 3},
	{.gpu_id = 0x1100, .gfx_target_version = 110000, .xccs = 1, .sdma_engines = 2},
};

static char *text;
static size_t bytes;
static FILE *to;
static char why[OBSERVE_WHY];
static struct observe_list list;

/* Begins a new text in `to`. */
static void begin(void)
{
	free(text);
	text = NULL;
	observe_list_clear(&list);
	why[0] = '\0';
	to = open_memstream(&text, &bytes);
	assert_non_null(to);
}

/* Writes rows of eight words, with offsets from `offset` on. */
static void dump(uint32_t offset, const uint32_t *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (i % 8 == 0)
			fprintf(to, "    %08x:", offset + 4 * i);
		fprintf(to, " %08x%s", words[i], i % 8 == 7 || i == n - 1 ? "\n" : "");
	}
}

/* Completes the text and returns it with the topology. */
static struct debugfs_copy whole(void)
{
	if (to)
		assert_int_equal(fclose(to), 0);
	to = NULL;
	return (struct debugfs_copy){text, bytes, gpus, sizeof(gpus) / sizeof(gpus[0])};
}

static int mqds(pid_t pid)
{
	struct debugfs_copy t = whole();

	return debugfs_mqds(&t, pid, &list, why);
}

static int hqds(void)
{
	struct debugfs_copy t = whole();

	return debugfs_hqds(&t, &list, why);
}

/* Fills the MQD of an AQL queue of 64 KiB, as the driver writes it. */
static void aql_words(uint32_t words[MQD], uint64_t ring, uint32_t doorbell)
{
	memset(words, 0, 4 * MQD);
	words[0] = 0xc0310800;
	words[23] = words[24] = words[26] = words[27] = UINT32_MAX;
	words[39] = 2; /* gfx 9.4.3: no CU mask */
	words[133] = 1;
	words[134] = 8;
	words[136] = (uint32_t)(ring >> 8);
	words[137] = (uint32_t)(ring >> 40);
	words[139] = 0x1080;
	words[140] = 0x7f;
	words[141] = 0x1038;
	words[142] = 0x7f;
	words[143] = doorbell | 2;
	words[145] = 2u << 25 | 1u << 27 | 5u << 8 | 13;
	words[171] = 0x40000000;
	words[172] = 0x7e;
	words[177] = 0x10000;
}

/* Writes a compute queue with one MQD for each XCC. */
static void compute(const char *device, unsigned xccs, const uint32_t *words)
{
	fprintf(to, "  Compute queue on device %s\n", device);
	for (unsigned i = 0; i < xccs; i++)
		dump(0, words, MQD);
}

static void sdma_words(uint32_t words[SDMA], uint64_t ring, uint32_t engine)
{
	memset(words, 0, 4 * SDMA);
	words[0] = 18u << 1 | 1u << 12;
	words[1] = (uint32_t)(ring >> 8);
	words[2] = (uint32_t)(ring >> 40);
	words[8] = 0x7f;
	words[9] = 0x2080;
	words[22] = 0x4008;
	words[126] = engine;
}

/* Writes an SDMA queue, dumped `times` times. */
static void sdma(const char *device, unsigned times, const uint32_t *words)
{
	fprintf(to, "  SDMA queue on device %s\n", device);
	for (unsigned i = 0; i < times; i++)
		dump(0, words, SDMA);
}

static void is(const struct observe_queue *queue, enum observe_field field, uint64_t value)
{
	if (!observe_known(queue, field))
		fail_msg("%s is not known", observe_field_info(field)->key);
	assert_int_equal(queue->field[field].value, value);
}

static void is_not_known(const struct observe_queue *queue, enum observe_field field)
{
	if (observe_known(queue, field))
		fail_msg("%s is known", observe_field_info(field)->key);
}

static void test_compute(void **state)
{
	uint32_t words[MQD];

	(void)state;
	begin();
	aql_words(words, 0x7f0012340000, 0x3010);
	fprintf(to, "Process 12 PASID 0x8002:\n");
	compute("3098", 1, words);
	fprintf(to, "Process 4711 PASID 0x8001:\n");
	compute("d8f1", 4, words);
	words[145] = 5u << 8 | 9; /* PM4, 4 KiB */
	words[171] = words[172] = 0;
	compute("d8f1", 4, words);
	assert_int_equal(mqds(4711), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.queue[0].id, OBSERVE_NO_ID);
	assert_int_equal(list.queue[0].gpu_id, 0xd8f1);
	assert_int_equal(list.queue[0].source_mask, OBSERVE_BIT(OBSERVE_MQD));
	is(&list.queue[0], OBSERVE_TYPE, OBSERVE_AQL);
	is(&list.queue[0], OBSERVE_RING_ADDRESS, 0x7f0012340000);
	is(&list.queue[0], OBSERVE_RING_BYTES, 65536);
	is(&list.queue[0], OBSERVE_RPTR_ADDRESS, 0x7f00001080);
	is(&list.queue[0], OBSERVE_WPTR_ADDRESS, 0x7f00001038);
	is(&list.queue[0], OBSERVE_PRIORITY, 8);
	is(&list.queue[0], OBSERVE_CU_BITS, 0);
	is(&list.queue[0], OBSERVE_CWSR_ADDRESS, 0x7e40000000);
	is(&list.queue[0], OBSERVE_CWSR_BYTES, 0x10000);
	is(&list.queue[0], OBSERVE_PASID, 0x8001);
	is(&list.queue[0], OBSERVE_DOORBELL, 0x3010);
	is(&list.queue[0], OBSERVE_MQDS, 4);
	/* The dumped pointers are those of the last unmap. */
	is_not_known(&list.queue[0], OBSERVE_WPTR);
	is_not_known(&list.queue[0], OBSERVE_RPTR);
	is(&list.queue[1], OBSERVE_TYPE, OBSERVE_PM4);
	is(&list.queue[1], OBSERVE_RING_BYTES, 4096);
	is_not_known(&list.queue[1], OBSERVE_CWSR_ADDRESS);
}

static void test_later_headers(void **state)
{
	static const char *const headers[] = {"Process 4711 PASID 0x1267:\n",
					      "Process 4711 PASID 4711:\n"};
	uint32_t words[MQD];

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin();
		aql_words(words, 0x7f0012340000, 0x3010);
		words[133] = words[134] = 0;
		fputs(headers[i], to);
		compute("3098", 1, words);
		assert_int_equal(mqds(4711), 0);
		assert_int_equal(list.count, 1);
		is_not_known(&list.queue[0], OBSERVE_PASID);
		/* Either 0 to 6, or not written by the driver. */
		is_not_known(&list.queue[0], OBSERVE_PRIORITY);
	}
	begin();
	fprintf(to, "Process 4711 PASID 0x8001:\n");
	compute("3098", 1, words);
	assert_int_equal(mqds(4711), 0);
	is(&list.queue[0], OBSERVE_PRIORITY, 0);
}

static void test_cu_mask(void **state)
{
	uint32_t words[MQD];

	(void)state;
	begin();
	aql_words(words, 0x7f0012340000, 0x3010);
	words[23] = 0xf;
	words[24] = 0x3;
	words[26] = words[27] = 0;
	fprintf(to, "Process 1 PASID 1:\n");
	compute("d8f1", 4, words);
	words[39] = words[40] = words[41] = 0;
	words[42] = 1;
	compute("3098", 1, words);
	assert_int_equal(mqds(1), 0);
	is(&list.queue[0], OBSERVE_CU_BITS, 4 * 6);
	is(&list.queue[1], OBSERVE_CU_BITS, 7);
}

/* An SDMA queue that is listed after a compute queue is dumped once for each XCC of that queue. */
static void test_sdma(void **state)
{
	uint32_t words[SDMA], aql[MQD];

	(void)state;
	begin();
	fprintf(to, "Process 4711 PASID 0x8001:\n");
	sdma_words(words, 0x7f0000200000, 1);
	sdma("d8f1", 1, words);
	aql_words(aql, 0x7f0012340000, 0x3010);
	compute("d8f1", 4, aql);
	sdma_words(words, 0x7f0000300000, 2);
	sdma("d8f1", 4, words);
	fprintf(to, "  Weird: Queue node with neither kernel nor user queue\n");
	assert_int_equal(mqds(4711), 0);
	assert_int_equal(list.count, 3);
	is(&list.queue[0], OBSERVE_TYPE, OBSERVE_SDMA);
	is(&list.queue[0], OBSERVE_RING_ADDRESS, 0x7f0000200000);
	is(&list.queue[0], OBSERVE_RING_BYTES, 1u << 20);
	is(&list.queue[0], OBSERVE_RPTR_ADDRESS, 0x7f00002080);
	is(&list.queue[0], OBSERVE_MQDS, 1);
	is(&list.queue[2], OBSERVE_TYPE, OBSERVE_XGMI);
	is(&list.queue[2], OBSERVE_RING_ADDRESS, 0x7f0000300000);
	is(&list.queue[2], OBSERVE_MQDS, 1);
}

static void test_no_source(void **state)
{
	(void)state;
	begin();
	assert_int_equal(mqds(4711), -ENOENT);
	assert_string_equal(why, "debugfs kfd/mqds has no process 4711");
	begin();
	fprintf(to, "Process 4711 PASID 0x8001:\nProcess 47 PASID 0x8002:\n");
	assert_int_equal(mqds(47), 0);
	assert_int_equal(list.count, 0);
	assert_int_equal(mqds(7), -ENOENT);
}

/* For gfx11, and for a GPU that sysfs does not show, only the existence of the queue is known. */
static void test_other_generations(void **state)
{
	uint32_t words[MQD];

	(void)state;
	begin();
	aql_words(words, 0x7f0012340000, 0x3010);
	fprintf(to, "Process 4711 PASID 0x8001:\n");
	compute("1100", 1, words);
	compute("3098", 1, words);
	sdma("dead", 1, words);
	assert_int_equal(mqds(4711), -EOPNOTSUPP);
	assert_non_null(strstr(why, "node 4352 is gfx11.0.0"));
	assert_int_equal(list.count, 3);
	is(&list.queue[0], OBSERVE_TYPE, OBSERVE_COMPUTE);
	is(&list.queue[0], OBSERVE_MQDS, 1);
	is_not_known(&list.queue[0], OBSERVE_RING_ADDRESS);
	is(&list.queue[1], OBSERVE_RING_ADDRESS, 0x7f0012340000);
	is_not_known(&list.queue[2], OBSERVE_TYPE);
}

static void test_malformed_mqds(void **state)
{
	uint32_t words[MQD];
	size_t all;

	(void)state;
	begin();
	aql_words(words, 0x7f0012340000, 0x3010);
	fprintf(to, "Process 4711 PASID 0x8001:\n");
	compute("d8f1", 4, words);
	compute("d8f1", 4, words);
	assert_int_equal(mqds(4711), 0);
	all = bytes;

	observe_list_clear(&list);
	bytes = all - 10;
	assert_int_equal(mqds(4711), -EBADMSG);
	assert_string_equal(why, "debugfs kfd/mqds ends in the middle of line 515");
	assert_int_equal(list.count, 2);
	is(&list.queue[0], OBSERVE_MQDS, 4);
	is(&list.queue[1], OBSERVE_RING_ADDRESS, 0x7f0012340000);
	is_not_known(&list.queue[1], OBSERVE_MQDS);
	is_not_known(&list.queue[1], OBSERVE_CU_BITS);

	observe_list_clear(&list);
	bytes = (size_t)(strrchr(text, '0') - text);
	while (text[bytes - 1] != '\n')
		bytes--;
	assert_int_equal(mqds(4711), -EBADMSG);
	assert_string_equal(
		why, "debugfs kfd/mqds is truncated: the block that begins in line 452 has 504 "
		     "words, not 512");

	observe_list_clear(&list);
	bytes = all;
	memcpy(strstr(text, "00000200:"), "00000240:", 9);
	assert_int_equal(mqds(4711), -EBADMSG);
	assert_string_equal(why, "line 19 of debugfs kfd/mqds cannot be parsed");
	assert_int_equal(list.count, 1);
	is(&list.queue[0], OBSERVE_TYPE, OBSERVE_COMPUTE);
	is_not_known(&list.queue[0], OBSERVE_RING_ADDRESS);

	begin();
	fprintf(to, "\x1b[2J%c\xff", 0);
	assert_int_equal(mqds(4711), -EBADMSG);
	begin();
	fprintf(to, "    00000000: 00000000\n");
	assert_int_equal(mqds(4711), -EBADMSG);
	begin();
	fprintf(to, "Process 99999999999 PASID 0x1:\n");
	assert_int_equal(mqds(4711), -EBADMSG);
}

/* ---- hqds ---- */

static void slot(unsigned inst, unsigned pipe, unsigned queue, const uint32_t *words)
{
	fprintf(to, " Inst %u,  CP Pipe %u, Queue %u\n", inst, pipe, queue);
	dump(0xc914, words, HQD);
}

static void active_words(uint32_t words[HQD], uint64_t ring, uint32_t doorbell)
{
	uint32_t mqd[MQD];

	aql_words(mqd, ring, doorbell);
	memcpy(words, &mqd[128], 4 * HQD);
	words[2] = 1;
	words[3] = 9;
	words[15] |= 1u << 30;
}

static void hiq(const char *name)
{
	uint32_t words[HQD] = {[2] = 1, [8] = 0x1000};

	fprintf(to, "%s\n", name);
	dump(0xc914, words, HQD);
}

static void test_slots(void **state)
{
	uint32_t words[HQD], idle[HQD] = {0}, dma[SDMA];

	(void)state;
	begin();
	fprintf(to, "Node 1, gpu_id d8f1:\n");
	for (unsigned inst = 0; inst < 4; inst++) {
		hiq(inst ? "   Inst 1, HIQ on MEC 2 Pipe 0 Queue 0"
			 : "   Inst 0, HIQ on MEC 2 Pipe 0 Queue 0");
		active_words(words, 0x7f0012340000, 0x3010);
		slot(inst, 0, 2, words);
		/* A ring of another process has the same address. */
		active_words(words, 0x7f0012340000, 0x5010);
		slot(inst, 1, 2, words);
		slot(inst, 2, 2, idle);
		words[2] = 0; /* left over from an earlier queue */
		slot(inst, 3, 2, words);
	}
	sdma_words(dma, 0x7f0000200000, 0);
	dma[0] |= 1;
	fprintf(to, "  SDMA Engine 1, RLC 0\n");
	dump(0x1000, dma, SDMA_SLOT);
	dma[1] += 0x1000;
	fprintf(to, "  SDMA Engine 11, RLC 0\n"); /* of the second node of the card */
	dump(0x2000, dma, SDMA_SLOT);
	fprintf(to, "Node 2, gpu_id 3098:\n Device is stopped\n");
	assert_int_equal(hqds(), 0);
	assert_int_equal(list.count, 4);
	is(&list.queue[0], OBSERVE_TYPE, OBSERVE_AQL);
	is(&list.queue[0], OBSERVE_DOORBELL, 0x3010);
	is(&list.queue[0], OBSERVE_RING_ADDRESS, 0x7f0012340000);
	is(&list.queue[0], OBSERVE_RING_BYTES, 65536);
	is(&list.queue[0], OBSERVE_HQDS, 4);
	is(&list.queue[0], OBSERVE_HQD_XCCS, 0xf);
	is_not_known(&list.queue[0], OBSERVE_WPTR);
	is(&list.queue[0], OBSERVE_PRIORITY, 8);
	is(&list.queue[1], OBSERVE_DOORBELL, 0x5010);
	is(&list.queue[1], OBSERVE_HQDS, 4);
	is(&list.queue[2], OBSERVE_TYPE, OBSERVE_SDMA);
	is(&list.queue[2], OBSERVE_HQDS, 1);
	is_not_known(&list.queue[2], OBSERVE_HQD_XCCS);
	is(&list.queue[3], OBSERVE_TYPE, OBSERVE_XGMI);
}

static void test_by_xcc(void **state)
{
	uint32_t words[HQD], idle[HQD] = {0};

	(void)state;
	begin();
	fprintf(to, "Node 1, gpu_id d8f1:\n");
	active_words(words, 0x7f0012340000, 0x3010);
	for (unsigned inst = 0; inst < 4; inst++)
		slot(inst, 3, 7, inst == 2 ? idle : words);
	assert_int_equal(hqds(), 0);
	assert_int_equal(list.count, 1);
	is(&list.queue[0], OBSERVE_HQDS, 3);
	is(&list.queue[0], OBSERVE_HQD_XCCS, 1 << 0 | 1 << 1 | 1 << 3);
}

/* The format before Linux 6.5. */
static void test_one_xcc_unnumbered(void **state)
{
	uint32_t words[HQD];

	(void)state;
	begin();
	fprintf(to, "Node 1, gpu_id 3098:\n");
	hiq("  HIQ on MEC 2 Pipe 0 Queue 0");
	active_words(words, 0x7f0012340000, 0x3010);
	fprintf(to, "  CP Pipe 0, Queue 2\n");
	dump(0xc914, words, HQD);
	assert_int_equal(hqds(), 0);
	assert_int_equal(list.count, 1);
	is(&list.queue[0], OBSERVE_HQDS, 1);
}

static void test_malformed_hqds(void **state)
{
	uint32_t words[HQD];

	(void)state;
	begin();
	fprintf(to, "Node 1, gpu_id 3098:\n");
	active_words(words, 0x7f0012340000, 0x3010);
	slot(0, 0, 2, words);
	active_words(words, 0x7f0012350000, 0x3020);
	slot(0, 1, 2, words);
	assert_int_equal(hqds(), 0);
	assert_int_equal(list.count, 2);

	observe_list_clear(&list);
	bytes -= 4;
	assert_int_equal(hqds(), -EBADMSG);
	assert_string_equal(why, "debugfs kfd/hqds ends in the middle of line 17");
	assert_int_equal(list.count, 1);

	observe_list_clear(&list);
	while (text[bytes - 1] != '\n')
		bytes--;
	assert_int_equal(hqds(), -EBADMSG);
	assert_string_equal(
		why,
		"debugfs kfd/hqds is truncated: the block that begins in line 10 has 48 words, not 56");
	assert_int_equal(list.count, 1);

	begin();
	fprintf(to, " Inst 0,  CP Pipe 0, Queue 2\n");
	assert_int_equal(hqds(), -EBADMSG);
	assert_string_equal(why, "line 1 of debugfs kfd/hqds cannot be parsed");

	begin();
	fprintf(to, "Node 1, gpu_id 1100:\n");
	slot(0, 0, 2, words);
	fprintf(to, "Node 2, gpu_id 3098:\n");
	slot(0, 0, 2, words);
	assert_int_equal(hqds(), -EOPNOTSUPP);
	assert_non_null(strstr(why, "gfx11.0.0"));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.queue[0].gpu_id, 0x3098);
}

/* Changed bytes and truncation at any place: the parser returns, and reads nothing beyond the
 * text. */
static void test_hostile(void **state)
{
	uint32_t words[MQD], dma[SDMA], regs[HQD];
	size_t all;

	(void)state;
	srand(7);
	for (int kind = 0; kind < 2; kind++) {
		begin();
		if (kind) {
			fprintf(to, "Node 1, gpu_id d8f1:\n");
			active_words(regs, 0x7f0012340000, 0x3010);
			for (unsigned i = 0; i < 8; i++)
				slot(i % 4, i, 2, regs);
		} else {
			aql_words(words, 0x7f0012340000, 0x3010);
			sdma_words(dma, 0x7f0000200000, 1);
			fprintf(to, "Process 4711 PASID 0x8001:\n");
			compute("d8f1", 2, words);
			sdma("d8f1", 2, dma);
		}
		whole();
		all = bytes;
		for (int i = 0; i < 3000; i++) {
			size_t n = (size_t)rand() % all + 1, at = (size_t)rand() % n;
			struct debugfs_copy t = {malloc(n), n, gpus, 3};
			char *copy = (char *)t.at;

			memcpy(copy, text, n);
			copy[at] = (char)rand();
			copy[(size_t)rand() % n] = "\n 0:xN"[rand() % 6];
			observe_list_clear(&list);
			if (kind)
				debugfs_hqds(&t, &list, why);
			else
				debugfs_mqds(&t, 4711, &list, why);
			assert_true(list.count <= 4);
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compute),	       cmocka_unit_test(test_later_headers),
		cmocka_unit_test(test_cu_mask),	       cmocka_unit_test(test_sdma),
		cmocka_unit_test(test_no_source),      cmocka_unit_test(test_other_generations),
		cmocka_unit_test(test_malformed_mqds), cmocka_unit_test(test_slots),
		cmocka_unit_test(test_by_xcc),	       cmocka_unit_test(test_one_xcc_unnumbered),
		cmocka_unit_test(test_malformed_hqds), cmocka_unit_test(test_hostile),
	};
	int failed = cmocka_run_group_tests_name("debugfs text", tests, NULL, NULL);

	free(text);
	observe_list_free(&list);
	return failed;
}
