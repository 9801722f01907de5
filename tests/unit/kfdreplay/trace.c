// SPDX-License-Identifier: MIT
/* Proves that the trace reader accepts valid files, and reports the line and column of an error. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/kfdreplay/trace.h"

#define HEAD "op,launch_ns,start_ns,duration_ns,grid,block,bytes,name\n"
#define GOOD "kernel,5,6,700,4x2x1,64x1x1,,gemm\n"
#define LATE "memset,10,6,700,,,4,\n"
#define SYNC "sync,9,,,,,,\n"

static char path[64];

static int read_text(const void *text, size_t length, struct trace *trace, char *error, size_t size)
{
	int fd, rc;

	strcpy(path, "/tmp/trace-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), (ssize_t)length);
	close(fd);
	rc = trace_read(path, trace, error, size);
	unlink(path);
	return rc;
}

struct bad {
	const char *text;
	const char *at; /* LINE:COLUMN */
	const char *message;
};

static const struct bad bad[] = {
	{"", "1:1", "empty"},
	{"op,launch\n", "1:10", "first line must be op,"},
	{"\n", "1:1", "first line must be"},
	{HEAD, "2:1", "no operations"},
	{HEAD GOOD, "2:1", "no sync row"},
	{HEAD GOOD SYNC LATE LATE, "4:1", "no sync row ends"},
	{HEAD SYNC, "2:1", "sync without an operation"},
	{HEAD GOOD SYNC SYNC, "4:1", "sync without an operation"},
	{HEAD "kernal,5,6,700,4x2x1,64x1x1,,gemm\n", "2:1", "unknown op 'kernal'"},
	{HEAD "\n", "2:1", "ends after 1 of 8"},
	{HEAD GOOD "kernel,5,6,7", "3:13", "ends after 4 of 8 fields"},
	{HEAD GOOD "sync,9,,,,", "3:11", "ends after 6 of 8 fields"},
	{HEAD "kernel,-5,6,700,4x2x1,64x1x1,,\n", "2:8", "launch_ns is negative"},
	{HEAD "kernel,5,-6,700,4x2x1,64x1x1,,\n", "2:10", "start_ns is negative"},
	{HEAD "kernel,5,6,-700,4x2x1,64x1x1,,\n", "2:12", "duration_ns is negative"},
	{HEAD "kernel,5,6,70.5,4x2x1,64x1x1,,\n", "2:14", "duration_ns: '.5'"},
	{HEAD "kernel,5,6,x,4x2x1,64x1x1,,\n", "2:12", "duration_ns: 'x' is not a number"},
	{HEAD "kernel,5,6,,4x2x1,64x1x1,,\n", "2:12", "duration_ns is missing"},
	{HEAD "kernel,5,6,60000000001,4x2x1,64x1x1,,\n", "2:12", "duration_ns is too large"},
	{HEAD "kernel,5,6,99999999999999999999999,4x2x1,64x1x1,,\n", "2:12", "is too large"},
	{HEAD "kernel,1000000000000001,6,7,4x2x1,64x1x1,,\n", "2:8", "launch_ns is too large"},
	{HEAD "kernel,5,6,700,4x2,64x1x1,,\n", "2:19", "grid must look like"},
	{HEAD "kernel,5,6,700,4x2x1x1,64x1x1,,\n", "2:21", "grid must look like"},
	{HEAD "kernel,5,6,700,,64x1x1,,\n", "2:16", "grid is missing"},
	{HEAD "kernel,5,6,700,4x0x1,64x1x1,,\n", "2:18", "grid has a dimension of 0"},
	{HEAD "kernel,5,6,700,4x-2x1,64x1x1,,\n", "2:18", "grid is negative"},
	{HEAD "kernel,5,6,700,65536x65536x2,64x1x1,,\n", "2:16", "grid is too large"},
	{HEAD "kernel,5,6,700,4x2x1,64x64x64,,\n", "2:22", "block is too large"},
	{HEAD "kernel,5,6,700,4x2x1,64x1x1,8,\n", "2:29", "a kernel row has no bytes"},
	{HEAD "memset,5,6,700,1x1x1,,8,\n", "2:16", "a memset row has no grid"},
	{HEAD "memset,5,6,700,,1x1x1,8,\n", "2:17", "a memset row has no block"},
	{HEAD "memcpy_h2d,5,6,700,,,,\n", "2:22", "bytes is missing"},
	{HEAD "memcpy_d2d,5,6,700,,,0,\n", "2:22", "0 bytes"},
	{HEAD "memcpy_d2h,5,6,700,,,1099511627777,\n", "2:22", "bytes is too large"},
	{HEAD GOOD "sync,9,1,,,,,\n", "3:8", "a sync row has no start_ns"},
	{HEAD GOOD "sync,9,,,,,7,\n", "3:12", "a sync row has no bytes"},
	{HEAD GOOD "sync,,,,,,,\n", "3:6", "launch_ns is missing"},
	{HEAD GOOD "kernel,4,6,700,4x2x1,64x1x1,,\n", "3:8", "launch_ns goes backwards"},
};

static void expect(const void *text, size_t length, const struct bad *b)
{
	struct trace trace;
	char error[300], at[128];

	assert_int_equal(read_text(text, length, &trace, error, sizeof(error)), -EINVAL);
	assert_null(trace.rows);
	snprintf(at, sizeof(at), "%s:%s: ", path, b->at);
	if (strncmp(error, at, strlen(at)) != 0 || !strstr(error, b->message))
		fail_msg("'%s' is not '%s%s'", error, at, b->message);
	assert_null(strchr(error, '\n'));
}

static void names_line_and_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(bad[i].text, strlen(bad[i].text), &bad[i]);
}

static void refuses_binary(void **state)
{
	static const char text[] = HEAD "kernel,5\0,6";
	static const struct bad nul = {NULL, "2:9", "NUL byte"};

	(void)state;
	expect(text, sizeof(text) - 1, &nul);
}

static void reports_what_cannot_be_opened(void **state)
{
	struct trace trace;
	char error[300];

	(void)state;
	assert_int_equal(trace_read("/nonexistent/t.csv", &trace, error, sizeof(error)), -ENOENT);
	assert_string_equal(error, "/nonexistent/t.csv: cannot be opened: "
				   "No such file or directory");
	assert_int_equal(trace_read("/tmp", &trace, error, sizeof(error)), -EISDIR);
	assert_string_equal(error, "/tmp: cannot be read: Is a directory");
}

static void reads_what_is_right(void **state)
{
	static const char text[] = "op,launch_ns,start_ns,duration_ns,grid,block,bytes,name\r\n"
				   "memcpy_h2d,0,0,864,,,8,Memcpy HtoD \r\n"
				   "kernel,5,6,700,4x2x3,64x1x1,,gemm<a, b>\n"
				   "sync,9,,,,,,\n"
				   "memset,10,11,0,,,4,\n"
				   "memcpy_d2d,10,11,1,,,4,\n"
				   "sync,12,,,,,,";
	struct trace t;
	char error[300];

	(void)state;
	assert_int_equal(read_text(text, strlen(text), &t, error, sizeof(error)), 0);
	assert_int_equal(strncmp(t.name, "trace-test-", 11), 0);
	assert_int_equal(t.row_count, 4);
	assert_int_equal(t.rows[0].op, TRACE_MEMCPY_H2D);
	assert_int_equal(t.rows[0].bytes, 8);
	assert_int_equal(t.rows[1].op, TRACE_KERNEL);
	assert_int_equal(t.rows[1].groups, 24);
	assert_int_equal(t.rows[1].launch_ns, 5);
	assert_int_equal(t.rows[2].op, TRACE_MEMSET);
	assert_int_equal(t.rows[3].op, TRACE_MEMCPY_D2D);
	assert_int_equal(t.request_count, 2);
	assert_int_equal(t.requests[0].duration_ns, 1564);
	assert_int_equal(t.requests[1].first, 2);
	assert_int_equal(t.requests[1].count, 2);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_line_and_column),
		cmocka_unit_test(refuses_binary),
		cmocka_unit_test(reports_what_cannot_be_opened),
		cmocka_unit_test(reads_what_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
