/* SPDX-License-Identifier: MIT */
/* The arms of "kfdsched colocate" and how they differ, one row each. Threads: none. */
#ifndef KFDSHIM_CLI_COLOCATE_ARM_KINDS_H
#define KFDSHIM_CLI_COLOCATE_ARM_KINDS_H

#include <stdbool.h>

/* The configurations that a run compares. ALONE: each online client by itself, and the offline
 * clients together without any online client. SHARED: online beside offline without preemption.
 * TRAP, SELF and GATE: the same with a daemon that holds the offline clients by that level.
 * PEERS: without a daemon; the clients' shims hold them by level self. */
enum arm { ARM_ALONE, ARM_SHARED, ARM_TRAP, ARM_SELF, ARM_GATE, ARM_PEERS, ARM_COUNT };

struct arm_kind {
	const char *name;
	bool by_default; /* measured without --arms */
	bool daemon;	 /* a private kfdschedd schedules the clients */
	bool preempts;	 /* a hold is a suspend by the driver: a runlist update and a save */
	/* The level of the offline clients; NULL: the clients run without libkfdshim.so. */
	const char *level;
	const char *
		level_setting; /* KFDSHIM_LEVEL of the offline clients; NULL: not set, which is auto */
	/* Bit mask of the time shares (result_time.h) that kfdsim and the daemon do not tell apart
	 * in this arm. */
	unsigned unknown;
	/* What the floor of the online P99 does not contain, as a phrase; NULL: nothing. */
	const char *beyond;
};
extern const struct arm_kind arm_kinds[ARM_COUNT];

/* Returns true if the numbers of suspends and resumes, and their delays, are known: a daemon counts
 * them, or there are none because the clients have no shim. */
static inline bool arm_is_counted(enum arm arm)
{
	return arm_kinds[arm].daemon || !arm_kinds[arm].level;
}

#endif
