/* SPDX-License-Identifier: MIT */
/*
 * Included before each file of a simulated process (image.cmake): before each atomic access to
 * memory that others may read or write at the same time, another fiber may run.
 */
#ifndef KFDSHIM_TESTS_SEEDED_POINTS_H
#define KFDSHIM_TESTS_SEEDED_POINTS_H

/* Mostly returns at once; otherwise switches to another fiber. */
void played_point(void);

#define __atomic_load_n(...) (played_point(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) (played_point(), __atomic_store_n(__VA_ARGS__))
#define __atomic_exchange_n(...) (played_point(), __atomic_exchange_n(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) (played_point(), __atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_fetch_add(...) (played_point(), __atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_or(...) (played_point(), __atomic_fetch_or(__VA_ARGS__))
#define __atomic_add_fetch(...) (played_point(), __atomic_add_fetch(__VA_ARGS__))
#define __atomic_sub_fetch(...) (played_point(), __atomic_sub_fetch(__VA_ARGS__))

#endif
