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
	strcpy(facts.release, "6.1.0-31-amd64");
	facts.kfd_major = facts.kfd_minor = -1;
}
static void old_kfd(void)
{
	facts.kfd_minor = 12;
}
static void no_cwsr(void)
{
	facts.cwsr_enable = 0;
}
static void no_cwsr_on_it(void)
{
	facts.nodes[0].cwsr_size = 0;
}
static void no_firmware(void)
{
	facts.sched_policy = 2;
}
static void no_debugging(void)
{
	facts.nodes[0].capability = 0;
}
static void yama_3(void)
{
	facts.yama = 3;
	facts.ptrace_error = EPERM;
	reason_set(&p->reason, REASON_yama_forbids, PID, 0, NULL);
}
static void yama_2(void)
{
	facts.yama = 2;
	facts.ptrace_error = EPERM;
	facts.daemon.sys_ptrace = DOCTOR_NO;
	reason_set(&p->reason, REASON_yama_restricts, PID, 0, "2");
}
static void debugger(void)
{
	p->tracer = 77;
	strcpy(p->tracer_name, "gdb");
	reason_set(&p->reason, REASON_traced, PID, 0, "77");
}
static void no_right(void)
{
	facts.daemon.sys_ptrace = DOCTOR_NO;
	facts.named.identity.uid = 7;
	reason_set(&p->reason, REASON_no_right_to_trace, PID, 0, NULL);
}
static void other_namespace(void)
{
	facts.daemon.sys_ptrace = DOCTOR_NO;
	facts.named.same_user_namespace = DOCTOR_NO;
	reason_set(&p->reason, REASON_no_right_to_trace, PID, 0, NULL);
}
static void not_dumpable(void)
{
	facts.daemon.sys_ptrace = DOCTOR_NO;
	facts.named.dumpable = DOCTOR_NO;
	reason_set(&p->reason, REASON_no_right_to_trace, PID, 0, NULL);
}
static void sandbox(void)
{
	facts.ptrace_error = EPERM;
	reason_set(&p->reason, REASON_no_right_to_trace, PID, 0, NULL);
}
static void one_session(void)
{
	facts.nodes[0].gfx_target_version = 90008;
	facts.process_count = 2;
	processes[1] = *p;
	processes[1].pid = 5;
	strcpy(processes[1].comm, "other");
	processes[1].level = LEVEL_TRAP;
	reason_set(&p->reason, REASON_gpu_busy, PID, 0, NULL);
}
static void rocgdb(void)
{
	reason_set(&p->reason, REASON_session_exists, PID, 0, NULL);
}
static void never_enabled(void)
{
	p->runtime = DOCTOR_NO;
	reason_set(&p->reason, REASON_runtime_never, 0, 0, "x");
}
static void slow(void)
{
	p->level = LEVEL_OBSERVE;
	reason_set(&p->reason, REASON_suspend_slow, 0, 0, "60000 us");
}
static void drm(void)
{
	p->level = LEVEL_TRAP;
	p->drm_queues = 2;
}

static void test_one_by_one(void **state)
{
	static const struct {
		void (*spoil)(void);
		enum doctor_check check;
		const char *advice, *trap_why;
		enum diagnose_can trap, self;
	} cases[] = {
		{old_kernel, CHECK_kernel, "Linux 6.5", "cannot suspend queues", DIAGNOSE_NO,
		 DIAGNOSE_NO},
		{old_kfd, CHECK_kfd_version, "Linux 6.5", "KFD 1.12", DIAGNOSE_NO, DIAGNOSE_NO},
		{no_cwsr, CHECK_cwsr, "/etc/modprobe.d", "cwsr_enable=0", DIAGNOSE_NO, DIAGNOSE_NO},
		{no_cwsr_on_it, CHECK_cwsr, "KFDSHIM_LEVEL=gate", "cwsr_size 0", DIAGNOSE_NO,
		 DIAGNOSE_NO},
		{no_firmware, CHECK_sched_policy, "sched_policy=2", "without firmware", DIAGNOSE_NO,
		 DIAGNOSE_NO},
		{no_debugging, CHECK_debugging, "KFDSHIM_LEVEL=gate", "does not support debugging",
		 DIAGNOSE_NO, DIAGNOSE_NO},
		{yama_3, CHECK_yama, "/etc/sysctl.d", "tracing is forbidden", DIAGNOSE_NO,
		 DIAGNOSE_YES},
		{yama_2, CHECK_yama, "with CAP_SYS_PTRACE", "tracing needs CAP_SYS_PTRACE",
		 DIAGNOSE_NO, DIAGNOSE_YES},
		{debugger, CHECK_tracer, "end it", "gdb (process 77) traces it", DIAGNOSE_NO,
		 DIAGNOSE_YES},
		{no_right, CHECK_sys_ptrace, "start kfdschedd as root", "not have CAP_SYS_PTRACE",
		 DIAGNOSE_NO, DIAGNOSE_YES},
		{other_namespace, CHECK_user_namespace, "outside the container", "CAP_SYS_PTRACE",
		 DIAGNOSE_NO, DIAGNOSE_YES},
		{not_dumpable, CHECK_dumpable, "as root", "CAP_SYS_PTRACE", DIAGNOSE_NO,
		 DIAGNOSE_YES},
		{sandbox, CHECK_ptrace, "--cap-add SYS_PTRACE", "seccomp", DIAGNOSE_NO,
		 DIAGNOSE_YES},
		{one_session, CHECK_session, "gate", "process 5 (other)", DIAGNOSE_NO, DIAGNOSE_NO},
		{rocgdb, CHECK_level, "rocgdb", "debug session already", DIAGNOSE_NO, DIAGNOSE_NO},
		{never_enabled, CHECK_level, "kfdsched run", "can no longer be enabled",
		 DIAGNOSE_NO, DIAGNOSE_NO},
		{slow, CHECK_level, "restart it", "60000 us", DIAGNOSE_NO, DIAGNOSE_YES},
		{drm, CHECK_drm_queues, "HSA_ENABLE_DRM_DEBUG", "", DIAGNOSE_NOW, DIAGNOSE_YES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		end(NULL);
		begin(NULL);
		p->level = LEVEL_GATE;
		cases[i].spoil();
		evaluate();
		if (!strstr(obstacle(cases[i].check)->advice, cases[i].advice))
			fail_msg("%s: advice '%s'", doctor_check_name(cases[i].check),
				 obstacle(cases[i].check)->advice);
		expect_level(LEVEL_TRAP, cases[i].trap, cases[i].trap_why);
		expect_level(LEVEL_SELF, cases[i].self, "");
		if (p->level == LEVEL_GATE)
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
	assert_int_equal(got.level, LEVEL_TRAP);
	for (size_t i = 0; i < got.findings.count; i++)
		assert_int_not_equal(got.findings.list[i].check, CHECK_session);
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
