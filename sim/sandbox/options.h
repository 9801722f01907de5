/* SPDX-License-Identifier: MIT */
/* The command line of kfdsim, and the defaults for what it leaves open. */
#ifndef KFDSHIM_SIM_SANDBOX_OPTIONS_H
#define KFDSHIM_SIM_SANDBOX_OPTIONS_H

#include "sim/sandbox/profile.h"

#define OPTIONS_USAGE                                                                                                 \
	"kfdsim [--virtual [--seed N] | --real-time] [--gpu PROFILE] [--gpus N] [--kernel VERSION] [--time-scale X] " \
	"[--set KEY=VALUE]... [--break RULE] [--root DIR] [--report FILE.json] [--fail-on-timed] [--wait-all] "       \
	"-- COMMAND [ARGUMENT]..."
#define OPTIONS_SETS_MAX 64

struct sim_options {
	const char *gpu; /* NULL until options_settle() if not given */
	unsigned gpus;	 /* 0 until options_settle() if not given */
	int kernel;	 /* enum kfdabi_kernel; -1 until options_settle() if not given */
	double time_scale;
	const char *sets[OPTIONS_SETS_MAX];
	size_t nsets;
	const char *report, *root; /* NULL: none */
	enum kfdabi_rule broken_rule;
	char **command;
	bool virtual_time;
	uint64_t seed; /* 0: none */
	bool wait_all;
	bool fail_on_timed;
	bool help;
};

/* Prints the usage and all options. */
void options_help(void);
/* Fills *options from the command line. The strings point into argv. */
void options_parse(struct sim_options *options, int argc, char **argv);
/* Sets the GPU, number of GPUs and kernel if the command line has not set them, and loads the
 * profile with all --set values. With --break, takes the first machine to which the rule applies.
 * Otherwise takes one mi210 under the oldest kernel. */
void options_settle(struct sim_options *options, struct profile *profile);

#endif
