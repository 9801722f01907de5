/* SPDX-License-Identifier: MIT */
/*
 * Level gate: while the process is held, its threads wait before they reserve a
 * slot in a queue. (Holding back the doorbell alone leaks: the write pointer is
 * read from memory whenever the queue is mapped again.) What was submitted
 * before goes on.
 *
 * A thread waits at most 1 s at a stretch, then submits what it came for: locks
 * may be held around it, and watchdogs run. Threads of the runtime never wait.
 */
#ifndef KFDSHIM_SHIM_GATE_H
#define KFDSHIM_SHIM_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* `word`: the host's; not 0 while the gate is closed. Also in the fork child. */
void gate_init(uint32_t *word);
/* 0, or a negative errno: it stays open, because it cannot be remembered which threads are the runtime's
 * (-EAGAIN: the program has used all of pthread_key_create()). Opening never fails. */
int gate_set(bool closed);

/* Hook, any thread: `count` slots of this hsa_queue_t are about to be reserved,
 * and the gate is closed. Returns when they may be. Keeps errno. */
void gate_pass(uint64_t hsa_queue, uint64_t count);

/*
 * What a thread was seen doing first says whose it is: the runtime's own wait in
 * WAIT_EVENTS, the program's come there through hsa_signal_wait_*. Who was seen
 * doing neither counts as the program's; with HSA_ENABLE_INTERRUPT=0, where the
 * runtime's threads poll, only the process's first thread does. Any thread; at every
 * level, for the daemon may come to the gate at each.
 */
void gate_seen_waiting(void);
void gate_seen_events(void);

#endif
