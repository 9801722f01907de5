/* SPDX-License-Identifier: MIT */
/*
 * What the environment asks of this process, read once when the agent starts (later
 * the program may be changing it), and the only place that writes to stderr.
 */
#ifndef KFDSHIM_SHIM_CONFIG_H
#define KFDSHIM_SHIM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/protocol.h"

#define CONFIG_FOLDER 72

enum log_level { LOG_OFF, LOG_ERROR, LOG_INFO, LOG_DEBUG };

struct config {
	int priority; /* PRIORITY_UNSET, or 0..15 */
	char group[PROTOCOL_GROUP_MAX];
	char socket[108];		    /* as long as a socket's address can be */
	char runtime_folder[CONFIG_FOLDER]; /* XDG_RUNTIME_DIR, empty: none */
	enum protocol_level level;
	bool observe;		   /* level observe: neither preempts nor is preempted */
	uint32_t slo_us;	   /* 0: none */
	uint64_t gate_packets;	   /* level gate: in flight while it is held */
	bool update_queue;	   /* level self by UPDATE_QUEUE (updates.h) */
	bool no_interrupts;	   /* the HSA runtime's threads never sleep in the driver */
	uint64_t vram_limit_bytes; /* UINT64_MAX: none */
	enum log_level log;
};

extern struct config config;

/* A value that cannot be read is said once and counts as unset. */
void config_read(void);
/* One line on stderr, if KFDSHIM_LOG asks for this level and it can be written at
 * once. Keeps errno. */
__attribute__((format(printf, 2, 3))) void say(enum log_level level, const char *format, ...);
/* What to do about this errno, for the end of such a line; `otherwise`, where the
 * number alone does not tell. */
const char *remedy(int err, const char *otherwise);

#endif
