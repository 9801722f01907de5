/* SPDX-License-Identifier: MIT */
/*
 * The engine of doctor and diagnose: runs the checks of checks.def on the facts of facts.h. Each
 * check adds its findings, with one advice if something is wrong. Pure: no I/O, no clock.
 *
 * Threads: none. Ownership: doctor_findings_free() ends a list.
 */
#ifndef KFDSHIM_CLI_DOCTOR_CHECKS_H
#define KFDSHIM_CLI_DOCTOR_CHECKS_H

#include "cli/doctor/facts.h"

enum doctor_check {
#define CHECK(name, scope, question) CHECK_##name,
#include "cli/doctor/checks.def"
#undef CHECK
	DOCTOR_CHECKS
};

enum doctor_scope { DOCTOR_SYSTEM, DOCTOR_NODE, DOCTOR_PROCESS, DOCTOR_NAMED };

/* DOCTOR_MISSING: no process can be preempted. DOCTOR_WARNING: preemption works less well, or not
 * for some processes. */
enum doctor_verdict { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_MISSING, DOCTOR_CANNOT_KNOW };

struct doctor_finding {
	enum doctor_check check;
	uint32_t gpu_id; /* 0: not about one GPU */
	int pid;	 /* 0: not about one process */
	enum doctor_verdict verdict;
	char found[320];
	char advice[320]; /* "": nothing to do */
	/* Set by check "level" only: the present level, and the offset in `found` at which its
	 * reason begins (the length of `found` if there is none). */
	enum doctor_level level;
	size_t why;
};

struct doctor_findings {
	struct doctor_finding *list;
	size_t count, room;
};

/* Returns "ok", "warning", "missing" or "unknown". */
const char *doctor_verdict_name(enum doctor_verdict verdict);
const char *doctor_check_name(enum doctor_check check);
const char *doctor_check_question(enum doctor_check check);
enum doctor_scope doctor_check_scope(enum doctor_check check);
/* Returns "system", "GPU", "process" or "named process". */
const char *doctor_scope_name(enum doctor_scope scope);

/* Runs the checks and stores their findings in *out. If facts->chosen_pid is set, stores those
 * about that process, and the WARNING and MISSING findings about the machine and its GPUs. */
void doctor_check(const struct doctor_facts *facts, struct doctor_findings *out);
void doctor_findings_free(struct doctor_findings *findings);
/* Returns true if processes can be preempted on this machine: no finding is MISSING. */
bool doctor_usable(const struct doctor_findings *findings);
/* Returns the first finding of that check, or NULL if there is none. */
const struct doctor_finding *doctor_find(const struct doctor_findings *findings,
					 enum doctor_check check);

/* Writes the name of a GPU version, such as "gfx90a", or "" if not known. Returns `text`. */
const char *doctor_gfx_name(char text[16], int64_t gfx_target_version);
/* Writes the release of the HSA runtime in `file` into `text` and returns it: "6.1.2", derived from
 * the file's name (.../libhsa-runtime64.so.1.13.0). If it is not known, writes the file's name. */
const char *doctor_rocr_name(char text[64], const char *file);
/* Returns true if `file` is an HSA runtime of a release that never enables debugging by itself: as
 * far as known, all releases before ROCm 6. */
bool doctor_rocr_never_enables(const char *file);
/* Returns the advice for a reason that the daemon reports. Used if no check knows more precise
 * facts. */
const char *doctor_advice(enum reason_code code);
/* Returns true if a debugger other than the daemon traces the process. */
bool doctor_is_traced(const struct doctor_facts *facts, const struct doctor_process *process);
/* Returns true if the process uses the GPU, or if it is not known which GPUs it uses. */
bool doctor_uses_node(const struct doctor_process *process, uint32_t gpu_id);
/* Returns true if a debug session on the process exists, by the daemon or by its own shim. */
bool doctor_has_session(const struct doctor_process *process);

/* ---- printing, for doctor and diagnose: doctor.c ---- */

enum findings_view {
	VIEW_ALL,
	VIEW_PROBLEMS, /* WARNING and MISSING; findings that differ only in the GPU share a row */
	VIEW_OBSTACLES /* all findings; the line above the table names their process */
};

/* Prints the findings as a table; prints nothing if it has no row. Returns the number of rows. */
unsigned findings_print(const struct doctor_findings *findings, enum findings_view view);
/* Returns an array with an object for each finding (docs/reference/doctor.md). `of_one`: all are
 * about one process, so they do not repeat its pid and its name. */
json_t *findings_json(const struct doctor_findings *findings, bool of_one);
/* If the GPU is simulated, prints a line that says so, between `begin` and `end`. */
void print_simulated(const struct doctor_facts *facts, const char *begin, const char *end);

/* ---- for the checks ---- */

/* One run of a check. */
struct doctor_run {
	const struct doctor_facts *facts;
	enum doctor_check check;
	const struct doctor_node *node;	      /* node that the finding is about, or NULL */
	const struct doctor_process *process; /* process that the finding is about, or NULL */
	struct doctor_findings *out;
};

/* Adds a finding; `found` is a printf format. */
void finding_add(struct doctor_run *run, enum doctor_verdict verdict, const char *found, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds a finding, with an advice unless `verdict` is OK. */
#define finding_bad(run, verdict, advice, ...)                                                     \
	(finding_add(run, verdict, __VA_ARGS__), finding_advise(run, "%s", advice))
#define finding_ok(run, ...) finding_add(run, DOCTOR_OK, __VA_ARGS__)
/* Adds the finding that nothing is known. */
#define finding_unknown(run) finding_add(run, DOCTOR_CANNOT_KNOW, "-")
/* Adds a finding. Its verdict is CANNOT_KNOW unless `known`, OK if `fine`, and otherwise `bad` with
 * the advice. */
#define finding_if(run, known, fine, bad, advice, ...)                                             \
	((known) ? finding_bad(run, (fine) ? DOCTOR_OK : (bad), advice, __VA_ARGS__)               \
		 : finding_unknown(run))
/* Adds an OK finding with text `yes` or `no`, or a CANNOT_KNOW one if `known` is DOCTOR_UNKNOWN. */
#define finding_known(run, known, yes, no)                                                         \
	finding_if(run, (known) != DOCTOR_UNKNOWN, true, DOCTOR_OK, "", "%s", (known) ? yes : no)
/* Sets the advice of the finding that was added last, unless its verdict is OK. */
void finding_advise(struct doctor_run *run, const char *advice, ...)
	__attribute__((format(printf, 2, 3)));

/* Type of the second parameter of check_NAME() for each scope; a SYSTEM check gets all facts. */
#define DOCTOR_SUBJECT_SYSTEM struct doctor_facts
#define DOCTOR_SUBJECT_NODE struct doctor_node
#define DOCTOR_SUBJECT_PROCESS struct doctor_process
#define DOCTOR_SUBJECT_NAMED struct doctor_process
#define CHECK(name, scope, question)                                                               \
	void check_##name(struct doctor_run *run, const DOCTOR_SUBJECT_##scope *subject);
#include "cli/doctor/checks.def"
#undef CHECK

#endif
