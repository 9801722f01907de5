/* SPDX-License-Identifier: MIT */
/*
 * What follows from the facts: one finding for each thing that was looked at,
 * with one advice where something is amiss. Pure: no I/O, no clock.
 *
 * Threads: none. Ownership: doctor_findings_free().
 */
#ifndef KFDSHIM_CLI_DOCTOR_JUDGE_H
#define KFDSHIM_CLI_DOCTOR_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/cli/doctor_facts.h"

/* MISSING prevents preemption; WARNING makes it worse, or may prevent it for some. */
enum doctor_verdict { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_MISSING, DOCTOR_CANNOT_KNOW };

struct doctor_finding {
	const char *check; /* a stable name (docs/formats.md) */
	uint32_t gpu_id;   /* 0: not about one GPU */
	int pid;	   /* 0: not about one process */
	enum doctor_verdict verdict;
	char found[320];
	char advice[320]; /* "": nothing to do */
	/* Of check "level" alone: the level that it has, "none", or "-" (not known); and where
	 * in `found` the reason begins, or its end where there is none. */
	const char *level;
	size_t why;
};

struct doctor_findings {
	struct doctor_finding *list;
	size_t count;
	bool failed; /* no memory: some are lost */
};

/* "ok", "warning", "missing", "unknown". */
const char *doctor_verdict_name(enum doctor_verdict verdict);

/* With facts->asked_pid: what concerns that process, and what of the rest is not ok. */
void doctor_judge(const struct doctor_facts *facts, struct doctor_findings *out);
void doctor_findings_free(struct doctor_findings *findings);
/* Can processes be preempted here? No finding is MISSING. */
bool doctor_usable(const struct doctor_findings *findings);

/* "gfx90a"; "" for a version that is not known. */
const char *doctor_gfx_name(char text[16], int64_t gfx_target_version);
/* "6.1.2", or what the file's name tells: of .../libhsa-runtime64.so.1.13.0. */
const char *doctor_rocr_name(char text[64], const char *file);

/* Of a release that never enables debugging by itself: before ROCm 6, as far as known. */
bool doctor_rocr_never_enables(const char *file);

/* Somebody else's debugger traces it: not the daemon. */
bool doctor_is_traced(const struct doctor_facts *facts, const struct doctor_process *process);

/* For the parts of doctor_judge(), each in a file of its own. */
void doctor_find(struct doctor_findings *out, const char *check, uint32_t gpu_id, int pid,
		 enum doctor_verdict verdict, const char *found, ...)
	__attribute__((format(printf, 6, 7)));
/* The advice of the finding that was added last. */
void doctor_advise(struct doctor_findings *out, const char *advice, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_judge_nodes(const struct doctor_facts *facts, struct doctor_findings *out);
void doctor_judge_rights(const struct doctor_facts *facts, struct doctor_findings *out);
/* What concerns programs that are started from here. */
void doctor_judge_environment(const struct doctor_facts *facts, struct doctor_findings *out);
void doctor_judge_processes(const struct doctor_facts *facts, struct doctor_findings *out);

#endif
