/* SPDX-License-Identifier: MIT */
/*
 * Publishes the state of this process in the shared memory of the client (`struct client_shm`), and
 * reads the daemon's fields there and in the daemon's shared memory (`struct daemon_shm`).
 *
 * Without a daemon there is no shared memory, and changes are only written to the debug log
 * (link_event()). The agent keeps the whole state itself, and publishes it to a daemon that starts
 * later.
 */
#ifndef KFDSHIM_SHIM_PUBLISH_H
#define KFDSHIM_SHIM_PUBLISH_H

#include "channel/client_shm.h"
#include "shim/queue_table.h"

/* Publishes one queue. Wakes the daemon if it sleeps and the queue table has changed. Under the
 * agent's lock. */
void link_queue(const struct shim_queue *queue);
/* Withdraws a queue that is being removed from the table. Under the agent's lock. */
void link_queue_gone(const struct shim_queue *queue);
/* Appends an event to the client's shared memory and writes it to the debug log, in the order of
 * the calls. @queue is NULL if the event concerns the process. client_shm.h documents @value for
 * each kind. Under the agent's lock. */
void link_event(enum client_shm_event_kind kind, const struct shim_queue *queue, uint64_t value);
/* Publishes that the node with this index in queues.nodes[] is active or idle. Under the agent's
 * lock. */
void link_node(uint32_t node, bool active, uint64_t now_ns);
/* Publishes whether the runtime is enabled in the driver. @reason: the positive errno if the
 * process can never be suspended, else 0. Under the agent's lock. */
void link_runtime(enum client_shm_runtime state, int reason);
/* Publishes whether the process has a debug session on itself. @error is the positive errno of the
 * last try to open one, or 0. @by_updates: the process can suspend itself by UPDATE_QUEUE instead
 * (queue_override.h). Under the agent's lock. */
void link_session(bool is_open, int error, bool by_updates);
/* Publishes priority and SLO after the application has changed them. Under the agent's lock. */
void link_app_settings(void);
/* Publishes the VRAM that this process has allocated on a node, in bytes. Does not wake the daemon.
 * Under the agent's lock. */
void link_vram(uint32_t gpu_id, uint64_t bytes);
/* Returns true if the daemon has suspended this process, or is about to. Sampler's thread. */
bool link_suspended(void);
/* Returns true if the process is connected to a daemon, or if a daemon listens on the socket. Any
 * thread, not under the agent's lock; keeps errno. */
bool link_has_daemon(void);
/* Stores in queues.nodes[].holds_ns on which nodes the daemon keeps less urgent processes suspended
 * now. Under the agent's lock. */
void link_read_daemon_shm(uint64_t now_ns);

/*
 * To be called before and after a driver call in which a suspended process would sleep
 * (DESTROY_QUEUE, runtime disable). Begin announces the call and, if the process is suspended,
 * waits at most 10 ms for the daemon to resume it. Any thread, not under the agent's lock; both
 * keep errno. Begin returns the shared memory to pass to end, or NULL if there is no daemon.
 */
struct client_shm *link_leave_begin(void);
void link_leave_end(struct client_shm *shm);

/*
 * Announce in the shared memory that a driver call has begun and ended that can hold the driver's
 * mutex of the process for long. A suspend of the process waits for that mutex, and the daemon must
 * not count this wait as time that the GPU needs. The daemon is not woken, because it reads the
 * announcement when it suspends. A daemon that comes during the call gets the announcement, too.
 * Any thread, not under the agent's lock; both keep errno.
 */
void link_pin_begin(void);
void link_pin_end(void);

/* ---- for daemon_link.c: the sampler's thread ---- */

/* Starts to use the shared memory of a new connection, and publishes the whole state, except VRAM.
 * @wake_fd: eventfd that wakes the daemon. Takes ownership of @shm, @daemon_shm and @wake_fd. Under
 * the agent's lock. */
void link_shm_begin(struct client_shm *shm, const struct daemon_shm *daemon_shm, int wake_fd,
		    uint64_t now_ns);
/* Ends the use of the shared memory and unmaps it. Not under the agent's lock. Returns false if
 * there is none, or if a thread is between a _begin() and an _end() function above and still uses
 * it; the caller then tries again later. */
bool link_shm_end(void);
/* Returns the client's shared memory, or NULL. Any thread with the agent's lock held; the sampler's
 * thread also without it. */
struct client_shm *link_shm(void);
/* Wakes the daemon if it sleeps. To be called after a change of the client's shared memory, and
 * only while there is a connection. */
void link_shm_wake(void);
/* Returns the daemon's last heartbeat, CLOCK_MONOTONIC ns; 0: none yet. To be called only while
 * there is a connection. */
uint64_t link_shm_heartbeat_ns(void);
/* Unmaps the shared memory and closes the eventfd, in a fork child. */
void link_shm_forget(void);

#endif
