/* SPDX-License-Identifier: MIT */
/*
 * kfdshim.h: for a program that knows more about its work than its queues show.
 * Include it and build as always; nothing is linked. Under libkfdshim.so the
 * calls have effect, without it they do nothing. (They are weak references:
 * position-independent code, which is the compiler's default, is needed.)
 *
 * Any thread, at any time but in a signal handler; errno is kept; none of them
 * blocks or fails loudly. A child of fork keeps priority and SLO, and has no
 * requests.
 */
#ifndef KFDSHIM_H
#define KFDSHIM_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A request begins, a request has ended. From its begin to its end the process
 * counts as active on each GPU where it has queues, also while the CPU works for
 * the request and the GPU has nothing to do. They are counted: requests may
 * overlap, begin and end may be called by different threads.
 */
void kfdshim_request_begin(void) __attribute__((weak));
void kfdshim_request_end(void) __attribute__((weak));

/* 0..15, 15 the most urgent; in the place of KFDSHIM_PRIORITY. 0, or -EINVAL. */
int kfdshim_set_priority(int priority) __attribute__((weak));

/* What a request may take, in microseconds, 0: unknown; in the place of
 * KFDSHIM_SLO. 0, or -EINVAL. Policy `deadline` of kfdschedd decides by it. */
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
