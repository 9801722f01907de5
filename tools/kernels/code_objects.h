/* SPDX-License-Identifier: MIT */
/*
 * Code objects of spin.cl that are embedded in the binary, one for each GPU architecture for which
 * it was built. Threads: any.
 */
#ifndef KFDSHIM_TOOLS_KERNELS_CODE_OBJECTS_H
#define KFDSHIM_TOOLS_KERNELS_CODE_OBJECTS_H

#include <stddef.h>

#define CODE_OBJECTS 3

struct code_object {
	const char *gpu;	/* processor name of the ISA: "gfx90a" */
	const char *data, *end; /* first byte of the ELF file, and the byte behind it */
};
extern const struct code_object code_objects[CODE_OBJECTS];

/* Returns the code object for a processor name, or NULL. */
const struct code_object *code_object_find(const char *gpu);
/* Writes the names of all GPUs with a code object: "gfx908, gfx90a". Returns `text`. */
const char *code_object_list(char *text, size_t size);

#endif
