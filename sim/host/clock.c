// SPDX-License-Identifier: MIT
/*
 * Three clocks: wall time (CLOCK_MONOTONIC); model time (wall time since the start, scaled, without
 * what the simulated GPUs have lost: engine.c); and the GPU's 100 MHz counter. The counter runs at
 * wall speed, so that a program that compares it with the CPU's clock gets consistent values.
 */
#include <errno.h>
#include <time.h>

#include "common/clock.h"
#include "sim/driver/memory.h"
#include "sim/driver/queue.h"
#include "sim/host/time_slots.h"

uint64_t model_now(const struct sim *sim, uint64_t wall_ns)
{
	if (wall_ns <= sim->start_ns)
		return 0;
	return (uint64_t)((double)(wall_ns - sim->start_ns) * sim->config.time_scale) -
	       sim->totals.lost_ns;
}

/* Rounds up, so that model_now() of the result is not before model_ns, and a time stamp is not
 * before the CPU's clock at submission. */
uint64_t model_to_wall(const struct sim *sim, uint64_t model_ns)
{
	return sim->start_ns + 1 +
	       (uint64_t)(((double)(model_ns + sim->totals.lost_ns) + 1.0) /
			  sim->config.time_scale);
}

/* Rounds up for the same reason. */
uint64_t gpu_ticks(uint64_t wall_ns)
{
	return (wall_ns + 9) / 10;
}

static uint64_t read_clock(const struct sim *sim, clockid_t id)
{
	if (sim->time)
		return clock_ns() + (id == CLOCK_BOOTTIME ? time_slots_boottime(sim->time) : 0);
	return clock_of(id);
}

uint64_t boot_clock_ns(const struct sim *sim)
{
	return read_clock(sim, CLOCK_BOOTTIME);
}

/* The runtime maps GPU time to system time through these values, so they must come from one
 * instant. Linux returns boot time as the system's counter. */
int ioctl_clock_counters(struct call *call)
{
	struct kfd_ioctl_get_clock_counters_args *a = (void *)call->data;

	if (a->gpu_id && node_index(call->sim, a->gpu_id) < 0)
		return -EINVAL;
	a->cpu_clock_counter = read_clock(call->sim, CLOCK_MONOTONIC_RAW);
	a->system_clock_counter = read_clock(call->sim, CLOCK_BOOTTIME);
	a->gpu_clock_counter = gpu_ticks(clock_ns());
	a->system_clock_freq = 1000000000;
	return 0;
}
