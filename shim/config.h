/* SPDX-License-Identifier: MIT */
/*
 * Settings from the environment, read once when the agent starts, because the program may change
 * its environment later. This module is also the only place that writes to stderr.
 *
 * Threads: config_read() runs before any other thread uses the agent. `priority` and `slo_us` can
 * change later by kfdshim.h: under the agent's lock, and atomically.
 */
#ifndef KFDSHIM_SHIM_CONFIG_H
#define KFDSHIM_SHIM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/protocol.h"

#define CONFIG_DIR 72

enum log_level { LOG_OFF, LOG_ERROR, LOG_INFO, LOG_DEBUG };

struct shim_config {
	int priority; /* PRIORITY_UNSET, or 0..15 */
	char group[PROTOCOL_GROUP_MAX];
	char socket[108];	      /* size of sun_path in a socket address */
	char runtime_dir[CONFIG_DIR]; /* XDG_RUNTIME_DIR; empty: none */
	/* KFDSHIM_LEVEL, or PROTOCOL_LEVEL_AUTO. */
	enum protocol_level level;
	bool observe;	 /* KFDSHIM_LEVEL=observe: never preempts, is never preempted */
	uint32_t slo_us; /* latency objective, us; 0: none */
	/* number of packets that may be in flight while held by CLIENT_SHM_LEVEL_GATE */
	uint64_t gate_packets;
	bool update_queue;	   /* CLIENT_SHM_LEVEL_SELF uses UPDATE_QUEUE (queue_override.h) */
	bool no_interrupts;	   /* HSA_ENABLE_INTERRUPT=0: the runtime's threads poll */
	uint64_t vram_limit_bytes; /* bytes for each node; UINT64_MAX: no limit */
	enum log_level log;
};

extern struct shim_config config;

/* Returns the priority for scheduling; PRIORITY_UNSET (none) with KFDSHIM_LEVEL=observe. Any
 * thread. */
static inline int config_priority(void)
{
	return config.observe ? PRIORITY_UNSET
			      : __atomic_load_n(&config.priority, __ATOMIC_RELAXED);
}

/* Reads the environment into `config`. A value that cannot be parsed is logged once and counts as
 * unset. */
void config_read(void);
/* Writes one line to stderr if KFDSHIM_LOG enables @level and the line can be written without
 * waiting. Any thread; keeps errno. */
__attribute__((format(printf, 2, 3))) void kfdshim_log(enum log_level level, const char *format,
						       ...);
/* Returns advice about @err for the end of a log line: how to raise the limit that EMFILE, ENFILE
 * or ENOMEM report, and @otherwise for every other errno. */
const char *remedy(int err, const char *otherwise);

#endif
