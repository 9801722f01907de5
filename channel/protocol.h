/* SPDX-License-Identifier: MIT */
/*
 * What goes over the daemon's socket (SOCK_SEQPACKET, one struct a packet).
 *
 * Shim: sends hello, gets welcome with four descriptors (SCM_RIGHTS, in this
 * order: lane, board, eventfd that wakes the daemon, and a pipe's end by which the
 * daemon wakes the shim after an order: O_NONBLOCK belongs to the open file, so a file
 * that the daemon writes to must not be the client's as an eventfd would be). Afterwards nothing is sent; the socket only stays
 * open. The peer's identity comes from the kernel, never from hello; its death is
 * its pidfd, never a hang-up.
 * Command: sends hello with PROTOCOL_ASK, gets answer with one descriptor: a
 * memfd that holds `bytes` bytes of JSON text: the state of all, or with `pid` all
 * that is known of one workload.
 * Or with PROTOCOL_ORDER, and the pidfd of the process that it is about (none for
 * PROTOCOL_POLICY): so whom it means is told by the kernel, whatever the pid
 * namespaces, and cannot be another one who has his pid by now. The answer's
 * descriptor holds one sentence, whether it is done (0) or refused.
 * Or with PROTOCOL_EVENTS: after the answer, which has no descriptor, each packet is
 * one event as JSON text (docs/formats.md) of at most PROTOCOL_EVENT_MAX bytes. Who
 * does not read loses some, and is told how many.
 * Or with PROTOCOL_RECENT: answered as PROTOCOL_ASK, the text is a list of the last
 * events.
 */
#ifndef KFDSHIM_CHANNEL_PROTOCOL_H
#define KFDSHIM_CHANNEL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/lane.h"

#define PROTOCOL_MAGIC 0x4453464bu /* "KFSD" */
#define PROTOCOL_VERSION 3u
#define PROTOCOL_SOCKET "/run/kfdsched/socket"
#define PROTOCOL_GROUP_MAX LANE_GROUP_MAX

enum protocol_kind {
	PROTOCOL_SHIM = 1,   /* a workload registers */
	PROTOCOL_ASK = 2,    /* a command asks for the daemon's state */
	PROTOCOL_ORDER = 3,  /* a command wants something done */
	PROTOCOL_EVENTS = 4, /* a command wants to be told what happens */
	PROTOCOL_RECENT = 5, /* a command asks what has happened lately */
};

enum protocol_verb {
	PROTOCOL_SUSPEND = 1,
	PROTOCOL_RESUME = 2,
	PROTOCOL_PRIORITY = 3,
	PROTOCOL_POLICY = 4,
};

/* Of each process what changes, and how many queues it has on which node. */
#define PROTOCOL_BRIEF 1u

/* As enum core_rule. */
enum protocol_policy {
	PROTOCOL_POLICY_STRICT = 0,
	PROTOCOL_POLICY_SHARE = 1,
	PROTOCOL_POLICY_DEADLINE = 2,
	PROTOCOL_POLICY_OBSERVE = 3,
};
#define PROTOCOL_LEASE_MAX_S 86400u
#define PROTOCOL_EVENT_MAX 4096u

#define PROTOCOL_WELCOME_FDS 4u

/* KFDSHIM_LEVEL: how this process may be held back. */
enum protocol_level {
	PROTOCOL_LEVEL_AUTO = 0,
	PROTOCOL_LEVEL_TRAP = 1,
	PROTOCOL_LEVEL_SELF = 2,
	PROTOCOL_LEVEL_GATE = 3,
	PROTOCOL_LEVEL_WEIGHT = 4,
	PROTOCOL_LEVEL_OBSERVE = 5, /* neither holds others back nor is held */
};

/* Priorities of the contract: 0..15, 15 the most urgent. */
#define PRIORITY_OWN (-2)   /* in an order: what the process says of itself */
#define PRIORITY_UNSET (-1) /* seen, never scheduled */
#define PRIORITY_OFFLINE 2
#define PRIORITY_ONLINE 15

struct protocol_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t kind;
	int32_t priority;	/* shim: its own; PROTOCOL_PRIORITY: what it gets */
	uint32_t level;		/* shim: enum protocol_level */
	uint32_t slo_us;	/* shim: what its requests may take; 0: it does not say */
	int32_t pid;		/* ask: of whom, as the daemon sees it; 0: of all */
	uint32_t verb;		/* order: enum protocol_verb; ask of all: 0 or PROTOCOL_BRIEF */
	uint32_t lease_s;	/* PROTOCOL_SUSPEND: for so long; 0: while the connection lasts */
	uint32_t gpu_id;	/* PROTOCOL_POLICY: of this node; 0: of all that have none of
				   their own */
	uint32_t policy;	/* PROTOCOL_POLICY: enum protocol_policy */
	uint32_t share_percent; /* PROTOCOL_POLICY: 1..99 with share, else 0 */
	char group[PROTOCOL_GROUP_MAX]; /* NUL-terminated, may be empty */
};

struct protocol_welcome {
	uint32_t magic;
	uint32_t version;
	int32_t status; /* 0, or a negative errno: refused, and no descriptors follow, but
			   the sentence for an order */
	uint32_t pad;
	uint64_t bytes; /* where there is a descriptor: length of the text */
};

/* Parses KFDSHIM_PRIORITY: "online", "offline", "0".."15". -EINVAL otherwise. */
int protocol_priority(const char *text, int *out);

/* Parses KFDSHIM_LEVEL: "auto", "trap", "self", "gate", "weight", "observe".
 * -EINVAL otherwise. */
int protocol_level(const char *text, enum protocol_level *out);
const char *protocol_level_name(enum protocol_level level);

/* Parses "strict", "share", "deadline", "observe". -EINVAL otherwise. */
int protocol_policy(const char *text, enum protocol_policy *out);
const char *protocol_policy_name(enum protocol_policy policy);

/* Connects to `path` (close-on-exec, non-blocking). A negative errno: -ENOENT
 * and -ECONNREFUSED mean that no daemon is there, -ENOTSOCK not a socket of
 * our type, -EAGAIN that more clients wait than the daemon takes: try again. */
int protocol_connect(const char *path);
/* Has a living process a socket of our type at `path`? It is not connected to, and
 * learns nothing of it. false also if that cannot be told. */
bool protocol_is_served(const char *path);
/* One packet with up to `nfds` descriptors (at most 16). Never blocks: -EAGAIN
 * if the peer does not read. -EPIPE, and no signal, if it hung up. */
int protocol_send(int fd, const void *data, size_t size, const int *fds, size_t nfds);
/* Receives one packet of exactly `size` bytes; *nfds in: room, out: received
 * (all close-on-exec; the caller owns them). -EPROTO: another size, or more
 * descriptors than room (then none is left open). -EAGAIN: `timeout_ms` over.
 * -ECONNRESET: hung up. */
int protocol_receive(int fd, void *data, size_t size, int *fds, size_t *nfds, int timeout_ms);

#endif
