// SPDX-License-Identifier: MIT
/*
 * Proves that diagnose reports each obstacle to a better level separately, with the advice that
 * removes it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/diagnosed.h"

/* Each function adds one obstacle to a process that the daemon holds at `level`. */
static void old_kernel(void)
{
	strcpy(facts.machine.release, "6.1.0-31-amd64");
	facts.machine.kfd_major = facts.machine.kfd_minor = -1;
}
static void old_kfd(void)
{
	facts.machine.kfd_minor = 12;
}
static void no_cwsr(void)
{
	facts.machine.cwsr_enable = 0;
}
static void no_cwsr_on_it(void)
{
	facts.machine.nodes[0].cwsr_size = 0;
}
static void no_firmware(void)
{
	facts.machine.sched_policy = 2;
}
static void no_debugging(void)
{
	facts.machine.nodes[0].capability = 0;
}
static void yama_3(void)
{
	facts.machine.yama = 3;
	facts.machine.ptrace_error = EPERM;
	strcpy(p->reason, "process 4711 cannot be traced: kernel.yama.ptrace_scope is 3");
}
static void debugger(void)
{
	p->tracer = 77;
	strcpy(p->tracer_name, "gdb");
	strcpy(p->reason, "process 4711 is traced by thread 77 already");
}
static void no_right(void)
{
	facts.machine.daemon.sys_ptrace = DOCTOR_NO;
	facts.identity.uid = 7;
	strcpy(p->reason, "not allowed to trace process 4711: the daemon needs CAP_SYS_PTRACE");
}
static void other_namespace(void)
{
	facts.machine.daemon.sys_ptrace = DOCTOR_NO;
	facts.same_user_namespace = DOCTOR_NO;
	strcpy(p->reason, "not allowed to trace process 4711: the daemon needs CAP_SYS_PTRACE");
}
static void not_dumpable(void)
{
	facts.machine.daemon.sys_ptrace = DOCTOR_NO;
	facts.dumpable = DOCTOR_NO;
	strcpy(p->reason, "not allowed to trace process 4711: the daemon needs CAP_SYS_PTRACE");
}
static void sandbox(void)
{
	facts.machine.ptrace_error = EPERM;
	strcpy(p->reason, "not allowed to trace process 4711: the daemon needs CAP_SYS_PTRACE");
}
static void one_session(void)
{
	facts.machine.nodes[0].gfx_target_version = 90008;
	facts.machine.process_count = 2;
	processes[1] = *p;
	processes[1].pid = 5;
	strcpy(processes[1].comm, "other");
	strcpy(processes[1].level, "trap");
	strcpy(p->reason, "process 4711 cannot be debugged: its runtime is in state 2 (busy)");
}
static void rocgdb(void)
{
	strcpy(p->reason, "process 4711 has a debug session already (its own, or rocgdb's)");
}
static void never_enabled(void)
{
	strcpy(p->runtime, "never");
	strcpy(p->reason, "its runtime cannot be enabled for debugging");
}
static void slow(void)
{
	strcpy(p->level, "observe");
	strcpy(p->reason, "a suspend took 60000 us");
}
static void drm(void)
{
	strcpy(p->level, "trap");
	p->drm_queues = 2;
}

static void test_one_by_one(void **state)
{
	static const struct {
		void (*spoil)(void);
		const char *check, *advice, *trap_why;
		enum diagnose_can trap, self;
	} cases[] = {
		{old_kernel, "kernel", "Linux 6.5", "cannot suspend queues", DIAGNOSE_NO,
		 DIAGNOSE_NO},
		{old_kfd, "kfd_version", "Linux 6.5", "KFD 1.12", DIAGNOSE_NO, DIAGNOSE_NO},
		{no_cwsr, "cwsr", "/etc/modprobe.d", "cwsr_enable=0", DIAGNOSE_NO, DIAGNOSE_NO},
		{no_cwsr_on_it, "cwsr", "KFDSHIM_LEVEL=gate", "cwsr_size 0", DIAGNOSE_NO,
		 DIAGNOSE_NO},
		{no_firmware, "sched_policy", "sched_policy=2", "without firmware", DIAGNOSE_NO,
		 DIAGNOSE_NO},
		{no_debugging, "debugging", "KFDSHIM_LEVEL=gate", "does not support debugging",
		 DIAGNOSE_NO, DIAGNOSE_NO},
		{yama_3, "yama", "/etc/sysctl.d", "tracing is forbidden", DIAGNOSE_NO,
		 DIAGNOSE_YES},
		{debugger, "tracer", "end it", "gdb (process 77) traces it", DIAGNOSE_NO,
		 DIAGNOSE_YES},
		{no_right, "sys_ptrace", "start kfdschedd as root", "not have CAP_SYS_PTRACE",
		 DIAGNOSE_NO, DIAGNOSE_YES},
		{other_namespace, "user_namespace", "outside the container", "CAP_SYS_PTRACE",
		 DIAGNOSE_NO, DIAGNOSE_YES},
		{not_dumpable, "dumpable", "as root", "CAP_SYS_PTRACE", DIAGNOSE_NO, DIAGNOSE_YES},
		{sandbox, "ptrace", "--cap-add SYS_PTRACE", "seccomp", DIAGNOSE_NO, DIAGNOSE_YES},
		{one_session, "session", "gate", "process 5 (other)", DIAGNOSE_NO, DIAGNOSE_NO},
		{rocgdb, "level", "rocgdb", "debug session already", DIAGNOSE_NO, DIAGNOSE_NO},
		{never_enabled, "level", "kfdsched run", "can no longer be enabled", DIAGNOSE_NO,
		 DIAGNOSE_NO},
		{slow, "level", "restart it", "60000 us", DIAGNOSE_NO, DIAGNOSE_YES},
		{drm, "drm_queues", "HSA_ENABLE_DRM_DEBUG", "", DIAGNOSE_NOW, DIAGNOSE_YES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		end(NULL);
		begin(NULL);
		strcpy(p->level, "gate");
		cases[i].spoil();
		evaluate();
		if (!strstr(obstacle(cases[i].check)->advice, cases[i].advice))
			fail_msg("%s: advice '%s'", cases[i].check,
				 obstacle(cases[i].check)->advice);
		check_level("trap", cases[i].trap, cases[i].trap_why);
		check_level("self", cases[i].self, "");
		if (!strcmp(p->level, "gate"))
			expect_part("can be preempted at level gate; for level trap do: ");
	}
}

/* On a GPU with a single debug session, the process that has the session is not obstructed by
 * it. */
static void test_owner(void **state)
{
	(void)state;
	one_session();
	processes[1].registered = DOCTOR_NO;
	evaluate();
	assert_string_equal(got.level, "trap");
	for (size_t i = 0; i < got.findings.count; i++)
		assert_string_not_equal(got.findings.list[i].check, "session");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_by_one, begin, end),
		cmocka_unit_test_setup_teardown(test_owner, begin, end),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	diagnosis_free(&got);
	return failed;
}
