/* SPDX-License-Identifier: MIT */
/*
 * CLIENT_SHM_LEVEL_GATE: while the process is held, its threads wait before they reserve a slot.
 * Packets that are in a queue already still run. To delay only the doorbell would not be enough,
 * because the driver reads the write pointer from memory whenever it maps the queue again.
 *
 * A thread waits at most 1 s at a time and then submits its packets, because it may hold locks that
 * other threads need, and watchdogs may run. Threads of the HSA runtime never wait. A queue that is
 * not in the agent's table, or whose pointers can be read only through the kernel, is not gated.
 */
#ifndef KFDSHIM_SHIM_SUBMIT_GATE_H
#define KFDSHIM_SHIM_SUBMIT_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the initial state, at the start and in a fork child: the gate is open. @word is `gate` of
 * struct kfdshim_preload_iface; it is not 0 while the gate is closed. */
void gate_init(uint32_t *word);
/* Closes or opens the gate. Opening wakes all waiting threads and never fails. Returns 0, or a
 * negative errno if the gate cannot be closed. This is so if the kinds of threads cannot be stored,
 * because the runtime's threads, which must not wait, would wait, too (-EAGAIN: the program has
 * used all keys of pthread_key_create()). */
int gate_set(bool closed);

/* Hook `reserve` of struct kfdshim_agent, called before slots are reserved while the gate is
 * closed. Waits until @count slots of this hsa_queue_t may be reserved, at most 1 s. Any thread;
 * keeps errno. */
void gate_pass(uint64_t hsa_queue, uint64_t count);

/*
 * Classify the calling thread by its first wait. gate_seen_waiting(): it calls hsa_signal_wait_*,
 * as threads of the program do. gate_seen_events(): it calls WAIT_EVENTS directly, as the runtime's
 * threads do. A thread that has done neither counts as one of the program. With
 * HSA_ENABLE_INTERRUPT=0 the runtime's threads never call WAIT_EVENTS, so then an unclassified
 * thread counts as one of the program only if it is the first thread of the process.
 *
 * Any thread. Called at every level, because the daemon may choose CLIENT_SHM_LEVEL_GATE at any
 * time.
 */
void gate_seen_waiting(void);
void gate_seen_events(void);

#endif
