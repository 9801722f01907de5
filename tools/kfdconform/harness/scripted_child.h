/* SPDX-License-Identifier: MIT */
/*
 * Scripted child processes that do one thing at a time on command, so that a check reads as a list
 * of the actions of several processes. A letter is a command. The answer is the return value of the
 * action (>= 0 or -errno), or what is stated below.
 *
 * On its own device:
 *   o  open /dev/kfd and a render node       c  close /dev/kfd
 *   r  enable the runtime                    R  disable it
 *   q  create a queue; answer: its id        d  destroy the newest queue
 *   w  submit a small dispatch to queue 0    W  answer: 1 if it is done within 1 s, else 0
 *   z  answer: 1 if it is done in 12 ms      A  install a handler of SIGALRM, without restart
 *   m  create a memory fault event           M  answer: 1 if it is set within 50 ms, else 0
 *                                            C  answer: 1 if it is set within 1 s, else 0
 *   b  submit a packet without dimensions    v  submit a packet that faults (b, v: queue 0)
 *   h  request the errors of queue 0 in its save area
 *   p  answer: 1 if there is one 12 ms later B  answer: 1 if there is one within 1 s, else 0
 *   u  use the file descriptor (GET_VERSION)
 *   t  create a second thread; answer: id    l  let it serve the commands; the first thread exits
 *   f  fork a child that does nothing; answer: its pid    F  kill that child
 *   k  abort() (no answer)
 *   x  execute cat, which ends when the pipe is closed (no answer)
 * On the target process that was set with scripted_aim():
 *   S  PTRACE_SEIZE     T  PTRACE_DETACH
 *   E  ENABLE without exceptions             D  DISABLE
 *   e  ENABLE with a bad dbg_fd              2  ENABLE in another thread
 *   P  clear NEW of all queues, then suspend queue 0; answer: number of suspended queues
 *   n  snapshot without room; answer: number of queues
 *   N  the same in another thread            V  SEND_RUNTIME_EVENT with the runtime exception
 */
#ifndef KFDSHIM_TOOLS_KFDCONFORM_HARNESS_SCRIPTED_CHILD_H
#define KFDSHIM_TOOLS_KFDCONFORM_HARNESS_SCRIPTED_CHILD_H

#include "tools/kfdconform/harness/harness.h"

struct scripted_child {
	struct child child;
	pid_t pid;
};

/* Starts a scripted child and sends it the commands of the string, all of which must succeed. */
void scripted_start(struct scripted_child *scripted, const char *steps);
/* Sends a command and waits for the answer, for at most 3 s. */
int scripted_do(struct scripted_child *scripted, char step);
/* Sends the commands of a string such as "S E P=1", one by one. The answer to each must be the
 * number behind "=", or 0 if there is none. */
#define STEPS(scripted, steps) scripted_steps(__FILE__, __LINE__, scripted, steps)
void scripted_steps(const char *file, int line, struct scripted_child *scripted, const char *steps);
/* Sends a command and does not wait for the answer. */
void scripted_send(struct scripted_child *scripted, char step);
/* Returns whether an answer arrives within so many milliseconds, and writes it to *reply. */
bool scripted_replies(struct scripted_child *scripted, unsigned ms, int *reply);
/* Sets the target process of the commands S to V (the last group of the list above). */
void scripted_aim(struct scripted_child *scripted, pid_t pid);
/* Kills the scripted child with SIGKILL and waits for its end. */
void scripted_kill(struct scripted_child *scripted);
/* Delivers a signal at which the traced process has stopped, if any, and continues the process. */
void let_go_on(pid_t pid);

/* Calls ENABLE on a process at runtime state 1 (enabled). On a GPU that allows only one debugged
 * process, the session of an earlier check may not have ended completely. In that case the call is
 * repeated up to 200 times, 5 ms apart; then the check ends as "not applicable". */
void session_open(int kfd, pid_t pid, uint64_t mask, int dbg_fd);
/* Starts a scripted child with an enabled runtime and one queue, becomes its tracer, and opens a
 * debug session on it. *kfd: set to the caller's file descriptor of /dev/kfd. *events: set to the
 * read end of the pipe whose write end the driver has as dbg_fd; events can be NULL. */
void debugged(struct scripted_child *scripted, int *kfd, uint64_t mask, int *events);
/* Clears NEW of all queues, then suspends queue 0. Returns the number of suspended queues or a
 * negative errno. */
int clear_and_suspend(int kfd, pid_t pid);
/* Reads the available bytes of a pipe, at most 64. Returns their number: 0 if there are none, -1 if
 * there are none and the other end is closed. */
int dots(int fd);

#endif
