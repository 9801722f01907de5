/* SPDX-License-Identifier: MIT */
/* kfdsim's command line, and what follows from it where it leaves things open. */
#ifndef KFDSHIM_SIM_RUN_OPTIONS_H
#define KFDSHIM_SIM_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/rules.h"
#include "sim/run/profile.h"

#define OPTIONS_USAGE                                                                                                 \
	"kfdsim [--virtual [--seed N] | --real-time] [--gpu PROFILE] [--gpus N] [--kernel VERSION] [--time-scale X] " \
	"[--set KEY=VALUE]... [--break RULE] [--root DIR] [--report FILE.json] [--fail-on-timed] [--wait-all] "       \
	"-- COMMAND [ARGUMENT]..."
#define OPTIONS_SETS_MAX 64

struct options {
	const char *gpu; /* NULL until options_settle() where it was not said */
	unsigned gpus;	 /* likewise 0 */
	int kernel;	 /* likewise -1; enum kfdabi_kernel */
	double time_scale;
	const char *sets[OPTIONS_SETS_MAX];
	size_t nsets;
	const char *report, *root; /* NULL: none */
	enum kfdabi_rule broken;
	char **command;
	bool virtual_time;
	uint64_t seed; /* 0: none */
	bool wait_all;
	bool fail_on_timed;
	bool help;
};

void options_help(void); /* prints all of them */
/* Both return an exit status, having said why (say.h). The strings stay argv's. */
int options_parse(struct options *options, int argc, char **argv);
/* Decides what was left open and loads the profile with all --set. With --break
 * the first profile, number of GPUs and kernel that have the rule; else an
 * mi210 under the oldest kernel. */
int options_settle(struct options *options, struct profile *profile);

#endif
