/* SPDX-License-Identifier: MIT */
/*
 * The two kinds of shared memory between the daemon and its clients (the shims in the workloads):
 *  - client shared memory (`struct client_shm`): one memfd for each client, mapped by the client
 *    and by the daemon, of which each writes its own fields only;
 *  - daemon shared memory (`struct daemon_shm`): one memfd that only the daemon can write, mapped
 *    read-only by all clients.
 * Shims without a daemon use client shared memory between each other, each as a file
 * (shim/links/peers.h).
 *
 * Rules
 * - Every field has one writer, named beside it. All fields that the other side reads are accessed
 *   with the __atomic builtins through the accessors of client_shm.c. Nothing here is a lock.
 * - For the daemon, client shared memory is hostile input: it copies a value, checks the copy and
 *   then uses the copy. No value from there is an index or a size before it has been checked.
 * - The client keeps its own state and copies it into the shared memory, so that a restarted
 *   daemon gets everything through new shared memory.
 * - Times are CLOCK_MONOTONIC nanoseconds.
 * - Structs grow at their end only. Memory of version CLIENT_SHM_OLDEST is mapped as large as that
 *   of this version: the missing part reads as 0, and what is written there stays in the mapping.
 */
#ifndef KFDSHIM_CHANNEL_CLIENT_SHM_H
#define KFDSHIM_CHANNEL_CLIENT_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/nodes.h"

#define CLIENT_SHM_MAGIC 0x31454e414c44464bull /* "KFDLANE1" */
#define DAEMON_SHM_MAGIC 0x3144524f4244464bull /* "KFDBORD1" */
#define CLIENT_SHM_VERSION 3u
/* oldest version in use; its struct is the beginning of this one */
#define CLIENT_SHM_OLDEST 2u
#define CLIENT_SHM_NODES GPU_NODES_MAX /* number of KFD nodes that one process can use */
#define CLIENT_SHM_NODES_2 16u	       /* that number in version 2 */
#define CLIENT_SHM_QUEUES 512u	       /* entries of the queue table */
#define CLIENT_SHM_GROUP_MAX 64u       /* bytes of a group's name, with its NUL */
#define CLIENT_SHM_EVENTS 256u	       /* number of events that are kept; a power of two */

/* Whether the process has enabled its runtime for debugging (KFD RUNTIME_ENABLE). */
enum client_shm_runtime {
	/* not known yet: the daemon must not open a debug session */
	CLIENT_SHM_RUNTIME_UNKNOWN = 0,
	CLIENT_SHM_RUNTIME_ENABLED = 1,
	CLIENT_SHM_RUNTIME_NEVER = 2, /* refused (runtime_errno): the process cannot be suspended */
};

/* How the client holds itself when the daemon commands it, or, if no daemon runs, when a more
 * urgent process with the shim has work. */
enum client_shm_level {
	CLIENT_SHM_LEVEL_NONE = 0,
	CLIENT_SHM_LEVEL_SELF = 1,   /* suspends its own queues */
	CLIENT_SHM_LEVEL_GATE = 2,   /* submits no further packets */
	CLIENT_SHM_LEVEL_WEIGHT = 3, /* lowers queue priorities, narrows CU masks */
};

/* By what means the client holds itself at CLIENT_SHM_LEVEL_SELF. */
enum client_shm_own {
	CLIENT_SHM_OWN_NONE = 0,
	CLIENT_SHM_OWN_SESSION = 1, /* a debug session on its own process */
	CLIENT_SHM_OWN_UPDATES =
		2, /* UPDATE_QUEUE (shim/queue_override.h), without a debug session */
};

/* A hold command of the daemon. It is one word, so that the client never reads half a command. It
 * contains what to do, the level, and a number that makes each command a different word.
 * HOLD_CMD_HOLD: hold the process. HOLD_CMD_RELEASE: end the hold. HOLD_CMD_PREPARE: end the hold
 * and prepare a later one: open a debug session on the own process if the level is
 * CLIENT_SHM_LEVEL_SELF, and close it if it is any other level. */
#define HOLD_CMD(level, what, number)                                                              \
	((uint32_t)(number) << 16 | (uint32_t)(level) << 8 | (uint32_t)(what))
#define HOLD_CMD_RELEASE 0u
#define HOLD_CMD_HOLD 1u
#define HOLD_CMD_PREPARE 2u
#define HOLD_CMD_IS_HOLD(hold_cmd) ((hold_cmd)&HOLD_CMD_HOLD)
#define HOLD_CMD_IS_PREPARE(hold_cmd) ((hold_cmd)&HOLD_CMD_PREPARE)
#define HOLD_CMD_LEVEL(hold_cmd) ((hold_cmd) >> 8 & 0xffu)

enum client_shm_queue_state {
	CLIENT_SHM_QUEUE_IDLE = 0,
	CLIENT_SHM_QUEUE_ACTIVE = 1,
	CLIENT_SHM_QUEUE_BLOCKED = 2, /* not empty; waits for a signal that other work sets */
};

/* A queue type in addition to KFD_IOC_QUEUE_TYPE_*. */
#define CLIENT_SHM_TYPE_DRM 64u /* DRM user queue: reported, but cannot be suspended */

/* An entry of the queue table. Written by the client under the sequence counter `seq`. */
struct client_shm_queue {
	uint32_t seq;	  /* odd while the client writes the entry */
	uint32_t used;	  /* 0: the entry is free */
	uint32_t context; /* number of the KFD context of the process; 0: the first (or only) */
	uint32_t queue_id;
	uint32_t gpu_id;
	uint32_t type; /* KFD_IOC_QUEUE_TYPE_*, or CLIENT_SHM_TYPE_DRM */
	uint32_t priority;
	uint32_t percent;
	uint32_t cu_bits;     /* number of CUs in its mask; 0: it has no mask */
	uint32_t hooked;      /* 1: a hook has seen its doorbell rung */
	uint32_t cooperative; /* 1: it has the node's GWS */
	uint32_t state;	      /* enum client_shm_queue_state, to the client's knowledge */
	/* Addresses in the client. */
	uint64_t ring_address;
	uint64_t ring_bytes;
	uint64_t rptr_address;
	uint64_t wptr_address;
	uint64_t hsa_queue; /* its hsa_queue_t; 0: not known */
	uint64_t cwsr_address;
	uint32_t cwsr_bytes;
	uint32_t pad;
};

/* The client's state on a KFD node. Appended by the client, never removed. */
struct client_shm_node {
	uint32_t gpu_id; /* 0: free */
	uint32_t pad;
	uint64_t activity;   /* number of changes << 1 | active */
	uint64_t active_ns;  /* ns; when the node last became active */
	uint64_t idle_ns;    /* ns; when the node last became idle */
	uint64_t vram_bytes; /* bytes of VRAM allocated by this process */
};

/* Kinds of events in the client's event log, which `kfdsched status PID --dump` prints. */
enum client_shm_event_kind {
	CLIENT_SHM_EVENT_NONE = 0,
	CLIENT_SHM_EVENT_QUEUE_CREATED = 1,
	CLIENT_SHM_EVENT_QUEUE_UPDATED = 2, /* value: percent << 32 | priority */
	CLIENT_SHM_EVENT_QUEUE_DESTROYED = 3,
	CLIENT_SHM_EVENT_QUEUE_ACTIVE = 4,  /* value: write pointer, as last read */
	CLIENT_SHM_EVENT_QUEUE_IDLE = 5,    /* value: write pointer; all packets before it are over,
					 and none is submitted behind it */
	CLIENT_SHM_EVENT_QUEUE_BLOCKED = 6, /* value: as in ACTIVE */
	CLIENT_SHM_EVENT_HELD = 7,	    /* value: enum client_shm_level */
	CLIENT_SHM_EVENT_RELEASED = 8,	    /* value: enum client_shm_level */
	CLIENT_SHM_EVENT_SESSION = 9,	    /* value: 1 begin, 0 end of a debug session on itself */
	CLIENT_SHM_EVENT_RUNTIME = 10,	    /* value: enum client_shm_runtime */
	CLIENT_SHM_EVENT_FAILED = 11,	    /* value: errno of the previous event, which failed */
	CLIENT_SHM_EVENT_KINDS
};

struct client_shm_event {
	/* counts from 1; stored after the other fields; 0 while the event is being written */
	uint64_t number;
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint32_t kind;
	uint32_t context;
	uint32_t queue_id;
	uint32_t gpu_id;
	uint64_t value;
};

/*
 * Client shared memory.
 *
 * Teardown: a DESTROY_QUEUE or runtime disable of a suspended process sleeps in the driver until
 * the process is resumed. So the client adds 1 to `teardown_begin` before such a call, and 1 to
 * `teardown_end` when the call has returned. If the process is suspended, the client waits for at
 * most 10 ms before the call: the daemon resumes the process and then copies `teardown_begin` to
 * `teardown_granted`. The daemon does not suspend the process again until `teardown_end` equals
 * `teardown_begin`.
 */
struct client_shm {
	/* Written by the creator before the memory is shared. */
	uint64_t magic;
	uint32_t version;
	uint32_t size; /* client_shm_bytes(version) */

	/* Written by the client. */
	_Alignas(64) uint32_t runtime; /* enum client_shm_runtime */
	int32_t runtime_errno;	       /* > 0: reason of CLIENT_SHM_RUNTIME_NEVER */
	/* number of changes of the queue table, without those that change only the `state` of a
	 * queue */
	uint32_t queue_generation;
	uint32_t teardown_begin; /* number of teardown calls begun; see above */
	uint32_t teardown_end;	 /* number of teardown calls that have returned */
	/* enum client_shm_own. Never CLIENT_SHM_OWN_SESSION while `runtime` is
	 * CLIENT_SHM_RUNTIME_ENABLED, which allows the daemon to open a debug session */
	uint32_t own_session;
	uint32_t hold_cmd_done; /* last hold command carried out */
	/* > 0: errno with which the command failed, so that the process is not held. Can be set
	 * later than hold_cmd_done, if a hold is lost */
	int32_t hold_cmd_errno;
	uint64_t events_number;		  /* number of the newest event in events[] */
	int32_t priority;		  /* first as in protocol_hello; can change later */
	uint32_t slo_us;		  /* first as in protocol_hello; can change later */
	uint32_t hold_cmd_us;		  /* time taken for hold_cmd_done, in us */
	char group[CLIENT_SHM_GROUP_MAX]; /* NUL-terminated, may be empty */
	uint32_t queue_end;		  /* entries of queues[] from here on were never used */

	/* Written by the daemon. */
	_Alignas(64) uint32_t session; /* 1: the daemon holds a debug session on this process */
	uint32_t suspended;	       /* 1: the process' queues are suspended, or about to be */
	/* value of `teardown_begin` up to which the daemon has resumed the process; a futex, woken
	 * on change; see above */
	uint32_t teardown_granted;
	/* hold command, HOLD_CMD(); 0: none yet. The client is woken after the store */
	uint32_t hold_cmd;

	/* Written by the client. client_shm_node() reaches these nodes and more_nodes. */
	_Alignas(64) struct client_shm_node nodes[CLIENT_SHM_NODES_2];
	_Alignas(64) struct client_shm_queue queues[CLIENT_SHM_QUEUES];
	struct client_shm_event
		events[CLIENT_SHM_EVENTS]; /* ring; event n is events[n % CLIENT_SHM_EVENTS] */

	/* Written by the client; from version 3 on. */
	struct client_shm_node more_nodes[CLIENT_SHM_NODES - CLIENT_SHM_NODES_2];
	/* number of driver calls in progress that can hold the driver's mutex of the process for
	 * long: ALLOC and FREE_MEMORY_OF_GPU, MAP_MEMORY_TO_GPU, UNMAP_MEMORY_FROM_GPU,
	 * IMPORT_DMABUF */
	uint32_t pinning;
};

/* The state of a KFD node, taken over the work of all clients. */
struct daemon_shm_node {
	uint32_t gpu_id;
	uint32_t urgent;    /* 1: work uses the node at the same time as more urgent work */
	uint32_t suspended; /* number of suspended processes that had work on the node */
	uint32_t pad;
};

/* Daemon shared memory. */
struct daemon_shm {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint64_t heartbeat_ns; /* when the daemon's loop last ran; at most 100 ms ago */
	uint32_t asleep;       /* 1: the daemon sleeps; write the eventfd after a change */
	uint32_t node_count;
	struct daemon_shm_node nodes[CLIENT_SHM_NODES];
};

/* Return the size of client and of daemon shared memory of a version; 0: unknown version. */
size_t client_shm_bytes(uint32_t version);
size_t daemon_shm_bytes(uint32_t version);
/* Returns the number of nodes in client or daemon shared memory of a version. */
static inline uint32_t client_shm_nodes(uint32_t version)
{
	return version == CLIENT_SHM_OLDEST ? CLIENT_SHM_NODES_2 : CLIENT_SHM_NODES;
}
/* Returns the node entry of a slot, which must be below CLIENT_SHM_NODES. */
static inline struct client_shm_node *client_shm_node(struct client_shm *shm, uint32_t slot)
{
	return slot < CLIENT_SHM_NODES_2 ? &shm->nodes[slot]
					 : &shm->more_nodes[slot - CLIENT_SHM_NODES_2];
}
/* Returns the gpu_id of a slot; 0: the slot is free, or out of range. */
static inline uint32_t client_shm_node_id(const struct client_shm *shm, uint32_t slot)
{
	if (slot >= CLIENT_SHM_NODES)
		return 0;
	return __atomic_load_n(&client_shm_node((struct client_shm *)(uintptr_t)shm, slot)->gpu_id,
			       __ATOMIC_ACQUIRE);
}

/*
 * Create, for the daemon, shared memory and map it at *out, writable. Return its fd (close-on-exec,
 * owned by the caller) or a negative errno. The size is sealed. Daemon shared memory also has
 * F_SEAL_FUTURE_WRITE, so that only the returned mapping can write it.
 */
int client_shm_create(uint32_t version, struct client_shm **out);
int daemon_shm_create(uint32_t version, struct daemon_shm **out);
/* Map, for the client, the fd that the daemon sent, which stays open. Return 0 or a negative errno;
 * -EPROTO, if size, seals, magic or version are not as expected; *out is set on success only. */
int client_shm_map(int fd, struct client_shm **out);
int daemon_shm_map(int fd, const struct daemon_shm **out);
void client_shm_unmap(struct client_shm *shm);
void daemon_shm_unmap(const struct daemon_shm *daemon_shm);

/*
 * For the client: publish its state. One writing thread at a time (the agent's lock).
 */

/* Write or clear an entry of the queue table. Slots from CLIENT_SHM_QUEUES on are ignored. */
void client_shm_queue_write(struct client_shm *shm, uint32_t slot,
			    const struct client_shm_queue *queue);
void client_shm_queue_clear(struct client_shm *shm, uint32_t slot);
/* Returns the slot of a node, which is appended if it is new; -ENOSPC: no room in this version. */
int client_shm_node_slot(struct client_shm *shm, uint32_t gpu_id);
/* Marks the node active or idle since `now_ns`. Returns true if that changed its state. Ends with a
 * full fence, and the caller has to read daemon_shm->asleep next. So either the daemon reads this
 * change before it sleeps, or the caller reads that the daemon sleeps. */
bool client_shm_node_set(struct client_shm *shm, uint32_t slot, bool active, uint64_t now_ns);
/* Appends an event: a copy of *event with the next number. */
void client_shm_event_add(struct client_shm *shm, const struct client_shm_event *event);

/*
 * For the daemon: read client shared memory, which is not trusted.
 */

/* Returns the number of entries of the queue table that were ever used. To read entries behind
 * these would allocate pages for them. */
uint32_t client_shm_queue_end(const struct client_shm *shm);
/*
 * Copies an entry of the queue table. Returns 0 or
 *  -EAGAIN: the client changed it during each of a bounded number of tries;
 *  -ENOENT: the entry is free, or the slot is out of range;
 *  -ERANGE: a field is outside its range.
 */
int client_shm_queue_read(const struct client_shm *shm, uint32_t slot,
			  struct client_shm_queue *out);
/*
 * Copies the event with this number. Returns 0 or
 *  -ENOENT: there is no such event yet, or no more;
 *  -EAGAIN: it is being overwritten, so it will not be there again;
 *  -ERANGE: its kind is unknown.
 */
int client_shm_event_read(const struct client_shm *shm, uint64_t number,
			  struct client_shm_event *out);
/* Copies the entry of a node. Returns 0, or -ENOENT if the slot is free or out of range. */
int client_shm_node_read(const struct client_shm *shm, uint32_t slot, struct client_shm_node *out);

/* Return the name of an enum client_shm_level, client_shm_queue_state or client_shm_event_kind: one
 * word, as in logs and JSON (docs/reference/status.md); "?" for an unknown value. Static
 * strings. */
const char *client_shm_level_name(uint32_t level);
const char *client_shm_state_name(uint32_t state);
const char *client_shm_event_name(uint32_t kind);

#endif
