/* SPDX-License-Identifier: MIT */
/*
 * What the verbs that order something about one process share: their arguments, and how
 * what came of it is told. Threads: none.
 */
#ifndef KFDSHIM_CLI_ORDERS_H
#define KFDSHIM_CLI_ORDERS_H

#include <jansson.h>
#include <stdbool.h>

#include "scheduler/cli/options.h"
#include "scheduler/lib/kfdsched.h"

struct order {
	struct kfdsched *daemon; /* kfdsched_close() ends it */
	const char *socket;
	int pid;
	bool json;
};

/* Reads its options, which go there or elsewhere. CLI_GO_ON, or the exit code. */
int order_begin(const struct verb *verb, int argc, char **argv, const struct verb_option *options,
		struct order *order);

/* Did an order come to this because no daemon answers, or the one that does has not got the
 * process, though it lives? */
bool order_has_no_daemon(int rc, int pid);

/* The daemon's answer as one line. The exit code. */
int order_tell(const struct verb *verb, const struct order *order, int rc);
/* The same, as JSON where that is wanted, with `more` of this verb's own keys (taken; may
 * be NULL). */
int order_tell_done(const struct verb *verb, const struct order *order, int rc, json_t *more);
int order_print_json(const struct verb *verb, int pid, const char *answer, json_t *more);

#endif
