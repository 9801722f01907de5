// SPDX-License-Identifier: MIT
/* Proves: config_load() returns each value of the configuration file in its unit. If the file has a
 * mistake, nothing of it takes effect, and the message names the file, the line and the allowed
 * values. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* clang-format off: cmocka.h needs some of the headers above */
#include <cmocka.h>
/* clang-format on */

#include "scheduler/daemon/config/config.h"
#include "scheduler/daemon/config/value.h"

static char directory[] = "/tmp/kfdshim-config-XXXXXX", path[64];
static struct config config;
static char problem[1024];

static void write_file(const char *text, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static int load(const char *text)
{
	write_file(text, strlen(text));
	problem[0] = '\0';
	return config_load(path, &config, problem, sizeof(problem));
}

static void good(const char *text)
{
	if (load(text) != 0)
		fail_msg("%s: %s", text, problem);
}

/* Checks that `problem` is one line with the file, `line` and `what`. `line` 0: the problem
 * concerns the whole file. */
static void is_logged(int line, const char *what)
{
	char begin[96];

	if (line)
		snprintf(begin, sizeof(begin), "%s:%d: ", path, line);
	else
		snprintf(begin, sizeof(begin), "%s: ", path);
	if (strncmp(problem, begin, strlen(begin)) != 0 || !strstr(problem, what) ||
	    strchr(problem, '\n'))
		fail_msg("not line %d, or not \"%s\": %s", line, what, problem);
}

static void bad(int line, const char *what, const char *text)
{
	static struct config before;

	config_default(&config);
	config.core.min_run_ns = 4711;
	before = config;
	assert_int_equal(load(text), -EINVAL);
	is_logged(line, what);
	assert_memory_equal(&config, &before, sizeof(config));
}

static void times(void **state)
{
	uint64_t ns = 7;
	char text[24];

	(void)state;
	assert_true(value_time("50us", 0, UINT64_MAX, &ns));
	assert_int_equal(ns, 50000);
	assert_true(value_time("50 ms", 0, UINT64_MAX, &ns));
	assert_int_equal(ns, 50000000);
	assert_true(value_time("1.5s", 0, UINT64_MAX, &ns));
	assert_int_equal(ns, 1500000000);
	assert_true(value_time("18446744073s", 0, UINT64_MAX, &ns));
	assert_int_equal(ns, 18446744073000000000u);
	for (const char **word = (const char *[]){"", "50", "ms", "-1s", "+1s", " 1s", "1,5s",
						  "1s ", "1m", "1h", "1ns", "0x1s", "18446744074s",
						  "99999999999999999999us", "1s1ms", "1 S", NULL};
	     *word; word++)
		assert_false(value_time(*word, 0, UINT64_MAX, &ns));
	assert_false(value_time("9us", 10000, 20000, &ns));
	assert_false(value_time("21us", 10000, 20000, &ns));
	assert_int_equal(ns, 18446744073000000000u); /* unchanged by the refused values */
	value_time_text(0, text);
	assert_string_equal(text, "0us");
	value_time_text(1500000, text);
	assert_string_equal(text, "1500us");
	value_time_text(60000000000, text);
	assert_string_equal(text, "60s");
}

static void words(void **state)
{
	uint32_t percent = 7;
	uint16_t port = 7;
	char name[4];
	bool yes;

	(void)state;
	assert_true(value_percent("20 %", 1, 99, &percent) && percent == 20);
	assert_false(value_percent("20", 1, 99, &percent));
	assert_false(value_percent("0%", 1, 99, &percent));
	assert_false(value_percent("100%", 1, 99, &percent));
	assert_true(value_listen("127.0.0.1:9464", &port) && port == 9464);
	assert_false(value_listen("0.0.0.0:9464", &port));
	assert_false(value_listen("127.0.0.1:0", &port));
	assert_false(value_listen("127.0.0.1:65536", &port));
	assert_false(value_listen("9464", &port));
	assert_true(value_listen("off", &port) && port == 0);
	assert_true(value_yes_no("yes", &yes) && yes);
	assert_true(value_yes_no("no", &yes) && !yes);
	assert_false(value_yes_no("true", &yes));
	assert_true(value_name("a.b", name, sizeof(name)));
	assert_false(value_name("abcd", name, sizeof(name)));
	assert_false(value_name("a b", name, sizeof(name)));
	assert_false(value_name("", name, sizeof(name)));
}

static void all_of_it(void **state)
{
	(void)state;
	good("# a comment\n"
	     "[scheduler]\n"
	     "slow_suspend = 60ms   ; with a comment\n"
	     "max_suspended_us = 5000000\n"
	     "  min_run = 100 ms\n"
	     "share_window = 2s\n"
	     "online_weight = 3\n"
	     "max_online_overhead = 5%\n"
	     "hold_over = no\r\n"
	     "\n"
	     "[node 19729]\n"
	     "policy = share\n"
	     "share = 25%\n"
	     "[node all]\n"
	     "policy = deadline\n"
	     "[authority]\n"
	     "admin_group = 44\n"
	     "grant = uid root over all\n"
	     "grant = cgroup /a/* over gid 7\n"
	     "[rule serve]\n"
	     "uid = root, 1000\n"
	     "shim = no\n"
	     "priority = online\n"
	     "slo = 20ms\n"
	     "[rule others]\n"
	     "executable = /usr/bin/*\n"
	     "priority = none\n"
	     "level = observe\n"
	     "group = job.1\n"
	     "[metrics]\n"
	     "listen = 127.0.0.1:9464\n"
	     "[log]\n"
	     "level = debug");
	assert_int_equal(config.core.slow_suspend_ns, 60000000);
	assert_int_equal(config.core.max_suspended_ns, 5000000000);
	assert_int_equal(config.core.min_run_ns, 100000000);
	assert_int_equal(config.core.share_window_ns, 2000000000);
	assert_int_equal(config.core.online_weight, 3);
	assert_int_equal(config.core.max_online_overhead, 5);
	assert_false(config.core.hold_over);
	assert_int_equal(config.core.policy.rule, POLICY_deadline);
	assert_int_equal(config.node_count, 1);
	assert_int_equal(config.node[0].gpu_id, 19729);
	assert_int_equal(config.node[0].policy.rule, POLICY_share);
	assert_int_equal(config.node[0].policy.share_percent, 25);
	assert_true(config.authority.has_admin_group);
	assert_int_equal(config.authority.admin_group, 44);
	assert_int_equal(config.authority.count, 2);
	assert_int_equal(config.rules.count, 2);
	assert_string_equal(config.rules.rule[0].name, "serve");
	assert_int_equal(config.rules.rule[0].conditions, RULE_UID | RULE_SHIM);
	assert_int_equal(config.rules.rule[0].effects, RULE_PRIORITY | RULE_SLO);
	assert_int_equal(config.rules.rule[0].priority, 15);
	assert_int_equal(config.rules.rule[0].slo_us, 20000);
	assert_int_equal(config.rules.rule[1].priority, PRIORITY_UNSET);
	assert_int_equal(config.rules.rule[1].level, PROTOCOL_LEVEL_OBSERVE);
	assert_string_equal(config.rules.rule[1].group, "job.1");
	assert_int_equal(config.metrics_port, 9464);
	assert_true(config.verbose);
	/* No value of the previous file remains. */
	good("");
	assert_int_equal(config.rules.count, 0);
	assert_int_equal(config.metrics_port, 0);
	assert_int_equal(config.core.slow_suspend_ns, 50000000);
	good("[scheduler]\n[log]\n[metrics]\nlisten = off");
}

/* A file that was written for an earlier version must not keep the daemon from starting after an
 * upgrade: a retired key is reported and has no effect. */
static void retired(void **state)
{
	(void)state;
	good("[scheduler]\nmin_run = 1s\nmax_holds_per_s = 50\nonline_weight = 3\n");
	is_logged(3, "max_holds_per_s is obsolete and ignored, remove the line");
	is_logged(3, "max_online_overhead");
	assert_int_equal(config.core.online_weight, 3);
	good("[scheduler]\nmax_holds_per_s = a word\n");
	is_logged(2, "is obsolete and ignored");
	good("[scheduler]\nonline_weight = 3\n");
	assert_string_equal(problem, "");
	bad(3, "yes or no", "[scheduler]\nmax_holds_per_s = 50\nhold_over = 1\n");
	bad(2, "unknown key max_holds_per_s", "[log]\nmax_holds_per_s = 50\n");
	bad(2, "share_window, online_weight, ", "[scheduler]\nmax_hold_per_s = 50\n");
}

static void mistakes(void **state)
{
	(void)state;
	bad(2, "known keys are slow_suspend, ", "[scheduler]\nslow_suspnd = 5ms\n");
	bad(2, "(us, ms, s), 1us..60s", "[scheduler]\nslow_suspend = 5\n");
	bad(2, "(us, ms, s), 1us..60s", "[scheduler]\nslow_suspend = 61s\n");
	bad(3, "whole number of microseconds, 1..60000000",
	    "[scheduler]\n; a comment\nslow_suspend_us = 50ms\n");
	bad(2, "0..60000000", "[scheduler]\nmin_run_us = 99999999999999999999\n");
	bad(2, "0..1000", "[scheduler]\nonline_weight = 1001\n");
	bad(2, "0%..100%", "[scheduler]\nmax_online_overhead = 5\n");
	bad(2, "yes or no", "[scheduler]\nhold_over = 1\n");
	bad(3, "is a duplicate key", "[scheduler]\nhold_over = no\nhold_over = no\n");
	bad(1, "[scheduler], [node GPU_ID|all]", "[sched]\nmin_run_us = 1\n");
	/* a wrong section is reported even if it has no keys */
	bad(2, "known sections are [scheduler]", "[log]\n[shceduler]\n");
	bad(1, "unknown section [scheduler x]", "[scheduler x]\n");
	bad(1, "unknown section [rule]", "[rule]\n");
	bad(1, "precedes any section", "min_run_us = 1\n");
	bad(2, "key = value", "[scheduler]\nnonsense\n");
	/* the first mistake is reported */
	bad(2, "key = value", "[scheduler]\nnonsense\nmin_run = nonsense\n");
	bad(1, "key = value", "[scheduler\n");
	bad(2, "must be strict, share, deadline, observe", "[node 1]\npolicy = fair\n");
	bad(2, "1%..99%", "[node 1]\nshare = 100%\n");
	bad(1, "has no policy", "[node 1]\nshare = 10%\n\n\n");
	bad(1, "the gpu_id of a node", "[node gpu0]\npolicy = strict\n");
	bad(3, "is a duplicate section", "[node 1]\npolicy = strict\n[node 1]\npolicy = strict\n");
	bad(3, "is a duplicate section",
	    "[node all]\npolicy = strict\n[node all]\npolicy = strict\n");
	bad(2, "an existing group", "[authority]\nadmin_group = no-such-group\n");
	bad(2, "SUBJECT over TARGET", "[authority]\ngrant = uid 1\n");
	bad(1, "has no condition", "[rule a]\npriority = 1\n");
	bad(2, "has no effect", "\n[rule a]\nuid = 1\n[rule b]\n");
	bad(1, "must be a name", "[rule a/b]\nuid = 1\n");
	bad(4, "is a duplicate section", "[rule a]\nuid = 1\npriority = 1\n[rule a]\n");
	bad(2, "0..15, or none", "[rule a]\npriority = 16\n");
	bad(2, "auto, trap", "[rule a]\nlevel = strap\n");
	bad(2, "at most 63", "[rule a]\ngroup = a b\n");
	bad(2, "1us..4294967295us", "[rule a]\nslo = 2h\n");
	bad(2, "existing users", "[rule a]\nuid = no-such-user\n");
	bad(2, "existing groups", "[rule a]\ngid = no-such-group\n");
	bad(2, "begin with /", "[rule a]\nexecutable = python3\n");
	bad(2, "6 to 64 hexadecimal", "[rule a]\ncontainer = web\n");
	bad(2, "off or 127.0.0.1:PORT", "[metrics]\nlisten = 0.0.0.0:80\n");
	bad(2, "info or debug", "[log]\nlevel = trace\n");
}

static void room(void **state)
{
	static char text[200 * 80];
	size_t used = 0;

	(void)state;
	for (int i = 0; i < 65; i++)
		used += (size_t)sprintf(text + used, "[rule r%d]\nuid = 1\npriority = 1\n", i);
	bad(64 * 3 + 1, "at most 64 rules", text);
	*strstr(text, "[rule r64]") = '\0';
	good(text);
	used = 0;
	for (int i = 1; i <= 129; i++)
		used += (size_t)sprintf(text + used, "[node %d]\npolicy = strict\n", i);
	bad(128 * 2 + 1, "at most 128 nodes", text);
}

static void no_text(void **state)
{
	static char huge[CONFIG_BYTES_MAX + 1];
	char line[400];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "[log]\nlevel = ", 14);
	line[sizeof(line) - 1] = '\0';
	bad(2, "longer than 197 characters", line);
	line[6 + CONFIG_LINE_MAX] = '\0';
	bad(2, "info or debug", line);
	write_file("[log]\n\0level = info\n", 20);
	assert_int_equal(config_load(path, &config, problem, sizeof(problem)), -EINVAL);
	is_logged(2, "0x00: not a text file");
	write_file("\x7f"
		   "ELF\x02\x01",
		   6);
	assert_int_equal(config_load(path, &config, problem, sizeof(problem)), -EINVAL);
	is_logged(1, "not a text file");
	memset(huge, '\n', sizeof(huge));
	write_file(huge, sizeof(huge));
	assert_int_equal(config_load(path, &config, problem, sizeof(problem)), -EINVAL);
	is_logged(0, "larger than 1 MiB");
	write_file(huge, sizeof(huge) - 1);
	assert_int_equal(config_load(path, &config, problem, sizeof(problem)), 0);
}

static void no_file(void **state)
{
	(void)state;
	unlink(path);
	assert_int_equal(config_load(path, &config, problem, sizeof(problem)), -ENOENT);
	is_logged(0, "No such file");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(config_load(path, &config, problem, sizeof(problem)), -EINVAL);
	is_logged(0, "is a directory");
	rmdir(path);
	/* config_load() does not block on a FIFO without a writer */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(config_load(path, &config, problem, sizeof(problem)), -EINVAL);
	is_logged(0, "not a regular file");
	unlink(path);
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/a.ini", directory);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),    cmocka_unit_test(words),   cmocka_unit_test(all_of_it),
		cmocka_unit_test(mistakes), cmocka_unit_test(room),    cmocka_unit_test(no_text),
		cmocka_unit_test(no_file),  cmocka_unit_test(retired),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
