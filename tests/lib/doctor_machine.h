/* SPDX-License-Identifier: MIT */
/*
 * Fixture of the tests of `kfdsched doctor`: the facts of a machine without faults, which a test
 * changes, and assertions on the resulting findings. Include it after cmocka.h.
 */
#ifndef TESTS_LIB_DOCTOR_MACHINE_H
#define TESTS_LIB_DOCTOR_MACHINE_H

#include <stdio.h>
#include <string.h>

#include "cli/doctor/checks.h"
#include "kfd/uapi.h"

#define GPU 19729
#define GIB (1ll << 30)

static struct doctor_node nodes[2];
static struct doctor_process processes[3];

/* Returns the facts of a machine without faults, with one MI210 and no processes. The facts
 * point to the static arrays above, so a second call overwrites the node and the processes of
 * the first. */
static inline struct doctor_facts good(void)
{
	struct doctor_facts f;

	doctor_facts_init(&f);
	strcpy(f.release, "6.12.110");
	f.module = DOCTOR_YES;
	f.out_of_tree = DOCTOR_NO;
	f.cwsr_enable = 1;
	f.sched_policy = 0;
	f.kfd_error = 0;
	strcpy(f.kfd_group_name, "render");
	f.kfd_major = 1;
	f.kfd_minor = 17;
	nodes[0] = (struct doctor_node){
		.gpu_id = GPU,
		.gfx_target_version = 90010,
		.capability = KFDABI_CAP_DEBUG | KFDABI_CAP_FIRMWARE_DEBUG,
		.render_minor = 128,
		.queue_slots = 24,
		.compute_queues = 3,
		.cwsr_size = 63508480,
		.vram_bytes = 64 * GIB,
		.card_vram_bytes = 64 * GIB,
		.card_vram_used = 3 * GIB,
		.xccs = 1,
		.policy = "strict",
	};
	f.nodes = nodes;
	f.node_count = 1;
	f.uid = 1000;
	strcpy(f.user, "somebody");
	f.sys_ptrace = DOCTOR_NO;
	f.yama = 1;
	f.ptrace_error = 0;
	f.initial_pid_namespace = DOCTOR_YES;
	f.daemon = (struct doctor_daemon){.socket = "/run/kfdsched/socket",
					  .reply_us = 300,
					  .pid = 10,
					  .worker_pid = 11,
					  .here = DOCTOR_YES,
					  .uptime_us = 5000000,
					  .sys_ptrace = DOCTOR_YES,
					  .room = -1,
					  .open_files = 65536};
	strcpy(f.shim, "/usr/lib/libkfdshim.so");
	strcpy(f.agent, "/usr/lib/libkfdshim-agent.so");
	f.preload_works = f.agent_works = DOCTOR_YES;
	strcpy(f.runtime_dir, "/run/user/1000/kfdshim");
	f.shm_error = f.eventfd_error = 0;
	f.open_files = 1024;
	strcpy(f.rocr, "/usr/lib/libhsa-runtime64.so.1.13.0");
	memset(processes, 0, sizeof(processes));
	f.processes = processes;
	return f;
}

/* Returns the finding of that check; fails the test if there is none. */
static inline const struct doctor_finding *find(const struct doctor_findings *findings,
						enum doctor_check check)
{
	const struct doctor_finding *found = doctor_find(findings, check);

	if (!found)
		fail_msg("no line about %s", doctor_check_name(check));
	return found;
}

/* Asserts that each finding is well formed: it has an advice exactly if it is a warning or a
 * missing part (an unknown one may have an advice), and a text of what was found. The text of an
 * unknown fact contains "-". */
static inline void check_lines(const struct doctor_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *f = &findings->list[i];
		bool amiss = f->verdict == DOCTOR_WARNING || f->verdict == DOCTOR_MISSING;

		if (f->verdict == DOCTOR_CANNOT_KNOW ? !strchr(f->found, '-') : !f->found[0])
			fail_msg("%s: found '%s'", doctor_check_name(f->check), f->found);
		if (amiss != (f->advice[0] != '\0') && f->verdict != DOCTOR_CANNOT_KNOW)
			fail_msg("%s (%s): advice '%s'", doctor_check_name(f->check), f->found,
				 f->advice);
	}
}

#endif
