// SPDX-License-Identifier: MIT
/*
 * Proves the driver's part of kfdsched trace, on a made-up tracefs: what is enabled and where, that
 * the global buffer is not changed, which instances are removed as left over, the message of each
 * case without events, and the meaning of each form of a line.
 */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/trace/trace.h"

static char root[64];

/* Creates a file below `root`, with its directories. text: NULL for a directory. */
static void make(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	if (!text) {
		mkdir(path, 0700);
		return;
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static const char *text_of(const char *name)
{
	static char text[8192];
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static bool is_there(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return access(path, F_OK) == 0;
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/tracefs.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int drop(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
	(void)status;
	(void)flag;
	(void)walk;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* A kernel with amdgpu as a module. The files of the instance exist already, as if the kernel had
 * created them. */
static void make_kernel(void)
{
	static const char *const files[] = {"trace_clock",
					    "tracing_on",
					    "set_ftrace_filter",
					    "current_tracer",
					    "options/funcgraph-abstime",
					    "options/funcgraph-tail",
					    "events/amdgpu/amdgpu_iv/enable",
					    "events/amdgpu/amdgpu_device_rreg/enable",
					    "events/gpu_scheduler/drm_run_job/enable",
					    "events/sched/sched_switch/enable"};
	char name[128];

	make("available_filter_functions",
	     "schedule\nkfd_ioctl [amdgpu]\nsuspend_queues [amdgpu]\n"
	     "suspend_queues [another]\nresume_queues\namdgpu_device_rreg [amdgpu]\n");
	make("tracing_on", "1");
	make("current_tracer", "nop");
	make("set_ftrace_filter", "");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(name, sizeof(name), "instances/mine/%s", files[i]);
		make(name, "");
	}
}

static void an_instance_is_set_up_and_nothing_else(void **state)
{
	struct tracefs tracefs;

	(void)state;
	make_kernel();
	make("instances/mine/trace_pipe", "");
	assert_int_equal(tracefs_open(&tracefs, root, "mine"), 0);
	assert_true(tracefs.pipe >= 0);
	assert_true(tracefs.graph);
	assert_int_equal(tracefs.functions, 2);
	assert_int_equal(tracefs.events, 2);
	assert_string_equal(text_of("instances/mine/trace_clock"), "mono");
	assert_string_equal(text_of("instances/mine/current_tracer"), "function_graph");
	assert_string_equal(text_of("instances/mine/options/funcgraph-abstime"), "1");
	/* appended: the kernel takes one function per write, this file keeps both */
	assert_string_equal(text_of("instances/mine/set_ftrace_filter"),
			    "kfd_ioctl\nsuspend_queues\n");
	assert_string_equal(text_of("instances/mine/events/amdgpu/amdgpu_iv/enable"), "1");
	assert_string_equal(text_of("instances/mine/events/gpu_scheduler/drm_run_job/enable"), "1");
	assert_string_equal(text_of("instances/mine/events/amdgpu/amdgpu_device_rreg/enable"), "");
	assert_string_equal(text_of("instances/mine/events/sched/sched_switch/enable"), "");
	assert_non_null(strstr(tracefs.why, "2 functions of amdkfd and 2 events"));
	tracefs_close(&tracefs);
	assert_int_equal(text_of("instances/mine/tracing_on")[0], '0');
	/* the global buffer, which other tools use */
	assert_string_equal(text_of("tracing_on"), "1");
	assert_string_equal(text_of("current_tracer"), "nop");
	assert_string_equal(text_of("set_ftrace_filter"), "");
}

static void count(void *context, struct trace_event *event)
{
	struct trace_event *last = context;

	event->queue_id = last->queue_id + 1; /* the number of events */
	*last = *event;
}

static void what_comes_is_read_whole(void **state)
{
	struct trace_event last = {0};
	struct tracefs tracefs;

	(void)state;
	make_kernel();
	make("instances/mine/trace_pipe",
	     "# tracer: function_graph\n"
	     "  100.000001 |   1)   python3-1234   | + 13.500 us   |  } /* kfd_ioctl [amdgpu] */\n"
	     "CPU:3 [LOST 12 EVENTS]\n"
	     "  100.000020 |   1)   python3-1234   |               |  /* drm_run_job: id=1 */\n"
	     "  100.000030 |   1)   python3-12");
	assert_int_equal(tracefs_open(&tracefs, root, "mine"), 0);
	assert_false(tracefs_read(&tracefs, count, &last));
	assert_int_equal(last.queue_id, 2);
	assert_string_equal(last.name, "drm_run_job");
	assert_int_equal(tracefs.lost, 12);
	tracefs_close(&tracefs);
}

/* A driver that is faster than the reader must not keep it from the other sources, and from the end
 * of the trace. */
static void endless_is_read_in_parts(void **state)
{
	struct tracefs tracefs = {.pipe = open("/dev/zero", O_RDONLY | O_CLOEXEC)};
	struct trace_event last = {0};

	(void)state;
	assert_true(tracefs.pipe >= 0);
	alarm(60); /* a reader that does not return is killed */
	assert_true(tracefs_read(&tracefs, count, &last));
	alarm(0);
	close(tracefs.pipe);
}

static void what_is_missing_is_reported(void **state)
{
	struct tracefs tracefs;
	const bool is_root = getuid() == 0;
	char none[96];

	(void)state;
	snprintf(none, sizeof(none), "%s/none", root);
	assert_int_not_equal(tracefs_open(&tracefs, none, "mine"), 0);
	assert_non_null(strstr(tracefs.why, "there is no tracefs"));
	assert_int_equal(tracefs.pipe, -1);

	make("available_filter_functions", "schedule\nresume_queues\n");
	make("instances/mine/trace_clock", "");
	make("instances/mine/tracing_on", "");
	assert_int_not_equal(tracefs_open(&tracefs, root, "mine"), 0);
	assert_non_null(
		strstr(tracefs.why, "no traceable function of amdkfd and no event of amdgpu"));
	assert_string_equal(tracefs.directory, "");

	chmod(root, 0);
	if (is_root)
		/* because root can read everything */
		assert_int_equal(setresuid(65534, 65534, 0), 0);
	assert_int_not_equal(tracefs_open(&tracefs, root, "mine"), 0);
	if (is_root)
		assert_int_equal(setresuid(0, 0, 0), 0);
	assert_non_null(strstr(tracefs.why, "run this as root"));
	chmod(root, 0700);
}

static void leftovers_alone_are_removed(void **state)
{
	char name[64], path[128];

	(void)state;
	tracefs_name(name);
	snprintf(path, sizeof(path), "instances/%s", name);
	make(path, NULL);				/* this process's own */
	make("instances/kfdsched-1-99999999999", NULL); /* of an earlier process 1 */
	make("instances/kfdsched-4194303-1", NULL);
	make("instances/kfdsched-4194303-1x", NULL);
	make("instances/kfdsched", NULL);
	make("instances/another-tool", NULL);
	assert_int_equal(tracefs_remove_leftovers(root), 2);
	assert_true(is_there(path));
	assert_false(is_there("instances/kfdsched-1-99999999999"));
	assert_false(is_there("instances/kfdsched-4194303-1"));
	assert_true(is_there("instances/kfdsched-4194303-1x"));
	assert_true(is_there("instances/kfdsched"));
	assert_true(is_there("instances/another-tool"));
}

static void lines_become_moments_and_a_malformed_one_nothing(void **state)
{
	static const struct {
		const char *line, *name, *comm;
		uint64_t ns, duration_ns, thread;
		enum trace_mark mark;
	} good[] = {
		{"  100.123456 |   1)   python3-1234   | + 13.500 us   |  } /* kfd_ioctl [amdgpu] "
		 "*/",
		 "kfd_ioctl", "python3", 100123442500, 13500, 1234, TRACE_SPAN},
		{"  100.123456 |   1)   kworker/u8:1-77   |   1.204 us    |    suspend_queues "
		 "[amdgpu]();",
		 "suspend_queues", "kworker/u8:1", 100123456000, 1204, 77, TRACE_SPAN},
		{"  100.123456 |  11)  a-b c-9  |  $ 2000000.5 us |  } /* resume_queues ret=0x0 */",
		 "resume_queues", "a-b c", 98123455500, 2000000500, 9, TRACE_SPAN},
		{"  100.123456 |   1)   python3-1234   |               |  /* amdgpu_iv: ih:0 */",
		 "amdgpu_iv", "python3", 100123456000, 0, 1234, TRACE_POINT},
		{"         python3-1234    [001] d..1.   100.123456: drm_run_job: entity=1, id=2",
		 "drm_run_job", "python3", 100123456000, 0, 1234, TRACE_POINT},
		{"          <idle>-0       [000] dNh2.   100.123456789: amdgpu_iv: ih:0",
		 "amdgpu_iv", "<idle>", 100123456789, 0, 0, TRACE_POINT},
		{" python3-1234  [001]   100.123456: kfd_ioctl <-__x64_sys_ioctl", "kfd_ioctl",
		 "python3", 100123456000, 0, 1234, TRACE_POINT},
	};
	static const char *const bad[] = {
		"",
		"# tracer: function_graph",
		" ------------------------------------------",
		" 1)  <idle>-0  =>  bash-1234",
		"  100.123456 |   1)   python3-1234   |               |  kfd_ioctl [amdgpu]() {",
		"  100.123456 |   1)   python3-1234   |               |  }",
		"  100.123456 |   1)   python3-1234   | 999999999 us  |  } /* kfd_ioctl */",
		"  100.123456 |   1)   python3   |   1 us   |  } /* kfd_ioctl */",
		"  100.123456 |   1)   ==========> |",
		"  99999999999999999999.1 |   1)  a-1 | 1 us | } /* b */",
		"  100 |   1)   python3-1234   |   1 us   |  } /* kfd_ioctl */",
		" python3-1234  [001] d..1.   100.123456",
		" python3-1234  [001] d..1.   abc: b",
		" [001] d..1.   100.123456: b",
		"|||||",
	};
	struct trace_event event;
	uint64_t lost = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (!tracefs_parse(good[i].line, &event, &lost))
			fail_msg("not understood: %s", good[i].line);
		assert_string_equal(event.name, good[i].name);
		assert_string_equal(event.comm, good[i].comm);
		assert_int_equal(event.ns, good[i].ns);
		assert_int_equal(event.duration_ns, good[i].duration_ns);
		assert_int_equal(event.thread, good[i].thread);
		assert_int_equal(event.mark, good[i].mark);
		assert_int_equal(event.source, TRACE_DRIVER);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (tracefs_parse(bad[i], &event, &lost))
			fail_msg("taken for '%s': %s", event.name, bad[i]);
	assert_int_equal(lost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_instance_is_set_up_and_nothing_else, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_comes_is_read_whole, setup, teardown),
		cmocka_unit_test(endless_is_read_in_parts),
		cmocka_unit_test_setup_teardown(what_is_missing_is_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(leftovers_alone_are_removed, setup, teardown),
		cmocka_unit_test(lines_become_moments_and_a_malformed_one_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
