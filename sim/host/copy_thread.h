/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills of memory that a packet makes when it ends (PM4: when it begins).
 *
 * However large a copy is, it is done in pieces, so that no other work is delayed for long. As much
 * as fits into 1 ms, and into a quarter of the time, is copied at once. The rest is copied by the
 * copy thread, which has ordinary priority and releases sim->lock between slices and as soon as
 * another thread waits for it. The packet completes when all bytes are copied; until then further
 * events of its queue are held back in order.
 *
 * Threads, times: sim/host/sim_priv.h. Errors: negative errno.
 */
#ifndef KFDSHIM_SIM_HOST_COPY_THREAD_H
#define KFDSHIM_SIM_HOST_COPY_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/gpu/gpu.h"

struct sim;
struct queue;

#define MOVE_PATTERN_MAX 256u

/* One copy or fill: slices of rows of bytes. Pitches in bytes, modulo 2^64. */
struct move {
	uint64_t dst, src;
	uint64_t bytes, rows, slices; /* if one of them is 0, there is nothing to copy */
	uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
	uint64_t at, row, slice; /* progress; at: byte in the row */
	uint64_t fault;		 /* address that could not be accessed */
	uint32_t pattern_bytes;	 /* length of the pattern that fills each row; 0: copy from src */
	char pattern[MOVE_PATTERN_MAX];
};

/* The background copy of a queue, and what waits for its end. */
struct moving {
	struct move move;
	bool under_way; /* in world.moves or, when it is over, in world.moved */
	bool over;
	struct gpu_event by;	/* event that caused the copy */
	struct gpu_event *held; /* later events of the queue, in order; owned */
	unsigned n_held;
};

/* Starts the copy in queue->moving.move. Returns 0 if all bytes are copied. Returns 1 if the caller
 * has to return: either the copy continues in the background, and the packet's effects are carried
 * out again when it is over, or the queue has stopped with a memory fault. */
int move_begin(struct queue *queue);
/* Holds back an event of a queue whose copy is in progress. Returns false if there is no room,
 * which happens only to GPU_EVENT_WORKGROUPS. */
bool move_hold(struct queue *queue, const struct gpu_event *event);
/* Removes a queue whose copy is over from world.moved and returns it; NULL: none. */
struct queue *move_next_over(struct sim *sim);
/* Drops the copy of a queue that is being freed. */
void move_drop(struct queue *queue);

/* Starts and ends the copy thread. copy_thread_start() returns 0 or a negative errno; copy_thread_stop() must
 * be called without sim->lock. */
int copy_thread_start(struct sim *sim);
void copy_thread_stop(struct sim *sim);

#endif
