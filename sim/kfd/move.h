/* SPDX-License-Identifier: MIT */
/*
 * Moves: the bytes that a packet's end (PM4: its beginning) brings from one place
 * to another. However many these are, they are moved in pieces, so that nobody
 * else waits for them: at once as many as fit into a millisecond, and into a
 * quarter of the time; the rest by a thread of ordinary priority that leaves the
 * world's lock between slices and to whoever waits for it. Only when all are moved does the packet complete, and
 * what its queue does meanwhile in the GPU model is held back till then, in order.
 *
 * Threads, times: sim/kfd/kfd.h. Errors: negative errno.
 */
#ifndef KFDSHIM_SIM_KFD_MOVE_H
#define KFDSHIM_SIM_KFD_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/gpu/gpu.h"

struct world;
struct queue;

#define MOVE_PATTERN_MAX 256u

/* Slices of rows of bytes; pitches in bytes, modulo 2^64. */
struct move {
	uint64_t dst, src;
	uint64_t bytes, rows, slices; /* one of them 0: there is nothing to move */
	uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
	uint64_t at, row, slice; /* how far it is; at: in the row */
	uint64_t fault;		 /* the address that could not be accessed */
	uint32_t pattern_bytes;	 /* each row is filled with the pattern; 0: copied */
	char pattern[MOVE_PATTERN_MAX];
};

/* Of a queue: what it moves, and what waits for the end of that. */
struct moving {
	struct move move;
	bool under_way; /* in world.moves or, where it is over, in world.moved */
	bool over;
	struct gpu_event by;	/* whose effect it is */
	struct gpu_event *held; /* events of the queue since */
	unsigned n_held;
};

/* Moves what queue->moving.move says. 0: all is moved. 1: it is not, and the caller
 * has to return: the move is under way, and the packet's effects are asked for
 * again when it is over; or the queue has stopped with a memory fault. */
int move_begin(struct queue *queue);
/* An event of a queue whose move is under way. False: there is no room for it; this
 * happens only to WORKGROUPS. */
bool move_hold(struct queue *queue, const struct gpu_event *event);
/* Takes a queue whose move is over out of world.moved; NULL: there is none. */
struct queue *move_next_over(struct world *world);
void move_drop(struct queue *queue); /* the queue goes */

int moves_start(struct world *world); /* the thread */
void moves_stop(struct world *world);

#endif
