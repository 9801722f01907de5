// SPDX-License-Identifier: MIT
#include "common/version.h"

#include <stdio.h>
#include <string.h>

#include "version_data.h" /* generated at each build (cmake/version.cmake) */

bool version_print(int argc, char **argv, const char *program)
{
	if (argc != 2 || strcmp(argv[1], "--version") != 0)
		return false;
	printf("%s " VERSION_RELEASE ", commit " VERSION_COMMIT ", protocol " VERSION_PROTOCOL "\n",
	       program);
	return true;
}
