/* SPDX-License-Identifier: MIT */
/*
 * Peers: without a daemon, the shims of one user find each other, and each holds its own process
 * back while a peer of higher priority is active.
 *
 * Directory: $XDG_RUNTIME_DIR/kfdshim; /dev/shm/kfdshim-UID if that variable is not set or does not
 * name a directory of this user. Each process has two files there:
 * - PID-START.lane: a struct client_shm. The process writes its fixed fields, nodes[], and for
 *   observers from outside queues[], without the fields that change with work (state and hooked).
 * - PID-START.socket: receives datagrams; one byte announces a change.
 *
 * START is the clock in us when the files were made, so that a process has other names after an
 * exec.
 *
 * Only the owner writes its file, by pwrite(), and the others read it by pread(). No process maps
 * it, so a file that is cut short and a full tmpfs harm no process. The owner holds a POSIX lock on
 * the file for its whole life. A file without a lock belongs to a process that is dead, and is
 * removed. If the lock's owner has another pid than the file's name, the peer lives in another pid
 * namespace and is ignored.
 *
 * The processes of one KFDSHIM_GROUP are one gang: it has the highest priority of its members, uses
 * all nodes where a member has queues, and is active while a member is.
 */
#ifndef KFDSHIM_SHIM_LINKS_PEERS_H
#define KFDSHIM_SHIM_LINKS_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queue_table.h"

/* Finds peers, reads their changes, decides whether to hold this process, and calls hold_set().
 * @alone: there is no daemon; otherwise peers_stop() is done. Sampler's thread only.
 * Returns the time of the next call, CLOCK_MONOTONIC ns; UINT64_MAX: no call is needed, for example
 * without queues. To be called also when peers_socket() is readable. */
uint64_t peers_step(uint64_t now_ns, bool alone);
/* Returns the socket to be polled for reading; -1: none, or not now. Sampler's thread only. */
int peers_socket(void);
/* Stops the use of peers, because the program has closed the file descriptors of this module, and
 * tries again after 10 s. Sampler's thread only. */
void peers_lost(void);
/* Stops the use of peers, because a daemon has taken over: releases this process if it was held for
 * a peer, and removes its files. Sampler's thread only. */
void peers_stop(void);

/* Writes the state of a node that became active or idle, or is new, to the file of this process,
 * and notifies the peers of lower priority: the first of them directly, so that a doorbell wakes
 * one process, the others in peers_step(), for which it wakes the sampler. Under the agent's lock;
 * keeps errno. */
void peers_node(uint32_t gpu_id, bool active, uint64_t now_ns);

/* Write a queue that is new, has changed, or is gone to this process's file. Under the agent's
 * lock; both keep errno. */
void peers_queue(const struct shim_queue *queue);
void peers_queue_gone(const struct shim_queue *queue);

/* In a fork child: closes what belongs to the parent, without removing its files. */
void peers_forget(void);

#endif
