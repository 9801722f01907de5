/* SPDX-License-Identifier: MIT */
/*
 * The code objects of spin.cl that this binary carries, one for each GPU
 * architecture it was built for.
 */
#ifndef KFDSHIM_REPLAY_CODE_OBJECTS_H
#define KFDSHIM_REPLAY_CODE_OBJECTS_H

#include <stddef.h>

#define CODE_OBJECTS 3

struct code_object {
	const char *gpu;	/* processor name of the ISA: "gfx90a" */
	const char *data, *end; /* of the ELF file */
};
extern const struct code_object code_objects[CODE_OBJECTS];

/* The one for this processor, or NULL. */
const struct code_object *code_object_find(const char *gpu);
/* The names of all, for talk: "gfx908, gfx90a"; returns `text`. */
const char *code_object_list(char *text, size_t size);

#endif
