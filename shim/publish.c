// SPDX-License-Identifier: MIT
#include "shim/publish.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/clock.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/descriptor.h"

/* Longest wait for the daemon to resume this process. */
#define LEAVE_NS 10000000u

/* State of the connection. Written under the agent's lock, by the sampler's thread only, except
 * `teardown_threads`. */
static struct {
	struct client_shm *shm; /* this client's shared memory; NULL: no daemon */
	/* The daemon's shared memory. */
	const struct daemon_shm *daemon_shm;
	int wake_fd;		   /* eventfd that wakes the daemon */
	uint32_t teardown_threads; /* threads that use `shm` without the lock */
	/* Calls between link_pin_begin() and link_pin_end(). They do not keep `shm` mapped: in a
	 * program with many threads such calls overlap, so a lost daemon could never be left. */
	uint32_t pins;
} peer = {.wake_fd = -1};

/* Arguments of the last link_runtime() and link_session(). Under the agent's lock. */
static struct {
	enum client_shm_runtime state;
	int reason;
	bool session, by_updates;
	int session_error;
} runtime;

static void wake(void)
{
	uint64_t one = 1;
	int saved = errno;

	if (descriptor_is_ours(peer.wake_fd))
		(void)!write(peer.wake_fd, &one, sizeof(one));
	errno = saved;
}

/* Wakes the daemon if it sleeps. The fence orders every earlier change of the shared memory before
 * the read of `asleep`. The daemon sets `asleep`, fences, and then reads the shared memory, so
 * either the daemon sees the change, or this function sees `asleep`. */
void link_shm_wake(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&peer.daemon_shm->asleep, __ATOMIC_RELAXED))
		wake();
}

void link_queue(const struct shim_queue *q)
{
	struct client_shm_queue entry;
	uint32_t generation;

	if (!peer.shm)
		return;
	generation = peer.shm->queue_generation;
	entry = queues_entry(q);
	client_shm_queue_write(peer.shm, q->slot, &entry);
	/* Wake the daemon only for a change of the table; link_node() wakes it for activity. */
	if (peer.shm->queue_generation != generation)
		link_shm_wake();
}

void link_queue_gone(const struct shim_queue *q)
{
	if (!peer.shm)
		return;
	client_shm_queue_clear(peer.shm, q->slot);
	link_shm_wake();
}

void link_event(enum client_shm_event_kind kind, const struct shim_queue *q, uint64_t value)
{
	static uint64_t number;
	struct client_shm_event event = {.kind = kind, .value = value};

	if (q) {
		event.context = q->context;
		event.queue_id = q->id;
		event.gpu_id = q->gpu_id;
	}
	number++;
	if (config.log >= LOG_DEBUG)
		kfdshim_log(LOG_DEBUG, "event %llu: %s queue %u.%d gpu %u value %#llx",
			    (unsigned long long)number, client_shm_event_name(kind), event.context,
			    q ? (int)event.queue_id : -1, event.gpu_id, (unsigned long long)value);
	if (!peer.shm)
		return;
	event.ns = clock_ns();
	client_shm_event_add(peer.shm, &event);
}

/* Returns the slot of a node in the client's shared memory, or -ENOSPC if there is no daemon or no
 * free slot. A daemon of the previous version has room for fewer nodes. @guess is the slot where
 * the node probably is. */
static int slot_of(uint32_t gpu_id, uint32_t guess)
{
	static bool reported;
	bool older;
	int slot;

	if (!peer.shm)
		return -ENOSPC;
	if (client_shm_node_id(peer.shm, guess) == gpu_id)
		return (int)guess;
	slot = client_shm_node_slot(peer.shm, gpu_id);
	if (slot >= 0 || reported)
		return slot;
	reported = true;
	older = peer.shm->version != CLIENT_SHM_VERSION;
	kfdshim_log(
		LOG_ERROR,
		"the daemon supports %u GPUs of a process%s: work on the others, %u among them, is "
		"not scheduled%s",
		client_shm_nodes(peer.shm->version), older ? ", because its version is older" : "",
		gpu_id, older ? "; upgrade kfdschedd" : "");
	return slot;
}

void link_node(uint32_t node, bool active, uint64_t now_ns)
{
	int slot = slot_of(queues.nodes[node].gpu_id, node);

	if (slot >= 0 && client_shm_node_set(peer.shm, (uint32_t)slot, active, now_ns))
		link_shm_wake();
}

static void publish_runtime(void)
{
	bool own = runtime.session;
	enum client_shm_runtime state = runtime.state;
	int reason = config.observe ? 0 : runtime.reason;

	if (!peer.shm)
		return;
	/* If KFDSHIM_LEVEL is "self", the process suspends itself and the daemon must not. So it is
	 * not published as suspendable while it has no session on itself. */
	if (config.level == PROTOCOL_LEVEL_SELF && !own && state == CLIENT_SHM_RUNTIME_ENABLED) {
		reason = runtime.session_error;
		state = reason ? CLIENT_SHM_RUNTIME_NEVER : CLIENT_SHM_RUNTIME_UNKNOWN;
	}
	/* A process that is only observed (KFDSHIM_LEVEL=observe) is never published as
	 * suspendable. Neither is a process with a session on itself, because the daemon could not
	 * open one. */
	if (config.observe || own)
		state = CLIENT_SHM_RUNTIME_UNKNOWN;
	/* The shared memory must never allow both a session of this process and one of the daemon.
	 * So clear `own_session` before `runtime` is stored, and set it only afterwards. */
	if (!own)
		__atomic_store_n(&peer.shm->own_session, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&peer.shm->runtime_errno, reason, __ATOMIC_RELAXED);
	__atomic_store_n(&peer.shm->runtime, state, __ATOMIC_RELEASE);
	if (own || runtime.by_updates)
		__atomic_store_n(&peer.shm->own_session,
				 own ? CLIENT_SHM_OWN_SESSION : CLIENT_SHM_OWN_UPDATES,
				 __ATOMIC_RELEASE);
	link_shm_wake();
}

void link_runtime(enum client_shm_runtime state, int reason)
{
	runtime.state = state;
	runtime.reason = reason;
	publish_runtime();
}

void link_session(bool is_open, int error, bool by_updates)
{
	if (runtime.session == is_open && runtime.session_error == error &&
	    runtime.by_updates == by_updates)
		return;
	runtime.session = is_open;
	runtime.session_error = error;
	runtime.by_updates = by_updates;
	publish_runtime();
}

void link_vram(uint32_t gpu_id, uint64_t bytes)
{
	int slot = slot_of(gpu_id, 0);

	/* Do not wake the daemon, because no decision of it waits for this value. */
	if (slot >= 0)
		__atomic_store_n(&client_shm_node(peer.shm, (uint32_t)slot)->vram_bytes, bytes,
				 __ATOMIC_RELAXED);
}

bool link_suspended(void)
{
	return peer.shm && __atomic_load_n(&peer.shm->suspended, __ATOMIC_ACQUIRE);
}

bool link_has_daemon(void)
{
	int saved = errno;
	bool there;

	agent_lock();
	there = peer.shm != NULL;
	agent_unlock();
	there = there || protocol_is_served(config.socket);
	errno = saved;
	return there;
}

/* Waits at most 10 ms until the daemon has resumed this process for a driver call. @mine is the
 * number under which link_leave_begin() has announced that call. */
static void wait_released(struct client_shm *shm, uint32_t mine)
{
	uint64_t end = clock_ns() + LEAVE_NS, now = clock_ns();
	struct timespec teardown_end = {0};
	uint32_t teardown_granted;

	for (; now < end; now = clock_ns()) {
		teardown_granted = __atomic_load_n(&shm->teardown_granted, __ATOMIC_ACQUIRE);
		if ((int32_t)(teardown_granted - mine) >= 0)
			return;
		teardown_end.tv_nsec = (long)(end - now);
		/* The futex is shared between processes, hence no FUTEX_PRIVATE_FLAG. */
		syscall(SYS_futex, &shm->teardown_granted, FUTEX_WAIT, teardown_granted,
			&teardown_end, NULL, 0);
	}
	kfdshim_log(LOG_INFO, "the daemon did not resume this process within 10 ms of the request");
}

struct client_shm *link_leave_begin(void)
{
	int saved = errno;
	struct client_shm *shm;
	uint32_t mine;

	agent_lock();
	shm = peer.shm;
	if (shm)
		peer.teardown_threads++;
	agent_unlock();
	if (!shm)
		return NULL;
	/* Announce the call, then read `suspended`. The daemon sets `suspended`, then reads the
	 * announcement. So at least one of the processes sees what the other has written. */
	mine = __atomic_add_fetch(&shm->teardown_begin, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&shm->suspended, __ATOMIC_SEQ_CST)) {
		wake();
		wait_released(shm, mine);
	}
	errno = saved;
	return shm;
}

void link_leave_end(struct client_shm *shm)
{
	int saved = errno;

	if (!shm)
		return;
	agent_lock();
	/* If a signal handler has forked during the call, the child has neither the memory nor a
	 * call in progress (link_shm_forget()). */
	if (peer.shm == shm && peer.teardown_threads) {
		__atomic_add_fetch(&shm->teardown_end, 1, __ATOMIC_SEQ_CST);
		peer.teardown_threads--;
		link_shm_wake();
	}
	agent_unlock();
	errno = saved;
}

static void publish_pins(void)
{
	if (peer.shm)
		__atomic_store_n(&peer.shm->pinning, peer.pins, __ATOMIC_SEQ_CST);
}

void link_pin_begin(void)
{
	int saved = errno;

	agent_lock();
	peer.pins++;
	publish_pins();
	agent_unlock();
	errno = saved;
}

void link_pin_end(void)
{
	int saved = errno;

	agent_lock();
	/* It is 0 in a child that a signal handler has forked during the call. */
	if (peer.pins)
		peer.pins--;
	publish_pins();
	agent_unlock();
	errno = saved;
}

void link_app_settings(void)
{
	if (!peer.shm)
		return;
	__atomic_store_n(&peer.shm->slo_us, config.slo_us, __ATOMIC_RELAXED);
	__atomic_store_n(&peer.shm->priority, config_priority(), __ATOMIC_RELEASE);
	link_shm_wake();
}

static bool is_at(uint32_t i, uint32_t gpu_id)
{
	return __atomic_load_n(&peer.daemon_shm->nodes[i].gpu_id, __ATOMIC_RELAXED) == gpu_id;
}

/* Returns true if the daemon keeps less urgent processes suspended on the node. Tries first the
 * node's last index in the daemon's shared memory, which is mostly right. */
static bool holds_work(struct shim_node *node)
{
	uint32_t n = __atomic_load_n(&peer.daemon_shm->node_count, __ATOMIC_RELAXED), i = 0;

	if (!is_at(node->on_daemon_shm, node->gpu_id)) {
		while (i < n && i < CLIENT_SHM_NODES && !is_at(i, node->gpu_id))
			i++;
		if (i == n || i == CLIENT_SHM_NODES)
			return false;
		node->on_daemon_shm = i;
	}
	return __atomic_load_n(&peer.daemon_shm->nodes[node->on_daemon_shm].suspended,
			       __ATOMIC_RELAXED) > 0;
}

void link_read_daemon_shm(uint64_t now_ns)
{
	int priority = config_priority();

	/* Return for an offline process, because no work is held for it. Do not return for
	 * PRIORITY_UNSET, because the daemon may have set a priority. */
	if (!peer.daemon_shm || (priority != PRIORITY_UNSET && priority <= PRIORITY_OFFLINE))
		return;
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && queues.nodes[i].gpu_id; i++)
		if (queues.nodes[i].active && holds_work(&queues.nodes[i]))
			queues.nodes[i].holds_ns = now_ns;
}

/* Publishes the whole state in the shared memory of a new connection. */
static void publish_all(uint64_t now_ns)
{
	for (uint32_t i = 0; i < queues.end; i++)
		if (queues.table[i])
			link_queue(queues.table[i]);
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && queues.nodes[i].gpu_id; i++)
		link_node(i, queues.nodes[i].active > 0,
			  queues.nodes[i].active ? queues.nodes[i].since_ns : now_ns);
	link_app_settings();
	publish_runtime();
}

void link_shm_begin(struct client_shm *shm, const struct daemon_shm *daemon_shm, int wake_fd,
		    uint64_t now_ns)
{
	peer.shm = shm;
	peer.daemon_shm = daemon_shm;
	peer.wake_fd = wake_fd;
	publish_all(now_ns);
	publish_pins();
}

bool link_shm_end(void)
{
	struct client_shm *shm = NULL;
	const struct daemon_shm *daemon_shm = NULL;

	agent_lock();
	if (peer.teardown_threads == 0) {
		shm = peer.shm;
		daemon_shm = peer.daemon_shm;
		peer.shm = NULL;
		peer.daemon_shm = NULL;
		descriptor_close(&peer.wake_fd);
	}
	agent_unlock();
	if (!shm)
		return false;
	client_shm_unmap(shm);
	daemon_shm_unmap(daemon_shm);
	return true;
}

struct client_shm *link_shm(void)
{
	return peer.shm;
}

uint64_t link_shm_heartbeat_ns(void)
{
	return __atomic_load_n(&peer.daemon_shm->heartbeat_ns, __ATOMIC_RELAXED);
}

void link_shm_forget(void)
{
	if (peer.shm)
		client_shm_unmap(peer.shm);
	if (peer.daemon_shm)
		daemon_shm_unmap(peer.daemon_shm);
	descriptor_close(&peer.wake_fd);
	peer.shm = NULL;
	peer.daemon_shm = NULL;
	peer.teardown_threads = peer.pins = 0;
	memset(&runtime, 0, sizeof(runtime));
}
