/* SPDX-License-Identifier: MIT */
/*
 * Reads what kfdsim says about its GPU (docs/formats.md, simulation.json):
 * time scale, costs, and what has been charged since the world began.
 *
 * Units as in the file: costs in model time, doorbell delay in wall time.
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_SIMULATION_H
#define KFDSHIM_CLI_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hist.h"

#define SIMULATION_PATH "/sys/class/kfd/kfd/simulation.json"
/* The file follows a change by at most this. */
#define SIMULATION_LAG_MS 100

struct simulation {
	char profile[64];
	char kernel[32]; /* the release whose rules hold; may be empty */
	double time_scale;
	bool is_virtual; /* kfdsim --virtual: times do not depend on the machine */
	double bounce_us;
	struct hist doorbell; /* ns, wall */
	uint64_t bounces;
	uint64_t bounce_ns; /* model */
	struct hist save;   /* ns, model */
	struct hist restore;
};

/* -ENOENT: no such file, which means hardware. -EINVAL: not as documented. */
int simulation_read(const char *path, struct simulation *out);
/* Leaves what was counted since `earlier`, a state of the same world. */
void simulation_subtract(struct simulation *later, const struct simulation *earlier);

#endif
