/* SPDX-License-Identifier: MIT */
/* Entry points of the programs in the images; image.cmake gives each copy of the object files names
 * of its own. */
#ifndef KFDSHIM_TESTS_SEEDED_IMAGES_H
#define KFDSHIM_TESTS_SEEDED_IMAGES_H

#include "channel/agent_abi.h"
#include "scheduler/daemon/executor/executor.h"

#define AGENT_IMAGES 6

typedef typeof(executor_run) executor_run_fn;
extern executor_run_fn executor_run_0, executor_run_1, executor_run_2;
#define EXECUTOR_ENTRIES                                                                           \
	{                                                                                          \
		executor_run_0, executor_run_1, executor_run_2                                     \
	}

extern kfdshim_agent_start_fn kfdshim_agent_start_0, kfdshim_agent_start_1, kfdshim_agent_start_2,
	kfdshim_agent_start_3, kfdshim_agent_start_4, kfdshim_agent_start_5;
#define AGENT_ENTRIES                                                                              \
	{                                                                                          \
		kfdshim_agent_start_0, kfdshim_agent_start_1, kfdshim_agent_start_2,               \
			kfdshim_agent_start_3, kfdshim_agent_start_4, kfdshim_agent_start_5        \
	}

/* Symbols of the linker: begin and end of the data of image `name`. */
#define IMAGE_SYMBOLS(name) extern char __start_image_##name[], __stop_image_##name[]
#define IMAGE(name)                                                                                \
	{                                                                                          \
		.begin = __start_image_##name, .end = __stop_image_##name                          \
	}

#endif
