/* SPDX-License-Identifier: MIT */
/* What the files of libkfdshim.so share. */
#ifndef KFDSHIM_PRELOAD_INTERNAL_H
#define KFDSHIM_PRELOAD_INTERNAL_H

#include "preload/agent.h"

/* The definition of `name` after ours, `self`: by RTLD_NEXT, else in the
 * loaded libraries. The library that holds it stays loaded from then on. NULL
 * if there is none; never `self`. */
void *next_symbol(const char *name, void *self);

/* The agent, or NULL: not loaded (yet), switched off, or not loadable. */
extern const struct kfdshim_agent *agent_loaded;
/* Loads the agent at the first call; later calls return at once. */
const struct kfdshim_agent *agent_load(const struct kfdshim_host *host);

#endif
