// SPDX-License-Identifier: MIT
#include "shim/links/daemon_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/clock.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/descriptor.h"
#include "shim/hold.h"
#include "shim/links/peers.h"
#include "shim/publish.h"
#include "shim/queue_table.h"
#include "shim/vram_limit.h"

/* Time between two connects. */
#define RETRY_NS 1000000000u
#define WELCOME_NS 1000000000u /* if no welcome arrives in this time, connect again */
/* If the daemon gives no heartbeat for this time, it is disconnected. */
#define SILENCE_NS 3000000000u
#define FRESH_NS 1000000000u /* holds are renewed only if the last heartbeat is younger than this */
#define UNUSED_FD (-1)

/* DOWN: not connected. HANDSHAKE_DONE: hello sent, welcome awaited. UP: connected. LOST: the daemon
 * is gone, but threads may still use its shared memory. */
enum link_state { LINK_DOWN, LINK_HANDSHAKE_DONE, LINK_UP, LINK_LOST };

/* State of the connection. Sampler's thread only. */
static struct {
	enum link_state state;
	int socket;
	uint64_t next_ns; /* LINK_DOWN: next try; LINK_HANDSHAKE_DONE: time-out */
	/* The hold command that was carried out last, or 0. While it requests a hold, this process
	 * is held by the level that it names. */
	uint32_t hold_cmd;
	int logged_error; /* last error that was logged */
	bool alone;	  /* the last connect failed, or the daemon is lost */
} peer = {.socket = UNUSED_FD};

/* Returns true if @fd is an eventfd: of the files that can occur here only an eventfd has no file
 * type in st_mode. A pipe or socket must be refused, because a write after the other end is closed
 * would raise SIGPIPE in the program. A write to a regular file may take long. */
static bool is_eventfd(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == 0;
}

static int adopt(int fds[PROTOCOL_WELCOME_FDS], uint64_t now_ns)
{
	const struct daemon_shm *daemon_shm;
	struct client_shm *shm;
	int err;

	err = client_shm_map(fds[0], &shm);
	if (err)
		return err;
	err = daemon_shm_map(fds[1], &daemon_shm);
	if (err) {
		client_shm_unmap(shm);
		return err;
	}
	fds[2] = descriptor_keep(fds[2]);
	if (fds[2] < 0)
		err = -errno;
	else if (!is_eventfd(fds[2]))
		err = -EPROTO;
	else /* Non-blocking, so that a full eventfd does not block a thread of the runtime. */
		fcntl(fds[2], F_SETFL, fcntl(fds[2], F_GETFL) | O_NONBLOCK);
	if (err) {
		client_shm_unmap(shm);
		daemon_shm_unmap(daemon_shm);
		return err;
	}
	/* Release the process if it is held for a peer, and close its debug session on itself,
	 * before the daemon learns that it may open a session on this process. */
	peers_stop();
	hold_hand_over();
	agent_lock();
	link_shm_begin(shm, daemon_shm, fds[2], now_ns);
	vram_publish();
	agent_unlock();
	fds[2] = UNUSED_FD;
	return 0;
}

static void down(uint64_t now_ns)
{
	descriptor_close(&peer.socket);
	peer.state = LINK_DOWN;
	peer.alone = true;
	peer.next_ns = now_ns + RETRY_NS;
}

static const char *advice(int err)
{
	switch (-err) {
	case EPERM:
	case EACCES:
		return "allow it in the sandbox and in the permissions of the socket";
	case ENOTSOCK:
		return "remove the file, or set KFDSHIM_SOCKET";
	case EPROTO:
		return "use adjacent versions of daemon and shim";
	default:
		return remedy(-err, "check the daemon's log");
	}
}

static void no_daemon(int err)
{
	if (err == peer.logged_error)
		return;
	peer.logged_error = err;
	if (err == -ENOENT || err == -ECONNREFUSED || err == -EAGAIN)
		kfdshim_log(
			LOG_INFO,
			"no daemon listens at %s (%s); retrying once a second while there are queues",
			config.socket, strerror(-err));
	else
		kfdshim_log(LOG_ERROR, "cannot register with the daemon at %s (%s): %s",
			    config.socket, strerror(-err), advice(err));
}

/* Connects to the daemon's socket. Returns the fd or a negative errno. If the path names a file
 * that is no socket, connect(2) returns ECONNREFUSED, as for a socket without a listener; this
 * function then returns -ENOTSOCK. */
static int connect_daemon(void)
{
	int fd = protocol_connect(config.socket);
	struct stat st;

	if (fd >= 0) {
		fd = descriptor_keep(fd);
		return fd >= 0 ? fd : -errno;
	}
	if (fd == -ECONNREFUSED && stat(config.socket, &st) == 0 && !S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	return fd;
}

/* Sends the hello, the first packet of a connection. Builds it after the connect, so that it
 * contains what the application has set while there was no daemon. */
static int send_hello(void)
{
	struct protocol_hello hello = {
		.magic = PROTOCOL_MAGIC,
		.version = PROTOCOL_OLDEST,
		.newest = PROTOCOL_VERSION,
		.kind = PROTOCOL_SHIM,
		.priority = config_priority(),
		.level = config.level,
		.slo_us = __atomic_load_n(&config.slo_us, __ATOMIC_RELAXED),
	};

	memcpy(hello.group, config.group, sizeof(hello.group));
	return protocol_send(peer.socket, &hello, sizeof(hello), NULL, 0);
}

static void greet(uint64_t now_ns)
{
	int err = connect_daemon();

	if (err >= 0) {
		peer.socket = err;
		err = send_hello();
	}
	if (err) {
		no_daemon(err);
		down(now_ns);
		return;
	}
	peer.state = LINK_HANDSHAKE_DONE;
	peer.next_ns = now_ns + WELCOME_NS;
}

static int check_welcome(const struct protocol_welcome *welcome, size_t nfds)
{
	if (!protocol_is_welcome(welcome))
		return -EPROTO;
	if (welcome->status != 0)
		return welcome->status < 0 ? welcome->status : -EPROTO;
	return nfds == PROTOCOL_WELCOME_FDS ? 0 : -EPROTO;
}

static void take_welcome(uint64_t now_ns)
{
	struct protocol_welcome welcome;
	int fds[PROTOCOL_WELCOME_FDS] = {UNUSED_FD, UNUSED_FD, UNUSED_FD}, err;
	size_t nfds = PROTOCOL_WELCOME_FDS;

	if (!descriptor_is_ours(peer.socket)) {
		down(now_ns);
		return;
	}
	err = protocol_receive(peer.socket, &welcome, sizeof(welcome), fds, &nfds, 0);
	if (err == -EAGAIN) {
		if (now_ns >= peer.next_ns)
			down(now_ns);
		return;
	}
	if (!err)
		err = check_welcome(&welcome, nfds);
	if (!err)
		err = adopt(fds, now_ns);
	for (unsigned i = 0; i < PROTOCOL_WELCOME_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (err) {
		no_daemon(err);
		down(now_ns);
		return;
	}
	peer.state = LINK_UP;
	peer.logged_error = 0;
	peer.alone = false;
	kfdshim_log(LOG_INFO, "registered with the daemon at %s", config.socket);
}

/* Disconnects if no thread uses the shared memory any more; otherwise link_step() tries again. */
static void let_go(uint64_t now_ns)
{
	if (!link_shm_end())
		return;
	kfdshim_log(LOG_INFO, "the connection to the daemon at %s is closed", config.socket);
	down(now_ns);
	peer.next_ns = now_ns; /* a new daemon may be there already */
}

static bool daemon_lives(uint64_t now_ns)
{
	return link_shm_heartbeat_ns() + FRESH_NS > now_ns;
}

/* Reports to the daemon that an error has ended a hold that this process had acknowledged. */
static void log_lost(struct client_shm *shm)
{
	int lost = hold_lost(HOLD_BY_DAEMON);

	if (!lost || !shm)
		return;
	__atomic_store_n(&shm->hold_cmd_errno, lost, __ATOMIC_RELEASE);
	link_shm_wake();
}

/* Carries out a new hold command of the daemon, or renews the hold of the current one. */
static void serve_hold_cmd(uint64_t now_ns)
{
	struct client_shm *shm = peer.state == LINK_UP ? link_shm() : NULL;
	uint32_t hold_cmd = shm ? __atomic_load_n(&shm->hold_cmd, __ATOMIC_ACQUIRE) : 0;
	uint64_t begun_ns;
	int err;

	if (hold_cmd == peer.hold_cmd) {
		/* Without a renewal the hold ends after hold_lease_ns (hold.h). */
		if (HOLD_CMD_IS_HOLD(hold_cmd) && daemon_lives(now_ns))
			hold_renew(HOLD_BY_DAEMON);
		log_lost(shm);
		return;
	}
	begun_ns = clock_ns();
	/* `hold_cmd` is 0 if there is no daemon, or if a new daemon has given no command yet. 0
	 * means release. */
	err = hold_set(HOLD_BY_DAEMON, HOLD_CMD_LEVEL(hold_cmd ? hold_cmd : peer.hold_cmd),
		       HOLD_CMD_IS_HOLD(hold_cmd));
	if (!err && HOLD_CMD_IS_PREPARE(hold_cmd))
		err = hold_prepare(HOLD_CMD_LEVEL(hold_cmd));
	peer.hold_cmd = hold_cmd;
	if (!shm || !hold_cmd)
		return;
	__atomic_store_n(&shm->hold_cmd_us, (uint32_t)((clock_ns() - begun_ns) / 1000u),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&shm->hold_cmd_errno, -err, __ATOMIC_RELAXED);
	__atomic_store_n(&shm->hold_cmd_done, hold_cmd, __ATOMIC_RELEASE);
	link_shm_wake();
}

/* Returns true if the daemon has given no heartbeat for SILENCE_NS. Called in each sampler loop. */
static bool is_silent(uint64_t now_ns)
{
	uint64_t heartbeat_ns = link_shm_heartbeat_ns();

	if (heartbeat_ns == 0 || now_ns < heartbeat_ns + SILENCE_NS)
		return false;
	kfdshim_log(
		LOG_ERROR,
		"the daemon at %s has not responded for 3 s; this process continues without it. Check "
		"its log, or restart it",
		config.socket);
	return true;
}

uint64_t link_step(uint64_t now_ns)
{
	if (peer.state == LINK_UP && is_silent(now_ns))
		peer.state = LINK_LOST;
	serve_hold_cmd(now_ns);
	if (peer.state == LINK_LOST)
		let_go(now_ns);
	if (peer.state == LINK_DOWN && now_ns >= peer.next_ns)
		greet(now_ns);
	if (peer.state == LINK_HANDSHAKE_DONE)
		take_welcome(now_ns);
	switch (peer.state) {
	case LINK_UP:
		return UINT64_MAX;
	case LINK_LOST:
		return now_ns + 1000000u;
	case LINK_DOWN:
		/* Without queues no connect is needed; the first queue wakes the sampler. */
		return queues_any() ? peer.next_ns : UINT64_MAX;
	default:
		return peer.next_ns;
	}
}

bool link_alone(void)
{
	return peer.alone;
}

int link_socket(void)
{
	return peer.state == LINK_HANDSHAKE_DONE || peer.state == LINK_UP ? peer.socket : UNUSED_FD;
}

/* Reads and drops the packets after the welcome. Each only wakes this process; link_step() then
 * finds the hold command in the shared memory. */
void link_readable(void)
{
	char bytes[8];
	ssize_t got;

	if (peer.state != LINK_UP)
		return;
	if (!descriptor_is_ours(peer.socket)) {
		peer.state = LINK_LOST;
		return;
	}
	do
		got = recv(peer.socket, bytes, sizeof(bytes), MSG_DONTWAIT);
	while (got > 0);
	if (got == 0 || (errno != EAGAIN && errno != EINTR))
		peer.state = LINK_LOST; /* the daemon has closed the connection */
}

void link_forget(void)
{
	link_shm_forget();
	descriptor_close(&peer.socket);
	peer.state = LINK_DOWN;
	peer.next_ns = 0;
	peer.hold_cmd = 0;
	peer.logged_error = 0;
	peer.alone = false;
}
