/* SPDX-License-Identifier: MIT */
/*
 * Functions by which an application reports what its queues do not show: its requests, its priority
 * and its latency objective.
 *
 * Include this file and build as usual; nothing is linked. The calls have an effect while
 * libkfdshim.so is preloaded, and do nothing otherwise. They are weak references, so the program
 * has to be position-independent code, which is the compiler's default.
 *
 * The functions can be called by any thread at any time, but not by a signal handler. They keep
 * errno, do not block and print nothing. After fork(2) the child keeps priority and SLO, and has no
 * requests.
 */
#ifndef KFDSHIM_H
#define KFDSHIM_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Report that a request begins, and that a request ends. In between the process counts as active on
 * each GPU where it has queues, also while the CPU works for the request and the GPU is idle.
 * Requests are counted, so they can overlap, and begin and end can be called by different threads.
 * An end without a begin is ignored.
 */
void kfdshim_request_begin(void) __attribute__((weak));
void kfdshim_request_end(void) __attribute__((weak));

/* Sets the priority, 0..15, 15 the most urgent; replaces KFDSHIM_PRIORITY. Returns 0, or -EINVAL if
 * the value is out of range. */
int kfdshim_set_priority(int priority) __attribute__((weak));

/* Sets the time that a request is allowed to take, in microseconds; 0: unknown; replaces
 * KFDSHIM_SLO. kfdschedd's policy `deadline` uses it. Returns 0, or -EINVAL if the value is
 * negative or above UINT32_MAX. */
int kfdshim_set_slo(long long microseconds) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#ifndef KFDSHIM_NO_MACROS
#define kfdshim_request_begin() (kfdshim_request_begin ? kfdshim_request_begin() : (void)0)
#define kfdshim_request_end() (kfdshim_request_end ? kfdshim_request_end() : (void)0)
#define kfdshim_set_priority(priority) (kfdshim_set_priority ? kfdshim_set_priority(priority) : 0)
#define kfdshim_set_slo(microseconds) (kfdshim_set_slo ? kfdshim_set_slo(microseconds) : 0)
#endif

#endif
