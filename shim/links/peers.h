/* SPDX-License-Identifier: MIT */
/*
 * Scheduling without a daemon: the shims of one user (peers) find each other by files, and each
 * holds its own process off the GPU while a peer of higher priority is active.
 *
 * Directory: $XDG_RUNTIME_DIR/kfdshim; /dev/shm/kfdshim-UID if that variable is not set or does not
 * name a directory of this user. Each process has two files there:
 * - PID-START.lane: a struct client_shm. The process writes the fields that do not change, and
 *   nodes[]. For tools that observe it, it also writes queues[], without the fields that change
 *   with work (state and hooked).
 * - PID-START.socket: receives datagrams; one byte announces a change.
 *
 * START is the clock in us when the files were made, so that a process has other names after an
 * exec.
 *
 * A process writes its own file by pwrite(); its peers read that file by pread(). No process maps a
 * file, so neither a truncated file nor a full tmpfs can crash a process. The owner holds a POSIX
 * lock on the file for its whole life. A file without a lock belongs to a process that is dead, and
 * is removed. If the lock's owner has another pid than the file's name, the peer lives in another
 * pid namespace and is ignored.
 *
 * The processes of one KFDSHIM_GROUP are one gang: it has the highest priority of its members, uses
 * all nodes where a member has queues, and is active while a member is.
 */
#ifndef KFDSHIM_SHIM_LINKS_PEERS_H
#define KFDSHIM_SHIM_LINKS_PEERS_H

#include "shim/queue_table.h"

/* Finds peers, reads their changes, decides whether to hold this process, and calls hold_set(). If
 * not @alone, a daemon serves the process, and only peers_stop() is called. Sampler's thread only.
 * Returns the time of the next call, CLOCK_MONOTONIC ns; UINT64_MAX: no call is needed, for example
 * without queues. To be called also when peers_socket() is readable. */
uint64_t peers_step(uint64_t now_ns, bool alone);
/* Returns the socket to poll for reading; -1: there is none, or no queue. Sampler's thread only. */
int peers_socket(void);
/* Stops the use of peers and tries again after 10 s. To be called if the program has closed the
 * file descriptors of this module. Sampler's thread only. */
void peers_lost(void);
/* Stops the use of peers: releases this process if it was held for a peer, and removes its files.
 * To be called when a daemon serves the process. Sampler's thread only. */
void peers_stop(void);

/* Writes the state of a node that became active or idle, or is new, to the file of this process,
 * and notifies the peers that this concerns. Notifies only the first peer directly, so that a
 * doorbell sends at most one datagram, and wakes the sampler, which notifies the others in
 * peers_step(). Under the agent's lock; keeps errno. */
void peers_node(uint32_t gpu_id, bool active, uint64_t now_ns);

/* peers_queue() writes a queue that is new or has changed to this process's file,
 * peers_queue_gone() removes one from the file. Under the agent's lock; both keep errno. */
void peers_queue(const struct shim_queue *queue);
void peers_queue_gone(const struct shim_queue *queue);

/* Closes the parent's files in a fork child, without removing them. */
void peers_forget(void);

#endif
