/* SPDX-License-Identifier: MIT */
/*
 * What goes over the daemon's socket (SOCK_SEQPACKET, one struct a packet).
 *
 * A client sends one packet, its hello, and nothing after it: the daemon shuts the
 * connection for reading then, so a later send fails with EPIPE. No descriptor may come
 * with it: where the kernel can refuse them (SO_PASSRIGHTS, Linux 6.16), the send fails
 * with EPERM, else the connection is closed. The peer's identity comes from the kernel
 * (SO_PEERPIDFD), never from the hello.
 *
 * Shim: gets a welcome with three descriptors (SCM_RIGHTS, in this order: lane, board,
 * eventfd that wakes the daemon). Each later packet only wakes it, because of an order in
 * the lane; its content means nothing. A socket is used for that because the daemon must
 * write to nothing that a client can lock or make full: a pipe can be locked by a reader,
 * an eventfd be made to block by its O_NONBLOCK, which all that have it share. The end of
 * a client is its pidfd, never a hang-up.
 * Command: sends hello with PROTOCOL_ASK, gets an answer: the state of all, or with `pid`
 * all that is known of one workload, as JSON text. An answer is one packet or several: each
 * is a struct protocol_welcome and `bytes` bytes of text; `more` is 1 in all but the last.
 * Or with PROTOCOL_ORDER, and (but for PROTOCOL_POLICY) the process that it is about,
 * as the sender's PID namespace numbers it. The answer's text is one sentence, whether
 * it is done (0) or refused.
 * Or with PROTOCOL_EVENTS: after the answer, which has no text, each packet is
 * one event as JSON text (docs/formats.md) of at most PROTOCOL_EVENT_MAX bytes. A reader
 * that does not read loses some, and gets their number instead.
 * Or with PROTOCOL_RECENT: answered as PROTOCOL_ASK, the text is a list of the last
 * events.
 *
 * Versions. A hello says which ones its sender speaks, from the oldest to the newest; the welcome
 * says which one is spoken: the newest that both know. Structs grow at their end alone, so a packet
 * and a lane of an older version are the beginning of those of a newer one. Daemon, shim and command
 * speak the version before their own, too: a host's daemon may be upgraded before or after its
 * containers. A daemon of version 4 knows no range and takes the oldest for the one.
 *
 * Beside the socket of the daemon is one that only root and the daemon's own user can
 * connect to (PROTOCOL_ROOT): its connections come first, so no crowd at the other one
 * keeps root out. protocol_connect() takes it where it may.
 */
#ifndef KFDSHIM_CHANNEL_PROTOCOL_H
#define KFDSHIM_CHANNEL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/lane.h"

#define PROTOCOL_MAGIC 0x4453464bu /* "KFSD" */
#define PROTOCOL_VERSION 5u	   /* the newest, */
#define PROTOCOL_OLDEST 4u	   /* and the oldest that is spoken here; what all refusals have */
#define PROTOCOL_HELLO_MAX 1024u   /* bytes of a newer version's: what is behind ours is not read */
#define PROTOCOL_SOCKET "/run/kfdsched/socket"
#define PROTOCOL_ROOT ".root" /* what follows the socket's name in that of root's own */
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

#define PROTOCOL_WELCOME_FDS 3u
#define PROTOCOL_TEXT_MAX 16384u /* bytes of text in one packet of an answer */

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
	uint32_t version; /* the oldest that its sender speaks */
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
	int32_t target_pid;		/* order: the process, in the sender's PID namespace */
	uint32_t newest;		/* version that its sender speaks; 0: `version` */
	uint64_t target_inode; /* order: st_ino of its pidfd, which from Linux 6.9 on no other
				    process has, so a number that is used again is noticed */
};

/* A welcome, and the head of each packet of an answer. */
struct protocol_welcome {
	uint32_t magic;
	uint32_t version; /* that is spoken */
	int32_t status;	  /* 0, or a negative errno: refused, and no descriptors follow */
	uint32_t more;	  /* 1: another packet of the same answer follows */
	uint64_t bytes;	  /* of text behind this struct, at most PROTOCOL_TEXT_MAX */
};

/* The version of lane and board that goes with one of the protocol. */
static inline uint32_t protocol_lane(uint32_t version)
{
	return version < PROTOCOL_VERSION ? LANE_OLDEST : LANE_VERSION;
}

/* The version to speak with the sender of this hello; 0: none in common, or no hello at all. */
uint32_t protocol_common(const struct protocol_hello *hello);
/* Of a welcome, or the head of an answer: is it one, of a version that is spoken here? */
bool protocol_is_welcome(const struct protocol_welcome *welcome);

/* Parses KFDSHIM_PRIORITY: "online", "offline", "0".."15". -EINVAL otherwise. */
int protocol_priority(const char *text, int *out);

/* Parses KFDSHIM_LEVEL: "auto", "trap", "self", "gate", "weight", "observe".
 * -EINVAL otherwise. */
int protocol_level(const char *text, enum protocol_level *out);
const char *protocol_level_name(enum protocol_level level);

/* Parses "strict", "share", "deadline", "observe". -EINVAL otherwise. */
int protocol_policy(const char *text, enum protocol_policy *out);
const char *protocol_policy_name(enum protocol_policy policy);

/* Connects to `path` (close-on-exec, non-blocking), as root to its root's socket if that
 * answers. A negative errno: -ENOENT and -ECONNREFUSED mean that no daemon is there,
 * -ENOTSOCK not a socket of our type, -EAGAIN that more clients wait than the daemon takes:
 * try again. */
int protocol_connect(const char *path);
/* Has a living process a socket of our type at `path`? It is not connected to, and
 * learns nothing of it. false also if that cannot be told. */
bool protocol_is_served(const char *path);
/* One packet with up to `nfds` descriptors (at most 16). Never blocks: -EAGAIN
 * if the peer does not read. -EPIPE, and no signal, if it hung up. */
int protocol_send(int fd, const void *data, size_t size, const int *fds, size_t nfds);
/* Receives one packet of exactly `size` bytes; *nfds in: room, out: received
 * (all close-on-exec; the caller owns them). -EPROTO: another size, or more
 * descriptors than room (then none is left open). -EMFILE: this process may have no
 * more of them (the same). -EAGAIN: `timeout_ms` over. -ECONNRESET: hung up. */
int protocol_receive(int fd, void *data, size_t size, int *fds, size_t *nfds, int timeout_ms);
/* One packet of an answer: head->bytes of `text` behind *head. Returns as protocol_send(). */
int protocol_send_text(int fd, const struct protocol_welcome *head, const char *text);
/* A whole answer: packets until one without `more`. Returns the status of the last, and the
 * text, NUL-terminated, in *text, which the caller frees (NULL: there is none); -EPROTO if a
 * packet is none of an answer or all exceed `most` bytes, else as protocol_receive().
 * `timeout_ms` counts for each packet. */
int protocol_receive_text(int fd, char **text, size_t most, int timeout_ms);

#endif
