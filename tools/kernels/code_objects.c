// SPDX-License-Identifier: MIT
#include "tools/kernels/code_objects.h"

#include <stdio.h>
#include <string.h>

/* Embeds the file `path` as code_object_GPU[]. CMakeLists.txt defines the paths, and rebuilds this
 * file when their content changes. */
#define EMBED(gpu, path)                                                                           \
	__asm__(".pushsection .rodata\n"                                                           \
		".balign 4096\n"                                                                   \
		".globl code_object_" #gpu "\n"                                                    \
		".hidden code_object_" #gpu "\n"                                                   \
		"code_object_" #gpu ":\n"                                                          \
		".incbin \"" path "\"\n"                                                           \
		".globl code_object_" #gpu "_end\n"                                                \
		".hidden code_object_" #gpu "_end\n"                                               \
		"code_object_" #gpu "_end:\n"                                                      \
		".popsection\n");                                                                  \
	extern const char code_object_##gpu[], code_object_##gpu##_end[]

EMBED(gfx908, SPIN_GFX908);
EMBED(gfx90a, SPIN_GFX90A);
EMBED(gfx942, SPIN_GFX942);

const struct code_object code_objects[CODE_OBJECTS] = {
	{"gfx908", code_object_gfx908, code_object_gfx908_end},
	{"gfx90a", code_object_gfx90a, code_object_gfx90a_end},
	{"gfx942", code_object_gfx942, code_object_gfx942_end},
};

const struct code_object *code_object_find(const char *gpu)
{
	for (size_t i = 0; i < CODE_OBJECTS; i++)
		if (strcmp(code_objects[i].gpu, gpu) == 0)
			return &code_objects[i];
	return NULL;
}

const char *code_object_list(char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < CODE_OBJECTS && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "",
				      code_objects[i].gpu);
	return text;
}
