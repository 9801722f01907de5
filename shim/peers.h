/* SPDX-License-Identifier: MIT */
/*
 * Without a daemon: the shims of one user find each other and hold themselves
 * back for a peer of higher priority.
 *
 * Where: $XDG_RUNTIME_DIR/kfdshim, or if that variable is not set, or names no folder
 * of this user, /dev/shm/kfdshim-UID.
 * Each process has there PID-START.lane (a struct lane of which it writes the fixed
 * fields, nodes[], and for whoever looks from outside queues[] without what changes with
 * work: state and hooked) and PID-START.socket (datagrams: one byte says that
 * there is something to look at). START is a clock in us when they were made, so that
 * an exec leads to other names.
 *
 * Only the owner writes a lane, by pwrite, and others pread it: neither side
 * maps it, so that nobody can be hurt by a file cut short or a full tmpfs. Its
 * owner holds a POSIX lock on it for life: no lock, no process, and the files
 * are removed; a lock whose owner's pid is not the one in the name comes from
 * another pid namespace, and that peer is left alone.
 *
 * Processes of one KFDSHIM_GROUP are one unit: of its members' highest priority,
 * on all nodes where any of them has queues, active while any of them is.
 */
#ifndef KFDSHIM_SHIM_PEERS_H
#define KFDSHIM_SHIM_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queues.h"

/* The sampler's thread only. `alone`: there is no daemon. Returns when it wants
 * to be called again (CLOCK_MONOTONIC ns, UINT64_MAX: not by itself; so it is without
 * queues), or when peers_socket (-1: none, or not now) can be read. Decides, and calls
 * hold_set. */
uint64_t peers_step(uint64_t now_ns, bool alone);
int peers_socket(void);
/* Its descriptors are not there any more: the program has closed them. */
void peers_lost(void);
/* A daemon is there: releases what a peer held, tells the peers no more. */
void peers_stop(void);

/* Under the lock: a node of this process became active or idle, or is new. Tells
 * peers of lower priority: a few itself, so that a doorbell's cost is bounded; the rest
 * in peers_step(). Keeps errno. */
void peers_node(uint32_t gpu_id, bool active, uint64_t now_ns);

/* Under the lock: a queue is new or another one, or gone. Keep errno. */
void peers_queue(const struct queue *queue);
void peers_queue_gone(const struct queue *queue);

/* Fork child. */
void peers_forget(void);

#endif
