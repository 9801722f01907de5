// SPDX-License-Identifier: MIT
/*
 * Proves doctor's checks on made-up machines: each fault changes only its own line, with one
 * advice, and an unknown fact is never taken for a fault.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/util/read_files.h"
#include "tests/lib/doctor_machine.h"

static void test_good_machine(void **state)
{
	struct doctor_facts f = good();
	struct doctor_findings findings;

	(void)state;
	doctor_check(&f, &findings);
	check_lines(&findings);
	for (size_t i = 0; i < findings.count; i++)
		if (findings.list[i].verdict != DOCTOR_OK)
			fail_msg("%s: %s", doctor_check_name(findings.list[i].check),
				 findings.list[i].found);
	assert_true(doctor_usable(&findings));
	assert_true(findings.count > 20);
	doctor_findings_free(&findings);
}

/* Each function adds one fault. */
static void old_kernel(struct doctor_facts *f)
{
	strcpy(f->release, "6.1.0-31-amd64");
	f->kfd_major = f->kfd_minor = -1;
}
static void old_kfd(struct doctor_facts *f)
{
	strcpy(f->release, "6.1.0-31-amd64");
	f->kfd_minor = 12;
}
static void no_module(struct doctor_facts *f)
{
	f->module = DOCTOR_NO;
}
static void out_of_tree(struct doctor_facts *f)
{
	f->out_of_tree = DOCTOR_YES;
	strcpy(f->driver_version, "6.12.12");
}
static void no_device(struct doctor_facts *f)
{
	f->kfd_error = ENOENT;
}
static void no_group(struct doctor_facts *f)
{
	f->kfd_error = EACCES;
}
static void no_cwsr(struct doctor_facts *f)
{
	f->cwsr_enable = 0;
}
static void no_cwsr_on_it(struct doctor_facts *f)
{
	f->nodes[0].cwsr_size = 0;
}
static void no_firmware(struct doctor_facts *f)
{
	f->sched_policy = 2;
}
static void no_gpu(struct doctor_facts *f)
{
	f->node_count = 0;
}
static void forbidden_gpus(struct doctor_facts *f)
{
	f->node_count = 0;
	f->forbidden_nodes = 8;
}
static void old_gpu(struct doctor_facts *f)
{
	f->nodes[0].gfx_target_version = 80003;
	f->nodes[0].capability |= KFDABI_CAP_DEBUG;
}
static void no_render(struct doctor_facts *f)
{
	f->nodes[0].render_error = EACCES;
}
static void no_debugging(struct doctor_facts *f)
{
	f->nodes[0].capability = 0;
}
static void one_session(struct doctor_facts *f)
{
	f->nodes[0].gfx_target_version = 90008;
}
static void old_firmware(struct doctor_facts *f)
{
	f->nodes[0].capability = KFDABI_CAP_DEBUG;
}
static void many_queues(struct doctor_facts *f)
{
	f->nodes[0].compute_queues = 25;
}
static void full_memory(struct doctor_facts *f)
{
	f->nodes[0].card_vram_used = 63 * GIB;
}
static void card_without_node(struct doctor_facts *f)
{
	f->cards[0] = (struct doctor_card){.bdf = "0000:05:00.0", .render_minor = 130};
	f->card_count = 1;
}
static void only_observed(struct doctor_facts *f)
{
	strcpy(f->nodes[0].policy, "observe");
}
static void yama_3(struct doctor_facts *f)
{
	f->yama = 3;
	f->ptrace_error = EPERM;
}
static void no_ptrace(struct doctor_facts *f)
{
	f->ptrace_error = EPERM;
}
static void weak_daemon(struct doctor_facts *f)
{
	f->daemon.sys_ptrace = DOCTOR_NO;
}
static void in_container(struct doctor_facts *f)
{
	f->initial_pid_namespace = DOCTOR_NO;
}
static void hidden_proc(struct doctor_facts *f)
{
	strcpy(f->hidepid, "2");
}
static void no_daemon(struct doctor_facts *f)
{
	f->daemon.error = ENOENT;
	f->sys_ptrace = DOCTOR_YES;
}
static void daemon_elsewhere(struct doctor_facts *f)
{
	no_daemon(f);
	f->daemon.other_pid = 99;
}
static void daemon_hangs(struct doctor_facts *f)
{
	no_daemon(f);
	f->daemon.error = EAGAIN;
}
static void daemon_of_another_version(struct doctor_facts *f)
{
	no_daemon(f);
	f->daemon.error = EPROTO;
}
static void slow_worker(struct doctor_facts *f)
{
	f->daemon.reply_us = 1500000;
}
static void failures(struct doctor_facts *f)
{
	f->daemon.failures = 2;
}
static void restarts(struct doctor_facts *f)
{
	f->daemon.restarts = 3;
}
static void refused_calls(struct doctor_facts *f)
{
	f->daemon.refused_calls = 1;
}
static void refused_clients(struct doctor_facts *f)
{
	f->daemon.refused = 7;
}
static void no_room(struct doctor_facts *f)
{
	f->daemon.room = 10;
}
static void full_of_containers(struct doctor_facts *f)
{
	f->daemon.elsewhere = 65536;
}
static void few_files(struct doctor_facts *f)
{
	f->daemon.open_files = 100;
}
static void no_shim(struct doctor_facts *f)
{
	f->shim[0] = f->agent[0] = '\0';
}
static void bad_preload(struct doctor_facts *f)
{
	f->preload_works = DOCTOR_NO;
	strcpy(f->preload_problem, "wrong ELF class");
}
static void no_agent(struct doctor_facts *f)
{
	f->agent[0] = '\0';
}
static void bad_agent(struct doctor_facts *f)
{
	f->agent_works = DOCTOR_NO;
	strcpy(f->agent_problem, "libx.so is not found");
}
static void bad_dir(struct doctor_facts *f)
{
	strcpy(f->runtime_problem, "belongs to uid 0");
}
static void taken_dir(struct doctor_facts *f)
{
	strcpy(f->runtime_dir, "/dev/shm/kfdshim-1000");
	strcpy(f->runtime_problem, "belongs to uid 1001");
	f->runtime_taken = true;
}
static void no_memfd(struct doctor_facts *f)
{
	f->shm_error = EACCES;
}
static void own_few_files(struct doctor_facts *f)
{
	f->open_files = 32;
}
static void old_rocr(struct doctor_facts *f)
{
	strcpy(f->rocr, "/usr/lib/libhsa-runtime64.so.1.5.0");
}
static void disabled(struct doctor_facts *f)
{
	f->env_disabled = true;
}
static void wrong_variable(struct doctor_facts *f)
{
	strcpy(f->env_wrong, "KFDSHIM_PRIORITY=fast");
}
static void no_interrupts(struct doctor_facts *f)
{
	f->no_interrupts = true;
}
static void other_tool(struct doctor_facts *f)
{
	strcpy(f->tools, "librocprofiler-sdk.so");
}

static const struct {
	void (*fault)(struct doctor_facts *f);
	enum doctor_check check;
	enum doctor_verdict verdict;
	const char *advice;
} faults[] = {
	{old_kernel, CHECK_kernel, DOCTOR_MISSING, "Linux 6.5"},
	{old_kfd, CHECK_kfd_version, DOCTOR_MISSING, "KFD 1.13"},
	{no_module, CHECK_driver, DOCTOR_MISSING, "modprobe amdgpu"},
	{out_of_tree, CHECK_driver, DOCTOR_WARNING, "kfdconform"},
	{no_device, CHECK_kfd_device, DOCTOR_MISSING, "--device /dev/kfd"},
	{no_group, CHECK_kfd_device, DOCTOR_MISSING, "usermod -aG render somebody"},
	{no_cwsr, CHECK_cwsr, DOCTOR_MISSING, "cwsr_enable"},
	{no_cwsr_on_it, CHECK_cwsr, DOCTOR_MISSING, "KFDSHIM_LEVEL=gate"},
	{no_firmware, CHECK_sched_policy, DOCTOR_MISSING, "sched_policy=2"},
	{no_gpu, CHECK_gpu, DOCTOR_MISSING, "kfdsim"},
	{forbidden_gpus, CHECK_gpu, DOCTOR_MISSING, "device rules"},
	{old_gpu, CHECK_gpu, DOCTOR_MISSING, "gfx900"},
	{no_render, CHECK_render_node, DOCTOR_MISSING, "usermod -aG render somebody"},
	{no_debugging, CHECK_debugging, DOCTOR_MISSING, "KFDSHIM_LEVEL=gate"},
	{one_session, CHECK_debugging, DOCTOR_WARNING, "one process"},
	{old_firmware, CHECK_debugging, DOCTOR_WARNING, "linux-firmware"},
	{many_queues, CHECK_queue_slots, DOCTOR_WARNING, "GPU_MAX_HW_QUEUES"},
	{full_memory, CHECK_vram, DOCTOR_WARNING, "KFDSHIM_VRAM_LIMIT"},
	{card_without_node, CHECK_card, DOCTOR_WARNING, "dmesg"},
	{only_observed, CHECK_policy, DOCTOR_WARNING, "kfdsched policy"},
	{yama_3, CHECK_yama, DOCTOR_WARNING, "kernel.yama.ptrace_scope"},
	{no_ptrace, CHECK_ptrace, DOCTOR_WARNING, "SYS_PTRACE"},
	{weak_daemon, CHECK_sys_ptrace, DOCTOR_WARNING, "root"},
	{in_container, CHECK_pid_namespace, DOCTOR_WARNING, "on the host"},
	{hidden_proc, CHECK_hidepid, DOCTOR_WARNING, "root"},
	{no_daemon, CHECK_daemon, DOCTOR_WARNING, "start one as root"},
	{daemon_elsewhere, CHECK_daemon, DOCTOR_WARNING, "kfdschedd 99 listens at another socket"},
	{daemon_hangs, CHECK_daemon, DOCTOR_MISSING, "restart it"},
	{daemon_of_another_version, CHECK_daemon, DOCTOR_MISSING, "one build"},
	{slow_worker, CHECK_worker, DOCTOR_WARNING, "real-time"},
	{failures, CHECK_suspends, DOCTOR_WARNING, "log"},
	{restarts, CHECK_worker, DOCTOR_WARNING, "log for the reason"},
	{refused_calls, CHECK_refused_calls, DOCTOR_WARNING, "report"},
	{refused_clients, CHECK_connections, DOCTOR_WARNING, "LimitNOFILE"},
	{no_room, CHECK_connections, DOCTOR_WARNING, "LimitNOFILE"},
	{full_of_containers, CHECK_connections, DOCTOR_WARNING, "LimitNOFILE"},
	{few_files, CHECK_connections, DOCTOR_WARNING, "LimitNOFILE"},
	{no_shim, CHECK_shim, DOCTOR_MISSING, "install"},
	{bad_preload, CHECK_shim, DOCTOR_MISSING, "noexec"},
	{no_agent, CHECK_agent, DOCTOR_MISSING, "install"},
	{bad_agent, CHECK_agent, DOCTOR_MISSING, "one build"},
	{bad_dir, CHECK_runtime_folder, DOCTOR_WARNING, "XDG_RUNTIME_DIR"},
	{taken_dir, CHECK_runtime_folder, DOCTOR_WARNING, "as root: rm -r /dev/shm/kfdshim-1000"},
	{no_memfd, CHECK_memory_files, DOCTOR_MISSING, "memfd_noexec"},
	{own_few_files, CHECK_open_files, DOCTOR_WARNING, "ulimit -n"},
	{old_rocr, CHECK_rocr, DOCTOR_WARNING, "shim"},
	{disabled, CHECK_environment, DOCTOR_MISSING, "unset"},
	{wrong_variable, CHECK_environment, DOCTOR_WARNING, "docs/reference/environment.md"},
	{no_interrupts, CHECK_interrupts, DOCTOR_WARNING, "gate"},
	{other_tool, CHECK_tools, DOCTOR_WARNING, "profiler"},
};

static void test_each_fault_has_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct doctor_facts f = good();
		struct doctor_findings findings;

		faults[i].fault(&f);
		doctor_check(&f, &findings);
		check_lines(&findings);
		for (size_t n = 0; n < findings.count; n++) {
			const struct doctor_finding *line = &findings.list[n];
			bool its = line->check == faults[i].check;

			if (its && line->verdict != faults[i].verdict)
				fail_msg("%s: %s", doctor_check_name(line->check), line->found);
			if (its && !strstr(line->advice, faults[i].advice))
				fail_msg("%s: %s", doctor_check_name(line->check), line->advice);
			if (!its && line->verdict != DOCTOR_OK &&
			    line->verdict != DOCTOR_CANNOT_KNOW)
				fail_msg("%s for %s: %s", doctor_check_name(line->check),
					 doctor_check_name(faults[i].check), line->found);
		}
		find(&findings, faults[i].check);
		assert_int_equal(doctor_usable(&findings), faults[i].verdict != DOCTOR_MISSING);
		doctor_findings_free(&findings);
	}
}

/* No fact could be determined: nothing is reported as missing or as a warning. */
static void test_unknown_is_no_fault(void **state)
{
	struct doctor_findings findings;
	struct doctor_facts f;

	(void)state;
	doctor_facts_init(&f);
	nodes[0] = (struct doctor_node){.gpu_id = GPU,
					.gfx_target_version = -1,
					.capability = -1,
					.render_minor = -1,
					.render_error = -1,
					.queue_slots = -1,
					.compute_queues = -1,
					.cwsr_size = -1,
					.vram_bytes = -1,
					.card_vram_bytes = -1,
					.card_vram_used = -1,
					.xccs = -1};
	f.nodes = nodes;
	f.node_count = 1;
	strcpy(f.shim, "/l/libkfdshim.so");
	strcpy(f.agent, "/l/libkfdshim-agent.so");
	doctor_check(&f, &findings);
	for (size_t i = 0; i < findings.count; i++)
		if (findings.list[i].verdict == DOCTOR_MISSING ||
		    findings.list[i].verdict == DOCTOR_WARNING)
			fail_msg("%s: %s", doctor_check_name(findings.list[i].check),
				 findings.list[i].found);
	assert_string_equal(find(&findings, CHECK_kernel)->found, "-");
	assert_int_equal(find(&findings, CHECK_cwsr)->verdict, DOCTOR_CANNOT_KNOW);
	assert_int_equal(find(&findings, CHECK_render_node)->verdict, DOCTOR_CANNOT_KNOW);
	assert_int_equal(find(&findings, CHECK_daemon)->verdict, DOCTOR_CANNOT_KNOW);
	doctor_findings_free(&findings);
}

/* Processes in other pid namespaces cannot be listed, but occupy slots of the daemon. */
static void test_processes_elsewhere(void **state)
{
	struct doctor_facts f = good();
	struct doctor_findings findings;

	(void)state;
	f.daemon.elsewhere = 3;
	f.daemon.room = 1024;
	doctor_check(&f, &findings);
	assert_string_equal(
		find(&findings, CHECK_connections)->found,
		"3 processes, 3 of them in other pid namespaces, at most 1024; 0 were refused");
	doctor_findings_free(&findings);
}

static void test_kernel_rules(void **state)
{
	static const struct {
		const char *release, *message;
	} kernels[] = {
		{"6.8.0-40-generic", "6.12.95"},
		{"6.12.95", "6.12.95"},
		{"6.12.107-amd64", "6.12.107"},
		{"7.3.1", "7.3"},
	};
	struct doctor_findings findings;

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		struct doctor_facts f = good();

		strcpy(f.release, kernels[i].release);
		doctor_check(&f, &findings);
		assert_non_null(strstr(find(&findings, CHECK_kernel)->found, kernels[i].message));
		doctor_findings_free(&findings);
		f.simulated = true;
		strcpy(f.simulated_kernel, "6.12.95");
		doctor_check(&f, &findings);
		assert_non_null(strstr(find(&findings, CHECK_kernel)->found, "rules of 6.12.95"));
		assert_non_null(strstr(find(&findings, CHECK_driver)->found, "simulated"));
		doctor_findings_free(&findings);
	}
	/* AMD's driver package on an older kernel. */
	struct doctor_facts f = good();

	strcpy(f.release, "5.15.0-100-generic");
	f.out_of_tree = DOCTOR_YES;
	doctor_check(&f, &findings);
	assert_int_equal(find(&findings, CHECK_kernel)->verdict, DOCTOR_OK);
	assert_true(doctor_usable(&findings));
	doctor_findings_free(&findings);
}

/* A daemon outside the container compensates for what is missing in the container. */
static void test_daemon_outside(void **state)
{
	struct doctor_facts f = good();
	struct doctor_findings findings;

	(void)state;
	f.initial_pid_namespace = DOCTOR_NO;
	f.ptrace_error = EPERM;
	f.daemon.here = DOCTOR_NO;
	f.daemon.sys_ptrace = DOCTOR_UNKNOWN;
	doctor_check(&f, &findings);
	assert_int_equal(find(&findings, CHECK_ptrace)->verdict, DOCTOR_OK);
	assert_int_equal(find(&findings, CHECK_pid_namespace)->verdict, DOCTOR_OK);
	assert_int_equal(find(&findings, CHECK_sys_ptrace)->verdict, DOCTOR_CANNOT_KNOW);
	doctor_findings_free(&findings);

	f = good(); /* without a daemon the directory is needed */
	f.daemon.error = ENOENT;
	strcpy(f.runtime_problem, "belongs to uid 0");
	doctor_check(&f, &findings);
	assert_int_equal(find(&findings, CHECK_runtime_folder)->verdict, DOCTOR_MISSING);
	doctor_findings_free(&findings);
}

static void test_names(void **state)
{
	static const struct {
		int64_t version;
		const char *name;
	} gfx[] = {{90010, "gfx90a"},	{90402, "gfx942"}, {90008, "gfx908"},
		   {110001, "gfx1101"}, {90500, "gfx950"}, {-1, ""}};
	static const struct {
		const char *file, *name;
	} rocr[] = {
		{"/usr/lib/libhsa-runtime64.so.1.5.0", "5.2.3"},
		{"/opt/rocm/lib/libhsa-runtime64.so.1.15.60403", "6.4.3"},
		{"libhsa-runtime64.so.1.99.0", "libhsa-runtime64.so.1.99.0"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(gfx) / sizeof(gfx[0]); i++)
		assert_string_equal(doctor_gfx_name(text, gfx[i].version), gfx[i].name);
	for (size_t i = 0; i < sizeof(rocr) / sizeof(rocr[0]); i++)
		assert_string_equal(doctor_rocr_name(text, rocr[i].file), rocr[i].name);
}

static void test_bytes(void **state)
{
	static const char *const wrong[] = {"", "G", "40g", "40GB", "-1", " 1", "99999999999T"};
	int64_t bytes;

	(void)state;
	assert_int_equal(read_bytes(&bytes, "40G"), 0);
	assert_int_equal(bytes, 40 * GIB);
	assert_int_equal(read_bytes(&bytes, "512"), 0);
	assert_int_equal(bytes, 512);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(read_bytes(&bytes, wrong[i]), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_machine),
		cmocka_unit_test(test_each_fault_has_its_line),
		cmocka_unit_test(test_unknown_is_no_fault),
		cmocka_unit_test(test_processes_elsewhere),
		cmocka_unit_test(test_kernel_rules),
		cmocka_unit_test(test_daemon_outside),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
