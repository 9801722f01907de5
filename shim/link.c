// SPDX-License-Identifier: MIT
#include "shim/link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/clock.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/runtime.h"

#define RETRY_NS 1000000000u
#define WELCOME_NS 1000000000u /* a daemon that says nothing for so long is asked anew */
#define LEAVE_NS 10000000u
#define UNUSED_FD (-1)

enum link_state { LINK_DOWN, LINK_GREETED, LINK_UP, LINK_LOST };

/* The sampler's thread writes all of it; `lane`, `board`, `wake_fd` change
 * under the agent's lock, and `leavers` is counted there. */
static struct {
	enum link_state state;
	int socket;
	uint64_t next_ns; /* LINK_DOWN: next try; LINK_GREETED: give up */
	struct lane *lane;
	const struct board *board;
	int wake_fd;
	uint32_t leavers; /* threads that use `lane` without the lock */
	bool told;	  /* that no daemon is there */
} peer = {.socket = UNUSED_FD, .wake_fd = UNUSED_FD};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = UNUSED_FD;
}

static void wake(void)
{
	uint64_t one = 1;
	int saved = errno;

	(void)!write(peer.wake_fd, &one, sizeof(one));
	errno = saved;
}

/* Every change before this is fenced from the look at `asleep`. */
static void wake_if_asleep(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&peer.board->asleep, __ATOMIC_RELAXED))
		wake();
}

static void write_queue(const struct queue *q)
{
	const struct lane_queue entry = {
		.used = 1,
		.queue_id = q->id,
		.gpu_id = q->gpu_id,
		.type = q->type,
		.priority = q->priority,
		.percent = q->percent,
		.hooked = q->hooked,
		.ring_address = q->update_ring,
		.ring_bytes = q->update_bytes,
		.rptr_address = (uint64_t)(uintptr_t)q->rptr,
		.wptr_address = (uint64_t)(uintptr_t)q->wptr,
		.hsa_queue = q->hsa_queue,
		.cwsr_address = q->cwsr_address,
		.cwsr_bytes = q->cwsr_bytes,
		.active = q->active,
	};

	lane_queue_write(peer.lane, q->slot, &entry);
}

void link_queue(const struct queue *q)
{
	uint32_t generation;

	if (!peer.lane)
		return;
	generation = peer.lane->queue_generation;
	write_queue(q);
	/* Activity is told by the node; the table's change by this. */
	if (peer.lane->queue_generation != generation)
		wake_if_asleep();
}

void link_queue_gone(const struct queue *q)
{
	if (!peer.lane)
		return;
	lane_queue_clear(peer.lane, q->slot);
	wake_if_asleep();
}

void link_node(uint32_t node, bool active, uint64_t now_ns)
{
	int slot;

	if (!peer.lane)
		return;
	slot = lane_node_slot(peer.lane, queues.nodes[node].gpu_id);
	if (slot >= 0 && lane_node_set(peer.lane, (uint32_t)slot, active, now_ns))
		wake_if_asleep();
}

void link_runtime(void)
{
	enum lane_runtime state;
	int reason;

	if (!peer.lane)
		return;
	runtime_state(&state, &reason);
	__atomic_store_n(&peer.lane->runtime_errno, reason, __ATOMIC_RELAXED);
	__atomic_store_n(&peer.lane->runtime, state, __ATOMIC_RELEASE);
	wake_if_asleep();
}

bool link_suspended(void)
{
	return peer.lane && __atomic_load_n(&peer.lane->suspended, __ATOMIC_ACQUIRE);
}

static void wait_released(struct lane *lane, uint32_t mine)
{
	uint64_t end = clock_ns() + LEAVE_NS, now = clock_ns();
	struct timespec left = {0};
	uint32_t released;

	for (; now < end; now = clock_ns()) {
		released = __atomic_load_n(&lane->released, __ATOMIC_ACQUIRE);
		if ((int32_t)(released - mine) >= 0)
			return;
		left.tv_nsec = (long)(end - now);
		/* Shared between processes, so not FUTEX_PRIVATE. */
		syscall(SYS_futex, &lane->released, FUTEX_WAIT, released, &left, NULL, 0);
	}
	say(LOG_INFO, "the daemon did not resume this process within 10 ms of being asked");
}

struct lane *link_leave_begin(void)
{
	int saved = errno;
	struct lane *lane;
	uint32_t mine;

	agent_lock();
	lane = peer.lane;
	if (lane)
		peer.leavers++;
	agent_unlock();
	if (!lane)
		return NULL;
	/* Announce, then look: the daemon sets `suspended`, then looks here. */
	mine = __atomic_add_fetch(&lane->leaving, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&lane->suspended, __ATOMIC_SEQ_CST)) {
		wake();
		wait_released(lane, mine);
	}
	errno = saved;
	return lane;
}

void link_leave_end(struct lane *lane)
{
	int saved = errno;

	if (!lane)
		return;
	__atomic_add_fetch(&lane->left, 1, __ATOMIC_SEQ_CST);
	agent_lock();
	peer.leavers--;
	if (peer.lane == lane)
		wake_if_asleep();
	agent_unlock();
	errno = saved;
}

/* Under the lock: a new lane gets everything. */
static void publish_all(uint64_t now_ns)
{
	for (uint32_t i = 0; i < queues.end; i++)
		if (queues.table[i])
			link_queue(queues.table[i]);
	for (uint32_t i = 0; i < LANE_NODES && queues.nodes[i].gpu_id; i++)
		link_node(i, queues.nodes[i].active > 0,
			  queues.nodes[i].active ? queues.nodes[i].since_ns : now_ns);
	link_runtime();
}

static int adopt(int fds[3], uint64_t now_ns)
{
	const struct board *board;
	struct lane *lane;
	int err;

	err = lane_map(fds[0], &lane);
	if (err)
		return err;
	err = board_map(fds[1], &board);
	if (err) {
		lane_unmap(lane);
		return err;
	}
	/* Whatever it is: a full one must not hold up a runtime's thread. */
	fcntl(fds[2], F_SETFL, fcntl(fds[2], F_GETFL) | O_NONBLOCK);
	agent_lock();
	peer.lane = lane;
	peer.board = board;
	peer.wake_fd = fds[2];
	fds[2] = UNUSED_FD;
	publish_all(now_ns);
	agent_unlock();
	return 0;
}

static void down(uint64_t now_ns)
{
	close_fd(&peer.socket);
	peer.state = LINK_DOWN;
	peer.next_ns = now_ns + RETRY_NS;
}

static void greet(uint64_t now_ns)
{
	struct protocol_hello hello = {
		.magic = PROTOCOL_MAGIC,
		.version = PROTOCOL_VERSION,
		.kind = PROTOCOL_SHIM,
		.priority = config.observe ? PRIORITY_UNSET : config.priority,
	};
	int err;

	memcpy(hello.group, config.group, sizeof(hello.group));
	err = protocol_connect(config.socket);
	if (err >= 0) {
		peer.socket = err;
		err = protocol_send(peer.socket, &hello, sizeof(hello), NULL, 0);
	}
	if (err) {
		if (!peer.told)
			say(LOG_INFO, "no daemon at %s (%s): trying again once a second",
			    config.socket, strerror(-err));
		peer.told = true;
		down(now_ns);
		return;
	}
	peer.state = LINK_GREETED;
	peer.next_ns = now_ns + WELCOME_NS;
}

static int check_welcome(const struct protocol_welcome *welcome, size_t nfds)
{
	if (welcome->magic != PROTOCOL_MAGIC || welcome->version != PROTOCOL_VERSION)
		return -EPROTO;
	if (welcome->status != 0)
		return welcome->status < 0 ? welcome->status : -EPROTO;
	return nfds == 3 ? 0 : -EPROTO;
}

static void take_welcome(uint64_t now_ns)
{
	struct protocol_welcome welcome;
	int fds[3] = {UNUSED_FD, UNUSED_FD, UNUSED_FD}, err;
	size_t nfds = 3;

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
	for (int i = 0; i < 3; i++)
		close_fd(&fds[i]);
	if (err) {
		if (!peer.told)
			say(LOG_ERROR,
			    "the daemon at %s does not take this process (%s): is it of "
			    "this version?",
			    config.socket, strerror(-err));
		peer.told = true;
		down(now_ns);
		return;
	}
	peer.state = LINK_UP;
	peer.told = false;
	say(LOG_INFO, "seen by the daemon at %s", config.socket);
}

/* The lane goes when nobody uses it any more. */
static void let_go(uint64_t now_ns)
{
	struct lane *lane = NULL;
	const struct board *board = NULL;

	agent_lock();
	if (peer.leavers == 0) {
		lane = peer.lane;
		board = peer.board;
		peer.lane = NULL;
		peer.board = NULL;
		close_fd(&peer.wake_fd);
	}
	agent_unlock();
	if (!lane)
		return;
	lane_unmap(lane);
	board_unmap(board);
	say(LOG_INFO, "the daemon at %s is gone", config.socket);
	down(now_ns);
	peer.next_ns = now_ns; /* its successor may be there already */
}

uint64_t link_step(uint64_t now_ns)
{
	if (peer.state == LINK_LOST)
		let_go(now_ns);
	if (peer.state == LINK_DOWN && now_ns >= peer.next_ns)
		greet(now_ns);
	if (peer.state == LINK_GREETED)
		take_welcome(now_ns);
	switch (peer.state) {
	case LINK_UP:
		return UINT64_MAX;
	case LINK_LOST:
		return now_ns + 1000000u;
	default:
		return peer.next_ns;
	}
}

int link_socket(void)
{
	return peer.state == LINK_GREETED || peer.state == LINK_UP ? peer.socket : UNUSED_FD;
}

void link_readable(void)
{
	/* After the welcome the daemon says nothing more: this is its hang-up. */
	if (peer.state == LINK_UP)
		peer.state = LINK_LOST;
}

void link_forget(void)
{
	if (peer.lane)
		lane_unmap(peer.lane);
	if (peer.board)
		board_unmap(peer.board);
	close_fd(&peer.socket);
	close_fd(&peer.wake_fd);
	peer.lane = NULL;
	peer.board = NULL;
	peer.state = LINK_DOWN;
	peer.next_ns = 0;
	peer.leavers = 0;
	peer.told = false;
}
