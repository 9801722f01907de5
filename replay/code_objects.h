/* SPDX-License-Identifier: MIT */
/*
 * The code objects of spin.cl that this binary carries, one for each GPU
 * architecture it was built for.
 */
#ifndef KFDSHIM_REPLAY_CODE_OBJECTS_H
#define KFDSHIM_REPLAY_CODE_OBJECTS_H

#include <stddef.h>

struct code_object {
	const char *gpu; /* processor name of the ISA: "gfx90a" */
	const void *data;
	size_t bytes;
};

/* The one for this processor, or NULL. Static storage. */
const struct code_object *code_object_find(const char *gpu);
/* "gfx908, gfx90a, gfx942" */
const char *code_object_list(void);

#endif
