/* SPDX-License-Identifier: MIT */
/*
 * HIP without its headers. The library is loaded at run time, in whichever generation is installed,
 * and only names and numbers that all generations share are used. A failed call ends the program
 * (step.h).
 */
#ifndef KFDSHIM_TESTS_MATRIX_HIP_H
#define KFDSHIM_TESTS_MATRIX_HIP_H

#include <stddef.h>
#include <stdint.h>

#define HIP_TO_DEVICE 1
#define HIP_TO_HOST 2

typedef void (*hip_function)(void); /* any function: cast it before the call */

/* Loads the newest library that is installed (7, 6 or 5) and initialises it. */
void hip_open(void);
int hip_generation(void); /* returns the generation of the library: 5, 6 or 7 */
/* Returns a function of the library, never NULL. */
hip_function hip_find(const char *name);
/* Ends the program unless `error` is 0. `what`: the name of the call, for the message. */
void hip_check(int error, const char *what);
/* Calls the function `name` with the values. `types`: its parameter list. */
#define HIP(name, types, ...) hip_check(((int(*) types)hip_find(#name))(__VA_ARGS__), #name)

/* Allocate memory of the device, or of the host with access of the device. Never freed here. */
void *hip_device_memory(size_t bytes);
void *hip_host_memory(size_t bytes);
void *hip_stream(void);
void hip_synchronize(void *stream);
/* Starts an asynchronous copy. `kind`: HIP_TO_DEVICE or HIP_TO_HOST. */
void hip_copy(void *dst, const void *src, size_t bytes, int kind, void *stream);

/* Returns kfdreplay_spin, loaded from the directory of the code objects. */
void *hip_spin_kernel(const char *directory);
/* Launches the kernel: each workgroup spins for `ticks` ticks of the 100 MHz counter and then adds
 * one to its own cell. `cells`: device memory. */
void hip_spin(void *kernel, unsigned groups, uint64_t ticks, uint32_t *cells, void *stream);
/* Fails unless each workgroup has run `times` times. All work must be done. */
void hip_check_cells(const uint32_t *cells, unsigned groups, uint32_t times);

#endif
