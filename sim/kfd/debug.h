/* SPDX-License-Identifier: MIT */
/*
 * Inside DBG_TRAP: debug.c lets a call in and keeps the session, and hands its
 * operation to the file that has the subject. Each operation is called with the
 * target's mutex free and all gates passed; it answers with 0 or more, a
 * negative errno, or CALL_PENDING. One thread.
 */
#ifndef KFDSHIM_SIM_KFD_DEBUG_H
#define KFDSHIM_SIM_KFD_DEBUG_H

#include "sim/kfd/kfd.h"

/* debug_events.c */
int debug_send_event(struct call *call, struct process *target);
int debug_set_exceptions(struct call *call, struct process *target);

/* debug_queues.c */
int debug_suspend(struct call *call, struct process *target);
int debug_resume(struct call *call, struct process *target);
int debug_queue_snapshot(struct call *call, struct process *target);
/* It may be mapped again at the next bounce. */
void debug_resume_queue(struct queue *queue);

#endif
