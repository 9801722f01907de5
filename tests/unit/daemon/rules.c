// SPDX-License-Identifier: MIT
/* Proves: which [rule] applies to a process and which grants concern it. Each condition is tested
 * alone and combined with others; an unknown attribute matches no condition; the first matching
 * rule wins. Also proves that the attributes of this process are read correctly, and the cgroup
 * paths that container runtimes create. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka.h needs some of the headers above */
#include <cmocka.h>
/* clang-format on */

#include "common/proc.h"
#include "scheduler/daemon/config/match_rules.h"
#define ID "3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef"

static struct rules rules;
static struct authority authority;
static struct proc_attrs subject;
static struct rule_match verdict;

static int fresh(void **state)
{
	(void)state;
	memset(&rules, 0, sizeof(rules));
	memset(&authority, 0, sizeof(authority));
	subject = (struct proc_attrs){
		.pid = 7,
		.uid = 1000,
		.gids = {1000, 44, 109},
		.gid_count = 3,
		.native = true,
		.shim = true,
		.cgroup = "/user.slice/docker-" ID ".scope",
		.exe = "/usr/bin/python3.11",
		.container = ID,
	};
	return 0;
}

/* Adds a rule that sets a priority. */
static struct rule *rule(const char *name, uint32_t conditions)
{
	struct rule *r = &rules.rule[rules.count++];

	snprintf(r->name, sizeof(r->name), "%s", name);
	r->conditions = conditions;
	r->effects = RULE_PRIORITY;
	r->priority = 5;
	return r;
}

/* Returns whether the only rule matches `subject`. */
static bool applies(void)
{
	bool does = rules_match(&rules, &subject, &verdict);

	assert_int_equal(does, verdict.rule[0] != '\0');
	return does;
}

static void users_and_groups(void **state)
{
	struct rule *r = rule("a", RULE_UID);

	(void)state;
	assert_true(rule_take(r, RULE_UID, "12, 1000"));
	assert_true(applies());
	subject.uid = 1001;
	assert_false(applies());
	r->conditions = RULE_GID;
	assert_true(rule_take(r, RULE_GID, "109,7"));
	assert_true(applies());
	subject.gid_count = 2; /* 109 was the third group id */
	assert_false(applies());
}

static void patterns(void **state)
{
	struct rule *r = rule("a", RULE_CGROUP);

	(void)state;
	assert_true(rule_take(r, RULE_CGROUP, "/system.slice/*, /user.slice/docker-*"));
	assert_true(applies());
	strcpy(subject.cgroup, "/other/user.slice/docker-1");
	assert_false(applies());
	strcpy(subject.cgroup, "/system.slice/a.service/b/c"); /* a * also matches / */
	assert_true(applies());
	r->conditions = RULE_EXECUTABLE;
	assert_true(rule_take(r, RULE_EXECUTABLE, "/usr/bin/python3.1[0-9]"));
	assert_true(applies());
	strcpy(subject.exe, "/tmp/usr/bin/python3.11");
	assert_false(applies());
	r->conditions = RULE_CONTAINER;
	assert_true(rule_take(r, RULE_CONTAINER, "ffffff,3f2a9c0d1e4b"));
	assert_true(applies());
	subject.container[0] = 'a';
	assert_false(applies());
}

static void what_is_not_known_fits_nothing(void **state)
{
	struct rule *r = rule("a", RULE_CGROUP);

	(void)state;
	assert_true(rule_take(r, RULE_CGROUP, "/*"));
	assert_true(applies());
	subject.cgroup[0] = '\0';
	assert_false(applies());
	r->conditions = RULE_EXECUTABLE;
	assert_true(rule_take(r, RULE_EXECUTABLE, "/*"));
	subject.exe[0] = '\0';
	assert_false(applies());
	r->conditions = RULE_CONTAINER;
	assert_true(rule_take(r, RULE_CONTAINER, "3f2a9c"));
	subject.container[0] = '\0';
	assert_false(applies());
}

static void all_conditions_hold(void **state)
{
	struct rule *r = rule("a", RULE_UID | RULE_SHIM);

	(void)state;
	assert_true(rule_take(r, RULE_UID, "1000"));
	r->shim = false;
	assert_false(applies());
	subject.shim = false;
	assert_true(applies());
	subject.uid = 0;
	assert_false(applies());
}

static void the_first_is_the_one(void **state)
{
	struct rule *none = rule("none", RULE_UID), *first = rule("first", RULE_SHIM);

	(void)state;
	rule("second", RULE_SHIM)->shim = true;
	assert_true(rule_take(none, RULE_UID, "1"));
	first->shim = true;
	first->effects = RULE_PRIORITY | RULE_LEVEL | RULE_GROUP | RULE_SLO;
	first->priority = 3;
	first->level = PROTOCOL_LEVEL_GATE;
	first->slo_us = 20000;
	strcpy(first->group, "job");
	assert_true(applies());
	assert_string_equal(verdict.rule, "first");
	assert_int_equal(verdict.effects, first->effects);
	assert_int_equal(verdict.priority, 3);
	assert_int_equal(verdict.level, PROTOCOL_LEVEL_GATE);
	assert_int_equal(verdict.slo_us, 20000);
	assert_string_equal(verdict.group, "job");
	subject.shim = false;
	assert_false(applies());
	assert_int_equal(verdict.effects, 0);
}

static void lists_have_bounds(void **state)
{
	static struct rule r;

	(void)state;
	assert_true(rule_take(&r, RULE_UID, "1,2,3,4,5,6,7,8"));
	assert_false(rule_take(&r, RULE_UID, "1,2,3,4,5,6,7,8,9"));
	assert_false(rule_take(&r, RULE_UID, "1,,2"));
	assert_false(rule_take(&r, RULE_UID, ""));
	assert_false(rule_take(&r, RULE_UID, "nobody-of-that-name"));
	assert_true(rule_take(&r, RULE_UID, "root"));
	assert_int_equal(r.uids.id[0], 0);
	assert_false(rule_take(&r, RULE_UID, "4294967295")); /* (uid_t)-1 means "no user" */
	assert_false(rule_take(&r, RULE_CGROUP, "*"));
	assert_false(rule_take(&r, RULE_CGROUP, "/a,b"));
	assert_false(rule_take(&r, RULE_CONTAINER, "3f2a9"));
	assert_false(rule_take(&r, RULE_CONTAINER, "3F2A9C"));
	assert_false(rule_take(&r, RULE_CONTAINER, ID "0"));
	assert_true(rule_take(&r, RULE_CONTAINER, ID));
}

static void has(uint64_t preemptor, uint64_t victim)
{
	uint64_t is_preemptor, is_victim;

	authority_match(&authority, &subject, &is_preemptor, &is_victim);
	assert_int_equal(is_preemptor, preemptor);
	assert_int_equal(is_victim, victim);
}

static void grants(void **state)
{
	(void)state;
	assert_true(rules_take_grant(&authority, "uid 1000 over uid 1001"));
	assert_true(rules_take_grant(&authority, "gid 44  over  cgroup /user.slice/*"));
	assert_true(rules_take_grant(&authority, "cgroup /kubepods over all"));
	has(1 | 2, 2 | 4);
	subject.uid = 1001;
	has(2, 1 | 2 | 4);
	/* The root of every container has uid 0, so a uid in a grant means the host's user only. */
	subject.native = false;
	has(0, 2 | 4);
	subject.cgroup[0] = '\0';
	has(0, 4);
	strcpy(subject.cgroup, "/kubepods");
	has(4, 4);
	for (const char **bad =
		     (const char *[]){"uid 1", "uid 1 over", "over uid 1", "uid over all",
				      "uid 1 over uid", "uid 1 over everybody", "cgroup a over all",
				      "uid 1 and uid 2 over all", "executable /x over all", NULL};
	     *bad; bad++)
		assert_false(rules_take_grant(&authority, *bad));
	assert_int_equal(authority.count, 3);
	while (authority.count < GRANTS_MAX)
		assert_true(rules_take_grant(&authority, "all over all"));
	assert_false(rules_take_grant(&authority, "all over all"));
}

static void cgroup_is(const char *text, const char *path)
{
	char out[SUBJECT_PATH];

	cgroup_path(text, out, sizeof(out));
	assert_string_equal(out, path);
}

static void cgroups_of_all_kinds(void **state)
{
	static char text[2 * SUBJECT_PATH] = "0::/";
	char id[CONTAINER_ID + 1];

	(void)state;
	cgroup_is("0::/user.slice/a:b\n", "/user.slice/a:b");
	cgroup_is("0::/\n", "/");
	cgroup_is("12:pids:/v1/a\n1:name=systemd:/v1/b\n0::/\n", "/v1/a");
	cgroup_is("12:pids:/\n1:name=systemd:/v1/b\n0::/v2\n", "/v2");
	cgroup_is("", "");
	cgroup_is("nonsense\n0::\n:\n", "");
	memset(text + 4, 'x', sizeof(text) - 5);
	cgroup_is(text, "");

	cgroup_container_id("/kubepods.slice/pod1/cri-containerd-" ID ".scope", id);
	assert_string_equal(id, ID);
	cgroup_container_id("/docker/" ID, id);
	assert_string_equal(id, ID);
	cgroup_container_id("/docker/" ID "0", id);
	assert_string_equal(id, "");
	cgroup_container_id("/user.slice/user-1000.slice", id);
	assert_string_equal(id, "");
}

static void this_process(void **state)
{
	char exe[SUBJECT_PATH] = "";
	pid_t pid;

	(void)state;
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(subject_read(getpid(), &subject), 0);
	assert_int_equal(subject.uid, geteuid());
	assert_int_equal(subject.gids[0], getegid());
	assert_string_equal(subject.exe, exe);
	assert_true(subject.native);
	assert_int_equal(subject.cgroup[0], '/');
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(subject_read(pid, &subject), -ESRCH);
}

#define T(f) cmocka_unit_test_setup(f, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(users_and_groups),
		T(patterns),
		T(what_is_not_known_fits_nothing),
		T(all_conditions_hold),
		T(the_first_is_the_one),
		T(lists_have_bounds),
		T(grants),
		T(cgroups_of_all_kinds),
		T(this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
