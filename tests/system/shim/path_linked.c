// SPDX-License-Identifier: MIT
/* shim_path_linked PATH: a program that is linked with the HSA runtime, for path_work.c. */
#include "tests/system/shim/path_work.h"

int main(int argc, char **argv)
{
	return argc == 2 ? path_run(argv[1]) : 2;
}
