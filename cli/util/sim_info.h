/* SPDX-License-Identifier: MIT */
/*
 * Reads what kfdsim reports about its GPU (docs/reference/kfdsim-files.md, simulation.json): time
 * scale, costs of operations, and how many operations there were since the simulation began and how
 * long they took.
 *
 * Units as in the file: costs in model time (that of the simulated GPU), doorbell delay in wall
 * time. Threads: none.
 */
#ifndef KFDSHIM_CLI_UTIL_SIM_INFO_H
#define KFDSHIM_CLI_UTIL_SIM_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/histogram.h"

/* If this file does not exist, the GPU is real. */
#define SIMULATION_PATH "/sys/class/kfd/kfd/simulation.json"
/* Longest time until the file shows a change of a value. */
#define SIMULATION_LAG_MS 100

struct simulation {
	char profile[64];
	char kernel[32]; /* kernel release whose driver is simulated; can be empty */
	double time_scale;
	bool is_virtual; /* kfdsim --virtual: times are independent of the machine */
	double update_us;
	struct hist doorbell; /* ns, wall */
	uint64_t updates;
	uint64_t update_ns; /* ns, model */
	struct hist save;   /* ns, model */
	struct hist restore;
};

/* Reads the file at `path`. Returns 0; -ENOENT if there is no such file, so that the GPU is real
 * and not simulated; -EINVAL if the file is not as documented; or another negative errno. */
int simulation_read(const char *path, struct simulation *out);
/* Subtracts the counters of `earlier`, a reading of the same simulation, so that *later keeps what
 * was counted since then. */
void simulation_subtract(struct simulation *later, const struct simulation *earlier);

#endif
