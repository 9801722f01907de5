/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's driver does, by tracefs: calls of amdkfd's functions, and events of
 * amdgpu and the GPU scheduler. All of it in a trace instance of our own, with a buffer of
 * its own: the global one, and who uses it, is never touched. The instance is removed by
 * tracefs_close(); one that a killed run has left is removed by the next.
 *
 * Threads: one. Errors: a sentence.
 */
#ifndef KFDSHIM_CLI_TRACE_TRACEFS_H
#define KFDSHIM_CLI_TRACE_TRACEFS_H

#include "scheduler/cli/trace_event.h"

#define TRACEFS_ROOT "/sys/kernel/tracing"
#define TRACEFS_WHY 512

struct tracefs {
	char folder[192]; /* of the instance; empty: there is none */
	int pipe;	  /* to poll for input; -1: there is none */
	bool graph;	  /* functions with their durations; else only their calls */
	unsigned functions, events;
	uint64_t lost;	       /* that the kernel could not keep */
	char why[TRACEFS_WHY]; /* one sentence on what is traced, or on why nothing is */
	size_t used;
	char line[4096]; /* not yet whole */
};

/* Begins to trace by the tracefs at `root`, in instance `name` (tracefs_name()). 0, or a
 * negative errno, and `why` says either way what is the matter. */
int tracefs_open(struct tracefs *tracefs, const char *root, const char *name);
/* The name of our own instance: it says whose it is, for those who find it. */
void tracefs_name(char name[static 64]);
/* Removes instances whose process has ended; their number. */
unsigned tracefs_remove_leftovers(const char *root);
/* Takes what is there without waiting. */
void tracefs_read(struct tracefs *tracefs, void (*take)(void *context, struct trace_event *event),
		  void *context);
/* Stops tracing: what is there can still be read. And ends it. */
void tracefs_stop(struct tracefs *tracefs);
void tracefs_close(struct tracefs *tracefs);

/* One line of trace_pipe, without its newline; false: it tells of nothing. *lost: how many
 * it says are lost. */
bool tracefs_parse(const char *line, struct trace_event *out, uint64_t *lost);

#endif
