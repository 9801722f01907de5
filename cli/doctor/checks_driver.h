/* SPDX-License-Identifier: MIT */
/*
 * Evaluates the facts of facts.h: makes one finding for each check, with one advice if
 * something is wrong. Pure: no I/O, no clock.
 *
 * Threads: none. Ownership: doctor_findings_free() ends a list.
 */
#ifndef KFDSHIM_CLI_DOCTOR_CHECKS_DRIVER_H
#define KFDSHIM_CLI_DOCTOR_CHECKS_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/doctor/facts.h"

/* MISSING prevents preemption. WARNING makes it worse, or may prevent it for some processes. */
enum doctor_verdict { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_MISSING, DOCTOR_CANNOT_KNOW };

struct doctor_finding {
	const char *check; /* stable name (docs/reference/doctor.md) */
	uint32_t gpu_id;   /* 0: not about one GPU */
	int pid;	   /* 0: not about one process */
	enum doctor_verdict verdict;
	char found[320];
	char advice[320]; /* "": nothing to do */
	/* Only of check "level", otherwise NULL: the present level, "none", or "-" (not known). */
	const char *level;
	/* Only of check "level": offset in `found` at which the reason begins; the length of
	 * `found` if there is no reason. */
	size_t why;
};

struct doctor_findings {
	struct doctor_finding *list;
	size_t count;
	bool failed; /* out of memory: some findings are lost */
};

/* Returns "ok", "warning", "missing" or "unknown". */
const char *doctor_verdict_name(enum doctor_verdict verdict);

/* Fills *out with all findings. With facts->chosen_pid set: the findings about that process, and
 * those of the others that are WARNING or MISSING. Sets out->failed if there is no memory. */
void doctor_check(const struct doctor_facts *facts, struct doctor_findings *out);
void doctor_findings_free(struct doctor_findings *findings);
/* Returns true if processes can be preempted on this machine: no finding is MISSING. */
bool doctor_usable(const struct doctor_findings *findings);

/* Writes the name of a GPU version, "gfx90a", into `text` and returns it; "" for a version that
 * is not known. */
const char *doctor_gfx_name(char text[16], int64_t gfx_target_version);
/* Writes the release of the HSA runtime in `file` into `text` and returns it: "6.1.2", derived
 * from the file's name (.../libhsa-runtime64.so.1.13.0); the name itself if it is not known. */
const char *doctor_rocr_name(char text[64], const char *file);

/* Returns true if `file` is an HSA runtime of a release that never enables debugging by itself:
 * those before ROCm 6, as far as known. */
bool doctor_rocr_never_enables(const char *file);

/* Returns true if a debugger other than the daemon traces the process. */
bool doctor_is_traced(const struct doctor_facts *facts, const struct doctor_process *process);

/* ---- for the parts of doctor_check(), each in a file of its own ---- */

/* Adds a finding; `found` is a printf format. Without memory sets out->failed. */
void doctor_find(struct doctor_findings *out, const char *check, uint32_t gpu_id, int pid,
		 enum doctor_verdict verdict, const char *found, ...)
	__attribute__((format(printf, 6, 7)));
/* Sets the advice of the finding that was added last. */
void doctor_advise(struct doctor_findings *out, const char *advice, ...)
	__attribute__((format(printf, 2, 3)));
/* Checks each GPU. */
void doctor_check_nodes(const struct doctor_facts *facts, struct doctor_findings *out);
/* Checks the rights to trace, namespaces, the daemon, and what the shim needs. */
void doctor_check_rights(const struct doctor_facts *facts, struct doctor_findings *out);
/* Checks the HSA runtime and the variables of programs that are started in this session. */
void doctor_check_environment(const struct doctor_facts *facts, struct doctor_findings *out);
/* Checks each process, or only facts->chosen_pid if it is set. */
void doctor_check_processes(const struct doctor_facts *facts, struct doctor_findings *out);

#endif
