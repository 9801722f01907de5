/* SPDX-License-Identifier: MIT */
/*
 * Profiles: the properties of a GPU and the costs of its work. They are INI files in sim/profiles
 * and are built into the program, so that a copy of the kfdsim executable alone still has them. A
 * profile sets every key exactly once; --set replaces the value of any numeric key.
 *
 * A profile describes the whole GPU, in partition mode SPX. For a GPU with several XCCs there is a
 * second profile, NAME-cpx: the same GPU in mode CPX, where the driver makes a node of every XCC
 * (profile_node() below).
 */
#ifndef KFDSHIM_SIM_SANDBOX_PROFILE_H
#define KFDSHIM_SIM_SANDBOX_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/host/config.h"

/* Reads and checks the built-in profile @name. */
void profile_load(const char *name, struct profile *out);
/* Sets one key; @assignment is "KEY=VALUE". */
void profile_set(struct profile *profile, const char *assignment);
/* Ends kfdsim with a message if the values, with all --set values applied, are not those of a
 * possible GPU. */
void profile_check(const struct profile *profile);

/* Returns the name of the profile number @index, in the order in which --break tries them; NULL
 * after the last one. */
const char *profile_name(size_t index);

/* Returns the properties of one node of the GPU: the profile itself, or its share in mode CPX. */
struct profile profile_node(const struct profile *profile);

/* Sets out->node and out->gpu, which describe one node and are valid for all, from the profile. The
 * caller sets the number of nodes, their ids and their locations from struct machine. */
void profile_to_sim(const struct profile *profile, struct sim_config *out);

#endif
