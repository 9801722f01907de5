/* SPDX-License-Identifier: MIT */
/*
 * The lane: one memfd that a client (the shim in a workload) and the daemon
 * both map, each writing its own fields only. The board: one memfd that only
 * the daemon writes.
 *
 * Rules
 * - Every field has one writer, named beside it. All fields that the other
 *   side reads are accessed with the __atomic builtins through the accessors
 *   of lane.c; nothing here is a lock.
 * - For the daemon a lane is hostile input: copy, check, then use. No value
 *   of a lane is an index or a size for the daemon until it was checked.
 * - The client keeps its own truth and copies it into a lane, so that a new
 *   daemon gets everything from a fresh lane.
 * - Times are CLOCK_MONOTONIC nanoseconds.
 * - Structs grow at their end alone. A lane or board of LANE_OLDEST is mapped as one of this version:
 *   what it lacks reads as 0, and what is written there stays in the mapping.
 */
#ifndef KFDSHIM_CHANNEL_LANE_H
#define KFDSHIM_CHANNEL_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/nodes.h"

#define LANE_MAGIC 0x31454e414c44464bull  /* "KFDLANE1" */
#define BOARD_MAGIC 0x3144524f4244464bull /* "KFDBORD1" */
#define LANE_VERSION 3u
#define LANE_OLDEST 2u		 /* the same without what is behind its part (lane_bytes()) */
#define LANE_NODES GPU_NODES_MAX /* KFD nodes one process can use */
#define LANE_NODES_2 16u	 /* in version 2 */
#define LANE_QUEUES 512u	 /* queue table */
#define LANE_GROUP_MAX 64u	 /* with its NUL */
#define LANE_EVENTS 256u	 /* the last of them are kept; a power of two */

/* Has this process a debug-capable runtime (KFD RUNTIME_ENABLE)? */
enum lane_runtime {
	LANE_RUNTIME_UNKNOWN = 0, /* not yet: the daemon must not ENABLE */
	LANE_RUNTIME_ENABLED = 1,
	LANE_RUNTIME_NEVER = 2, /* refused (runtime_errno): cannot be suspended */
};

/* How the client holds itself back when the daemon, or a peer, tells it to. */
enum lane_level {
	LANE_LEVEL_NONE = 0,
	LANE_LEVEL_SELF = 1,   /* suspends its own queues */
	LANE_LEVEL_GATE = 2,   /* submits nothing more */
	LANE_LEVEL_WEIGHT = 3, /* queue priorities and CU masks */
};

/* By what it can hold itself at level self. */
enum lane_own {
	LANE_OWN_NONE = 0,
	LANE_OWN_SESSION = 1, /* a debug session on itself */
	LANE_OWN_UPDATES = 2, /* UPDATE_QUEUE (shim/updates.h): there is no session */
};

/* The daemon's order is one word, so that it is never half an order: what to do, by
 * which level, and a number that makes each order another word. To prepare is to
 * release, and to have what the level needs and nothing that others do: for self a
 * debug session on itself, for the rest none. */
#define LANE_ORDER(level, what, number)                                                            \
	((uint32_t)(number) << 16 | (uint32_t)(level) << 8 | (uint32_t)(what))
#define LANE_RELEASE 0u
#define LANE_HOLD 1u
#define LANE_PREPARE 2u
#define LANE_ORDER_HOLD(order) ((order)&LANE_HOLD)
#define LANE_ORDER_PREPARE(order) ((order)&LANE_PREPARE)
#define LANE_ORDER_LEVEL(order) ((order) >> 8 & 0xffu)

enum lane_queue_state {
	LANE_QUEUE_IDLE = 0,
	LANE_QUEUE_ACTIVE = 1,
	LANE_QUEUE_BLOCKED = 2, /* not drained, but it stands on somebody else's signal */
};

/* Kinds beside KFD_IOC_QUEUE_TYPE_*. */
#define LANE_TYPE_DRM 64u /* DRM user queue: seen, cannot be suspended */

/* One queue. Written by the client under `seq`: odd while it writes. */
struct lane_queue {
	uint32_t seq;
	uint32_t used;	  /* 0: free entry */
	uint32_t context; /* of the process's KFD contexts; 0: its first (or only) */
	uint32_t queue_id;
	uint32_t gpu_id;
	uint32_t type; /* KFD_IOC_QUEUE_TYPE_*, or LANE_TYPE_DRM */
	uint32_t priority;
	uint32_t percent;
	uint32_t cu_bits;     /* CUs in its mask; 0: it has none */
	uint32_t hooked;      /* 1: its doorbell has been seen by a hook */
	uint32_t cooperative; /* 1: it has the node's GWS */
	uint32_t state;	      /* enum lane_queue_state, as far as the client knows */
	uint64_t ring_address;
	uint64_t ring_bytes;
	uint64_t rptr_address;
	uint64_t wptr_address;
	uint64_t hsa_queue; /* address of its hsa_queue_t; 0: none known */
	uint64_t cwsr_address;
	uint32_t cwsr_bytes;
	uint32_t pad;
};

/* Per KFD node; appended by the client, never removed. */
struct lane_node {
	uint32_t gpu_id; /* 0: free */
	uint32_t pad;
	uint64_t activity;   /* transitions << 1 | active */
	uint64_t active_ns;  /* when it last became active */
	uint64_t idle_ns;    /* when it last became idle */
	uint64_t vram_bytes; /* allocated by this process */
};

/* What happened, in order: for `kfdsched status PID --dump`. */
enum lane_event_kind {
	LANE_EVENT_NONE = 0,
	LANE_EVENT_QUEUE_CREATED = 1,
	LANE_EVENT_QUEUE_UPDATED = 2, /* value: percent << 32 | priority */
	LANE_EVENT_QUEUE_DESTROYED = 3,
	LANE_EVENT_QUEUE_ACTIVE = 4,  /* value: its write pointer as last seen */
	LANE_EVENT_QUEUE_IDLE = 5,    /* the same; all before it is over, nothing after it */
	LANE_EVENT_QUEUE_BLOCKED = 6, /* value: as in ACTIVE */
	LANE_EVENT_HELD = 7,	      /* value: enum lane_level */
	LANE_EVENT_RELEASED = 8,      /* the same */
	LANE_EVENT_SESSION = 9,	      /* value: 1 begun, 0 ended: a debug session on itself */
	LANE_EVENT_RUNTIME = 10,      /* value: enum lane_runtime */
	LANE_EVENT_FAILED = 11,	      /* value: errno, of what the event before says */
	LANE_EVENT_KINDS
};

struct lane_event {
	uint64_t number; /* from 1; written last, 0 while it is written */
	uint64_t ns;
	uint32_t kind;
	uint32_t context;
	uint32_t queue_id;
	uint32_t gpu_id;
	uint64_t value;
};

struct lane {
	/* written by whoever makes the lane before anybody else has it */
	uint64_t magic;
	uint32_t version;
	uint32_t size; /* lane_bytes(version) */

	/* client */
	_Alignas(64) uint32_t runtime; /* enum lane_runtime */
	int32_t runtime_errno;	       /* > 0: why LANE_RUNTIME_NEVER */
	uint32_t queue_generation;     /* + 1 after every change of the table */
	uint32_t leaving;	       /* + 1 before a DESTROY_QUEUE or runtime disable that
	                                  a suspension would block; see `released` */
	uint32_t left;		       /* + 1 when that call has returned */
	uint32_t own_session;	       /* enum lane_own; never LANE_OWN_SESSION while `runtime`
	                                  says that the daemon may have one */
	uint32_t order_done;	       /* the last order carried out */
	int32_t order_errno;	       /* > 0: why it could not be; the process is not held.
	                                  It may follow order_done: a hold that was lost */
	uint64_t events_number;	       /* of the newest in events[] */
	int32_t priority;	       /* as in protocol_hello, at first too; it may change */
	uint32_t slo_us;	       /* the same */
	uint32_t order_us;	       /* how long the client took to carry out order_done */
	char group[LANE_GROUP_MAX];    /* NUL-terminated, may be empty */
	uint32_t queue_end;	       /* entries from here on were never used */

	/* daemon */
	_Alignas(64) uint32_t session; /* 1: the daemon holds a debug session on this process */
	uint32_t suspended;	       /* 1: the process' queues are suspended, or about to be */
	uint32_t released;	       /* the value of `leaving` that was served: resumed, and left
	                                  alone until left == leaving. A futex: woken on change */
	uint32_t order;		       /* LANE_ORDER(), 0: none yet; the client is woken after */

	_Alignas(64) struct lane_node nodes[LANE_NODES_2]; /* lane_node() has all of them */
	_Alignas(64) struct lane_queue queues[LANE_QUEUES];
	struct lane_event events[LANE_EVENTS];

	/* client; from version 3 on */
	struct lane_node more_nodes[LANE_NODES - LANE_NODES_2];
};

struct board_node {
	uint32_t gpu_id;
	uint32_t urgent;    /* 1: somebody of higher priority is active on it */
	uint32_t suspended; /* processes suspended because of that */
	uint32_t pad;
};

struct board {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint64_t heartbeat_ns; /* daemon's loop, at most 100 ms old while it lives */
	uint32_t asleep;       /* 1: the daemon sleeps: write the eventfd after a change */
	uint32_t node_count;
	struct board_node nodes[LANE_NODES];
};

/* Of a lane, of a board of this version; 0: it is not known here. */
size_t lane_bytes(uint32_t version);
size_t board_bytes(uint32_t version);
/* So many nodes are in a lane, or on a board, of this version. */
static inline uint32_t lane_nodes(uint32_t version)
{
	return version == LANE_OLDEST ? LANE_NODES_2 : LANE_NODES;
}
/* Below LANE_NODES. */
static inline struct lane_node *lane_node(struct lane *lane, uint32_t slot)
{
	return slot < LANE_NODES_2 ? &lane->nodes[slot] : &lane->more_nodes[slot - LANE_NODES_2];
}
/* The gpu_id of a slot; 0: it is free, or out of range. */
static inline uint32_t lane_node_id(const struct lane *lane, uint32_t slot)
{
	if (slot >= LANE_NODES)
		return 0;
	return __atomic_load_n(&lane_node((struct lane *)(uintptr_t)lane, slot)->gpu_id,
			       __ATOMIC_ACQUIRE);
}

/*
 * Making and mapping. lane_create/board_create: daemon; fd is close-on-exec
 * and size-sealed (the board also F_SEAL_FUTURE_WRITE, so only the returned
 * mapping can write it). Return an fd or a negative errno; *out is the mapping.
 */
int lane_create(uint32_t version, struct lane **out);
int board_create(uint32_t version, struct board **out);
/* Client: maps what the daemon sent. Checks size, seals, magic, version:
 * -EPROTO, and nothing is mapped, when any of them is not ours. */
int lane_map(int fd, struct lane **out);
int board_map(int fd, const struct board **out);
void lane_unmap(struct lane *lane);
void board_unmap(const struct board *board);

/* Client: publish. One writing thread at a time (the agent's own lock). */
void lane_queue_write(struct lane *lane, uint32_t slot, const struct lane_queue *queue);
void lane_queue_clear(struct lane *lane, uint32_t slot);
/* Slot of the node in this lane, appending it if it is new; -ENOSPC: its version has no room. */
int lane_node_slot(struct lane *lane, uint32_t gpu_id);
/* Marks the node active or idle at `now_ns`; does nothing if it already is.
 * Returns true if it changed. Ends with a full fence, so that the caller may
 * then read board->asleep and cannot miss a daemon that goes to sleep. */
bool lane_node_set(struct lane *lane, uint32_t slot, bool active, uint64_t now_ns);
/* Appends an event; `number` is given here, the rest comes from *event. */
void lane_event_add(struct lane *lane, const struct lane_event *event);

/* Daemon: where the entries end that were ever used; to look at the others would make
 * pages of them. */
uint32_t lane_queue_end(const struct lane *lane);
/* Daemon: a consistent copy of one entry. -EAGAIN: torn after a bounded
 * number of tries; -ENOENT: free; -ERANGE: a field is outside its range. */
int lane_queue_read(const struct lane *lane, uint32_t slot, struct lane_queue *out);
/* The event with this number. -ENOENT: not (or no more) there; -EAGAIN: it is
 * being overwritten, so it is as good as gone; -ERANGE: no kind that we know. */
int lane_event_read(const struct lane *lane, uint64_t number, struct lane_event *out);
/* -ENOENT: free slot, or slot out of range. */
int lane_node_read(const struct lane *lane, uint32_t slot, struct lane_node *out);

/* One word for an enum lane_level, lane_queue_state, lane_event_kind, as logs and
 * JSON have it (docs/formats.md); "?" for a number that is none of them. */
const char *lane_level_name(uint32_t level);
const char *lane_state_name(uint32_t state);
const char *lane_event_name(uint32_t kind);

#endif
