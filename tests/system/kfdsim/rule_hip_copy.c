// SPDX-License-Identifier: MIT
/*
 * Proves: copies and fills of the HIP runtime move the right bytes, with odd sizes and offsets,
 * fills of every width, rectangles, and asynchronous copies in order. The argument can name another
 * library, because these functions are the same in all generations.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "tools/kfdconform/harness/harness.h"

#define BYTES (12u << 20)
#define PITCH 1000u

enum { TO_DEVICE = 1, TO_HOST = 2, IN_DEVICE = 3 };

static struct {
	int (*init)(unsigned);
	int (*malloc)(void **, size_t);
	int (*free)(void *);
	int (*copy)(void *, const void *, size_t, int);
	int (*copy_async)(void *, const void *, size_t, int, void *);
	int (*copy_2d)(void *, size_t, const void *, size_t, size_t, size_t, int);
	int (*set)(void *, int, size_t);
	int (*set16)(void *, unsigned short, size_t);
	int (*set32)(void *, int, size_t);
	int (*set_2d)(void *, size_t, int, size_t, size_t);
	int (*stream)(void **);
	int (*sync)(void *);
} hip;

static void load(const char *name)
{
	static const struct {
		const char *name;
		size_t at;
	} functions[] = {
		{"hipInit", 0},	    {"hipMalloc", 1},	     {"hipFree", 2},
		{"hipMemcpy", 3},   {"hipMemcpyAsync", 4},   {"hipMemcpy2D", 5},
		{"hipMemset", 6},   {"hipMemsetD16", 7},     {"hipMemsetD32", 8},
		{"hipMemset2D", 9}, {"hipStreamCreate", 10}, {"hipStreamSynchronize", 11},
	};
	void *library = dlopen(name, RTLD_NOW), **table = (void **)&hip;

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(library);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		table[functions[i].at] = dlsym(library, functions[i].name);
		CHECK(table[functions[i].at]);
	}
}

static uint8_t host[BYTES], back[BYTES], expected[BYTES];
static uint8_t *a, *b;

static void same(const uint8_t *device)
{
	memset(back, 0xee, BYTES);
	CHECK_IS(hip.copy(back, device, BYTES, TO_HOST), 0);
	for (size_t i = 0; i < BYTES; i++)
		if (back[i] != expected[i]) {
			fprintf(stderr, "byte %zu is %#x, not %#x\n", i, back[i], expected[i]);
			exit(1);
		}
}

static void copies(void)
{
	static const struct {
		size_t to, from, n;
	} pieces[] = {
		{0, 0, BYTES},	    {0, 64, 4096}, {1, 2, 3},	  {17, 5, 70001},
		{4, 8, 1000 * 4},   {33, 33, 1},   {16, 160, 16}, {BYTES - 9, 1, 9},
		{1024, 1028, 4100}, {2, 4, 65536},
	};

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		CHECK_IS(hip.copy(b + pieces[i].to, a + pieces[i].from, pieces[i].n, IN_DEVICE), 0);
		memcpy(expected + pieces[i].to, host + pieces[i].from, pieces[i].n);
	}
	same(b);
	CHECK_IS(hip.copy_2d(b + 3, PITCH, a + 7, 512, 301, 200, IN_DEVICE), 0);
	for (size_t y = 0; y < 200; y++)
		memcpy(expected + 3 + y * PITCH, host + 7 + y * 512, 301);
	CHECK_IS(hip.copy_2d(b + 64 * PITCH, PITCH, a, 1024, 256, 100, IN_DEVICE), 0);
	for (size_t y = 0; y < 100; y++)
		memcpy(expected + (64 + y) * PITCH, host + y * 1024, 256);
	same(b);
}

static void fills(void)
{
	const uint16_t half = 0x1234;
	const uint32_t word = 0xdeadbeef;

	CHECK_IS(hip.set(b, 0x5a, BYTES), 0);
	memset(expected, 0x5a, BYTES);
	same(b);
	CHECK_IS(hip.set(b + 5, 0x11, 4099), 0);
	memset(expected + 5, 0x11, 4099);
	CHECK_IS(hip.set(b + 9008, 0x22, 1), 0);
	memset(expected + 9008, 0x22, 1);
	CHECK_IS(hip.set16(b + 20002, half, 777), 0);
	for (size_t i = 0; i < 777; i++)
		memcpy(expected + 20002 + 2 * i, &half, 2);
	CHECK_IS(hip.set32(b + 40004, (int)word, 5001), 0);
	for (size_t i = 0; i < 5001; i++)
		memcpy(expected + 40004 + 4 * i, &word, 4);
	CHECK_IS(hip.set_2d(b + 100000, PITCH, 0x33, 123, 77), 0);
	for (size_t y = 0; y < 77; y++)
		memset(expected + 100000 + y * PITCH, 0x33, 123);
	same(b);
}

/* Each operation of a stream sees the result of the one before it. */
static void in_order(void)
{
	void *stream;

	CHECK_IS(hip.stream(&stream), 0);
	for (int i = 0; i < 20; i++) {
		CHECK_IS(hip.copy_async(b, a + i, 5000, IN_DEVICE, stream), 0);
		CHECK_IS(hip.copy_async(b + 10000 * (i + 1), b, 5000, IN_DEVICE, stream), 0);
		memcpy(expected, host + i, 5000);
		memcpy(expected + 10000 * (i + 1), host + i, 5000);
	}
	CHECK_IS(hip.sync(stream), 0);
	same(b);
}

int main(int argc, char **argv)
{
	load(argc > 1 ? argv[1] : "libamdhip64.so.5");
	CHECK_IS(hip.init(0), 0);
	CHECK_IS(hip.malloc((void **)&a, BYTES), 0);
	CHECK_IS(hip.malloc((void **)&b, BYTES), 0);
	for (size_t i = 0; i < BYTES; i++)
		host[i] = (uint8_t)(i * 7 + (i >> 8) * 13);
	CHECK_IS(hip.copy(a, host, BYTES, TO_DEVICE), 0);
	copies();
	fills();
	in_order();
	CHECK_IS(hip.free(a), 0);
	CHECK_IS(hip.free(b), 0);
	return 0;
}
