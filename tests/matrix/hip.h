/* SPDX-License-Identifier: MIT */
/*
 * HIP without its headers: whichever generation is there is loaded, with the names
 * and numbers that all of them share. What fails ends the program (step.h).
 */
#ifndef KFDSHIM_TESTS_MATRIX_HIP_H
#define KFDSHIM_TESTS_MATRIX_HIP_H

#include <stddef.h>
#include <stdint.h>

#define HIP_TO_DEVICE 1
#define HIP_TO_HOST 2

typedef void (*hip_function)(void); /* any: cast before it is called */

/* Loads the newest library there is and initialises it. */
void hip_open(void);
int hip_generation(void); /* of the library: 5, 6, 7 */
hip_function hip_find(const char *name);
void hip_check(int error, const char *what);
/* Calls NAME, a function of these parameters, with the values. */
#define HIP(name, types, ...) hip_check(((int(*) types)hip_find(#name))(__VA_ARGS__), #name)

void *hip_device_memory(size_t bytes);
void *hip_host_memory(size_t bytes);
void *hip_stream(void);
void hip_synchronize(void *stream);
void hip_copy(void *dst, const void *src, size_t bytes, int kind, void *stream);

/* kfdreplay_spin out of the folder with the code objects. */
void *hip_spin_kernel(const char *folder);
/* Each workgroup spins for so many ticks of the 100 MHz counter and adds one to
 * its own of the cells, which are the GPU's. */
void hip_spin(void *kernel, unsigned groups, uint64_t ticks, uint32_t *cells, void *stream);
/* All work being done: did each workgroup run so many times? */
void hip_check_cells(const uint32_t *cells, unsigned groups, uint32_t times);

#endif
