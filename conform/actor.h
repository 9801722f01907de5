/* SPDX-License-Identifier: MIT */
/*
 * Actors: children that do one thing at a time as they are told, so that a
 * check reads as a list of who does what. A letter is an order; the answer is
 * the return value of what was done (>= 0 or -errno), or what is said below.
 *
 * On its own device:
 *   o  opens /dev/kfd and a render node      c  closes /dev/kfd
 *   r  enables the runtime                   R  disables it
 *   q  creates a queue: its id               d  destroys the newest queue
 *   w  one small dispatch into queue 0       W  is it done within 1 s? 1 or 0
 *   z  is it done within 12 ms? 1 or 0       A  handles SIGALRM, without restart
 *   m  creates an event for memory faults    M  does it come within 50 ms? 1 or 0
 *                                            C  does it come within 1 s? 1 or 0
 *   b  a packet without dimensions into queue 0, v  one that faults
 *   h  asks for queue 0's errors by its save area
 *   p  are there any after 12 ms? 1 or 0     B  do any come within 1 s? 1 or 0
 *   u  uses the descriptor (GET_VERSION)
 *   t  makes a second thread: its id         l  that serves on, the first ends
 *   f  forks a child that does nothing: its pid    F  ends it
 *   k  aborts (no answer)
 *   x  executes cat, which ends with the channel (no answer)
 * On the one it was pointed at with actor_aim():
 *   S  seizes it        T  lets go
 *   E  ENABLE, all exceptions off            D  DISABLE
 *   e  ENABLE with a bad dbg_fd              2  ENABLE in another thread
 *   P  takes all queues' NEW away and suspends queue 0: how many
 *   n  snapshot without room: how many queues there are
 *   N  the same in another thread            V  SEND_RUNTIME_EVENT, runtime
 */
#ifndef KFDSHIM_CONFORM_ACTOR_H
#define KFDSHIM_CONFORM_ACTOR_H

#include "conform/lab.h"

struct actor {
	struct child child;
	pid_t pid;
};

/* Starts one and gives it the orders, which must all succeed. */
void actor_start(struct actor *actor, const char *orders);
int actor_do(struct actor *actor, char order);
void actor_tell(struct actor *actor, char order); /* does not wait */
bool actor_answers(struct actor *actor, unsigned ms, int *answer);
void actor_aim(struct actor *actor, pid_t pid);
void actor_kill(struct actor *actor); /* by SIGKILL; and waits for it */
/* One that is traced and has stopped at a signal gets it and goes on. */
void let_go_on(pid_t pid);
void actor_end(struct actor *actor);

/* DBG_TRAP with any arguments. */
int trap_call(int kfd, struct kfdabi_dbg_trap *args, pid_t pid, uint32_t op);
/* ENABLE on one at runtime state 1. Where a GPU has one debugged process only,
 * that of an earlier check may not be quite gone: it waits for that. */
void session_open(int kfd, pid_t pid, uint64_t mask, int dbg_fd);
/* A child that traces nobody and is traced by us, at runtime state 1 with one
 * queue, and our session on it; *kfd is ours. events: our ends of a pipe given
 * as dbg_fd (the write end is closed in the caller), or NULL. */
void debugged(struct actor *actor, int *kfd, uint64_t mask, int *events);
/* NEW goes away, then queue 0 is suspended: how many were. */
int clear_and_suspend(int kfd, pid_t pid);
/* Bytes that stand in a pipe; -1: the other end is closed and it is empty. */
int dots(int fd);

#endif
