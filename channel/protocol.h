/* SPDX-License-Identifier: MIT */
/*
 * The protocol on the daemon's socket (SOCK_SEQPACKET, one struct a packet).
 *
 * A client sends one packet, its hello, and nothing after it: the daemon then shuts the
 * connection down for reading, so a later send fails with EPIPE. The hello must not carry file
 * descriptors: where the kernel can refuse them (SO_PASSRIGHTS, Linux 6.16) the send fails with
 * EPERM, elsewhere the daemon closes the connection. The peer's identity comes from the kernel
 * (SO_PEERPIDFD), never from the hello.
 *
 * PROTOCOL_SHIM: the reply is a welcome with three fds (SCM_RIGHTS, in this order: client shared
 * memory, daemon shared memory, the eventfd that wakes the daemon). Each later packet only wakes
 * the client, because of a hold command in its shared memory; the content of the packet has no
 * meaning. A socket is used for that because the daemon must not write to anything that a client
 * can lock or fill: a reader can lock a pipe, and can make an eventfd block through O_NONBLOCK,
 * which is shared by all that have the file open. The end of a client is the exit of its process,
 * by pidfd, never a hang-up.
 *
 * A command sends one of these kinds:
 * PROTOCOL_QUERY: the reply is JSON text: the state of all workloads, or, with `pid`, everything
 * about one workload. A reply is one packet or several: each is a struct protocol_welcome and
 * `bytes` bytes of text; `more` is 1 in all but the last.
 * PROTOCOL_CONTROL: a control request, with the process that it is about (except for
 * PROTOCOL_POLICY), numbered as in the sender's PID namespace. The reply's text is one sentence,
 * both if the request is done (status 0) and if it is refused.
 * PROTOCOL_EVENTS: after the reply, which has no text, each packet is one event as JSON text
 * (docs/reference/events.md) of at most PROTOCOL_EVENT_MAX bytes. A client that does not read loses
 * events, and receives their number instead.
 * PROTOCOL_RECENT: the reply is as that to PROTOCOL_QUERY; its text is a list of the last events.
 *
 * Versions: a hello contains the oldest and the newest version that its sender supports. The
 * welcome contains the version in use, which is the newest that both support. Structs grow at
 * their end only, so a packet or client shared memory of an older version is the beginning of one
 * of a newer version. Daemon, shim and command also support the version before their own, because
 * a host's daemon can be upgraded before or after its containers. A daemon of version 4 does not
 * know of a range, and takes the oldest version in the hello as the only one.
 *
 * Beside the daemon's socket is a second one that only root and the daemon's own user can connect
 * to (PROTOCOL_ROOT). Its connections are served first, so that a crowd at the first socket cannot
 * keep root out. protocol_connect() uses it when it is allowed to.
 */
#ifndef KFDSHIM_CHANNEL_PROTOCOL_H
#define KFDSHIM_CHANNEL_PROTOCOL_H

#include "channel/client_shm.h"

#define PROTOCOL_MAGIC 0x4453464bu /* "KFSD" */
#define PROTOCOL_VERSION 5u	   /* newest version that is supported here */
/* oldest version supported here; also the version of a refusal */
#define PROTOCOL_OLDEST 4u
/* Longest hello of a newer version, in bytes; the part behind struct protocol_hello is not read. */
#define PROTOCOL_HELLO_MAX 1024u
#define PROTOCOL_SOCKET "/run/kfdsched/socket"
#define PROTOCOL_ROOT ".root" /* suffix of the socket for root */
#define PROTOCOL_GROUP_MAX CLIENT_SHM_GROUP_MAX

enum protocol_kind {
	PROTOCOL_SHIM = 1,    /* a workload registers */
	PROTOCOL_QUERY = 2,   /* a command queries the daemon's state */
	PROTOCOL_CONTROL = 3, /* a command sends a control request (enum protocol_op) */
	PROTOCOL_EVENTS = 4,  /* a command subscribes to events */
	PROTOCOL_RECENT = 5,  /* a command queries the last events */
};

enum protocol_op {
	PROTOCOL_SUSPEND = 1,
	PROTOCOL_RESUME = 2,
	PROTOCOL_PRIORITY = 3,
	PROTOCOL_POLICY = 4,
};

/* `op` of a query for the brief state: for each process only the values that change, and its number
 * of queues on each node. */
#define PROTOCOL_BRIEF 1u

#define PROTOCOL_LEASE_MAX_S 86400u
#define PROTOCOL_EVENT_MAX 4096u

#define PROTOCOL_WELCOME_FDS 3u
#define PROTOCOL_TEXT_MAX 16384u /* bytes of text in one packet of a reply */

/* By what means the process can be held, as KFDSHIM_LEVEL sets it. */
enum protocol_level {
	PROTOCOL_LEVEL_AUTO = 0,
	PROTOCOL_LEVEL_TRAP = 1,
	PROTOCOL_LEVEL_SELF = 2,
	PROTOCOL_LEVEL_GATE = 3,
	PROTOCOL_LEVEL_WEIGHT = 4,
	PROTOCOL_LEVEL_OBSERVE = 5, /* not held, and does not cause holds */
};

/* Priorities: 0..15, 15 the most urgent. */
#define PRIORITY_OWN (-2)   /* in a control request: the priority that the process has set itself */
#define PRIORITY_UNSET (-1) /* shown, never scheduled */
#define PRIORITY_OFFLINE 2
#define PRIORITY_ONLINE 15

/* The only packet of a client. The comment of a field names the kinds (enum protocol_kind, here
 * without PROTOCOL_) or operations (enum protocol_op) that use it. */
struct protocol_hello {
	uint32_t magic;
	uint32_t version; /* oldest version that the sender supports */
	uint32_t kind;	  /* enum protocol_kind */
	int32_t priority; /* SHIM: its own; PROTOCOL_PRIORITY: the new one */
	uint32_t level;	  /* SHIM: enum protocol_level */
	uint32_t slo_us;  /* SHIM: us that its requests are allowed to take; 0: no objective */
	int32_t pid;	  /* QUERY: the process, in the daemon's PID namespace; 0: all */
	uint32_t op;	  /* CONTROL: enum protocol_op; QUERY with pid 0: 0 or PROTOCOL_BRIEF */
	uint32_t lease_s; /* PROTOCOL_SUSPEND: duration in s; 0: while the connection lasts */
	/* PROTOCOL_POLICY: the node; 0: all nodes without a policy of their own */
	uint32_t gpu_id;
	uint32_t policy;		/* PROTOCOL_POLICY: enum policy */
	uint32_t share_percent;		/* PROTOCOL_POLICY: see policy_is_valid() */
	char group[PROTOCOL_GROUP_MAX]; /* NUL-terminated, may be empty */
	int32_t target_pid;		/* CONTROL: the process, in the sender's PID namespace */
	/* newest version that the sender supports; 0: it is `version` */
	uint32_t newest;
	/* CONTROL: st_ino of the process's pidfd, which shows whether the PID was reused; unique
	 * from Linux 6.9 on */
	uint64_t target_inode;
};

/* A welcome, and the head of each packet of a reply. */
struct protocol_welcome {
	uint32_t magic;
	uint32_t version; /* version in use */
	int32_t status;	  /* 0, or the negative errno of a refusal, after which no fds follow */
	uint32_t more;	  /* 1: another packet of the same reply follows */
	uint64_t bytes;	  /* bytes of text behind this struct, at most PROTOCOL_TEXT_MAX */
};

/* Returns the version of shared memory that belongs to a version of the protocol. */
static inline uint32_t protocol_client_shm(uint32_t version)
{
	return version < PROTOCOL_VERSION ? CLIENT_SHM_OLDEST : CLIENT_SHM_VERSION;
}

/* Returns the version to use with the sender of a hello; 0: the sender supports no version that
 * this build supports, or the struct is no hello. */
uint32_t protocol_common(const struct protocol_hello *hello);
/* Returns true if the struct is a welcome, or the head of a reply, of a supported version. */
bool protocol_is_welcome(const struct protocol_welcome *welcome);

/* ---- names ---- */

/* Parses KFDSHIM_PRIORITY: "online", "offline", "0".."15". Returns 0, or -EINVAL for another text;
 * *out is set on success only. */
int protocol_priority(const char *text, int *out);

/* Parses KFDSHIM_LEVEL: "auto", "trap", "self", "gate", "weight", "observe". Returns 0, or -EINVAL
 * for another text. */
int protocol_level(const char *text, enum protocol_level *out);
/* Returns the name of a level, a static string. */
const char *protocol_level_name(enum protocol_level level);

/* ---- packets ---- */

/*
 * Connects to the socket at `path`. As root, connects to the socket for root beside it
 * (PROTOCOL_ROOT) if a daemon answers there. Never blocks. Returns an fd (close-on-exec,
 * non-blocking, owned by the caller), or a negative errno:
 *  -ENOENT, -ECONNREFUSED: there is no daemon;
 *  -ENOTSOCK: the file is not a socket of this type;
 *  -ENAMETOOLONG: the path does not fit in a socket's address;
 *  -EAGAIN: the daemon's backlog is full; a later try can succeed.
 */
int protocol_connect(const char *path);
/* Returns true if a living process has a SOCK_SEQPACKET socket at `path`. That process does not
 * notice, because no connection is made. Returns false also if the answer cannot be found out. */
bool protocol_is_served(const char *path);
/* Sends one packet with up to 16 fds, which stay open. Never blocks, raises no signal. Returns 0 or
 * a negative errno; -EAGAIN: the peer does not read; -EPIPE: the peer has hung up. */
int protocol_send(int fd, const void *data, size_t size, const int *fds, size_t nfds);
/*
 * Receives one packet of exactly `size` bytes. *nfds: room in `fds` on entry, number of fds on
 * return (close-on-exec, owned by the caller). nfds NULL: no fds are accepted. Returns 0 or a
 * negative errno; no received fd is left open then:
 *  -EPROTO: the packet has another size, or more fds than there is room for;
 *  -EMFILE: this process has reached its limit of fds;
 *  -EAGAIN: no packet within `timeout_ms` (negative: no limit);
 *  -ECONNRESET: the peer has hung up.
 */
int protocol_receive(int fd, void *data, size_t size, int *fds, size_t *nfds, int timeout_ms);
/* Sends one packet of a reply: *head and head->bytes bytes of `text`. Returns as
 * protocol_send(). */
int protocol_send_text(int fd, const struct protocol_welcome *head, const char *text);
/*
 * Receives a whole reply: packets until one without `more`. `timeout_ms` counts for each packet.
 * *text: the text, NUL-terminated, to be freed by the caller; NULL: there is none. Returns the
 * status of the last packet, or an error:
 *  -EPROTO: a packet is not part of a reply, or the text is longer than `most` bytes;
 *  -ENOMEM;
 *  others as protocol_receive().
 */
int protocol_receive_text(int fd, char **text, size_t most, int timeout_ms);

#endif
