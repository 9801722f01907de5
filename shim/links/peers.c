// SPDX-License-Identifier: MIT
#include "shim/links/peers.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/descriptor.h"
#include "shim/links/peer_files.h"
#include "shim/links/peer_policy.h"
#include "shim/thread.h"

#define PEERS_MAX 64u /* peers beyond this number are not seen */
/* Directory entries that one scan reads. */
#define FILES_MAX 4096u
#define RETRY_NS 10000000000u /* delay before the files are made again after an error */

/* If so many datagrams wait in the socket, others may have been lost, even an ARRIVE. Linux queues
 * 11 for a receiver that does not read them (max_dgram_qlen is 10). */
#define FULL 8u

#define CHECK_NS 100000000u /* while held, check() reads all files again with this period */

#define PEERS_CHANGED 'l' /* a node of the sender became active or idle */
#define ARRIVE 'a'	  /* the sender is new, or has another priority */

/* A peer. Sampler's thread only, unless noted otherwise. */
struct peer {
	char name[PEERS_NAME];
	pid_t pid;
	int fd; /* its shared-memory file, open for reading */
	int priority;
	char group[CLIENT_SHM_GROUP_MAX];
	struct sockaddr_un address;
	bool unwoken; /* atomic: still to be notified of the last change of this process */
	bool stale;   /* its file has to be read again */
	/* Nodes in the peer's file, and which of them are active, as read_peer() found last. */
	uint32_t gpu_ids[CLIENT_SHM_NODES];
	bool busy[CLIENT_SHM_NODES];
	/* Nodes that the peer uses, and those where it is active, as the last is_urgent_elsewhere()
	 * found. Bit numbers are indices in urgency.gpus. */
	struct node_set nodes, active;
};

/* Written by the sampler's thread only; `peers`, `count`, `own` and `files` change under the
 * agent's lock. */
static struct peer peers[PEERS_MAX];
static uint32_t count;
static struct client_shm own;  /* content of this process's file; its events are unused */
static struct client_shm copy; /* content of the peer's file that read_peer() or add() read last */
static struct peers_own files = {.directory = -1, .shm = -1, .socket = -1};
/* The process that made the files. */
static pid_t started_by;
static bool up;		  /* the files exist and are kept up to date */
static bool rescan;	  /* atomic: scan() is needed, because a peer is new or unreachable */
static bool changed;	  /* atomic: a value has changed that determines `urgent` */
static bool urgent;	  /* a more urgent peer is active on a node of this process */
static uint64_t check_ns; /* next full check while held */
static uint64_t retry_ns; /* earliest time to make the files again after an error */
static int logged_error;  /* last error that was logged */

/* GPUs that the last is_urgent_elsewhere() has found; the index is the bit number in node sets. */
static struct {
	uint32_t gpus[CLIENT_SHM_NODES];
	uint32_t count;
} urgency;

/* Returns a peer's priority. A process with PRIORITY_UNSET holds no peer, and is not held. */
static int priority_of(const struct peer *peer)
{
	return __atomic_load_n(&peer->priority, __ATOMIC_RELAXED);
}

static bool same_group(const char *a, const char *b)
{
	return a[0] != '\0' && strcmp(a, b) == 0;
}

/* Returns the priority of the gang (processes that are held together) with this group name: the
 * highest priority of its members. @highest is the priority of one member. */
static int gang_priority(const char *group, int highest)
{
	if (same_group(config.group, group) && config_priority() > highest)
		highest = config_priority();
	for (uint32_t i = 0; i < count; i++)
		if (same_group(peers[i].group, group) && priority_of(&peers[i]) > highest)
			highest = priority_of(&peers[i]);
	return highest;
}

static void send_to(const struct sockaddr_un *address, char what)
{
	if (!descriptor_is_ours(files.socket))
		return;
	if (sendto(files.socket, &what, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)address, sizeof(*address)) == 1)
		return;
	/* EAGAIN: the peer's queue is full, so the peer will read its socket anyway. */
	if (errno != EAGAIN)
		__atomic_store_n(&rescan, true, __ATOMIC_RELAXED);
}

/* Writes @part, which is a part of `own`, to the same offset in the file of this process. */
static void write_shm(const void *part, size_t size)
{
	if (descriptor_is_ours(files.shm))
		(void)!pwrite(files.shm, part, size, (off_t)((char *)part - (char *)&own));
}

static void set_changed(void)
{
	__atomic_store_n(&changed, true, __ATOMIC_SEQ_CST);
}

/* Notifies the first peer that may have to hold itself because of this process, and marks the
 * others for wake_rest(). Returns true if any is marked. Such a peer has a lower priority. If this
 * process uses a new node, the peers of its group are such peers, too: a group is held together. */
static bool wake_first(bool new_node)
{
	int mine = gang_priority(config.group, config_priority());
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (same_group(peers[i].group, config.group) ? !new_node
							     : priority_of(&peers[i]) >= mine)
			continue;
		if (n++ == 0)
			send_to(&peers[i].address, PEERS_CHANGED);
		else
			__atomic_store_n(&peers[i].unwoken, true, __ATOMIC_RELAXED);
	}
	return n > 1;
}

void peers_node(uint32_t gpu_id, bool active, uint64_t now_ns)
{
	int saved = errno, slot;
	bool is_new, more;

	if (!up)
		return;
	slot = client_shm_node_slot(&own, gpu_id);
	if (slot < 0)
		return;
	is_new = client_shm_node(&own, (uint32_t)slot)->activity == 0;
	if (!client_shm_node_set(&own, (uint32_t)slot, active, now_ns) && !is_new)
		return;
	write_shm(client_shm_node(&own, (uint32_t)slot), sizeof(struct client_shm_node));
	set_changed();
	more = wake_first(is_new);
	/* New work ends only a long sleep of the sampler. End a short one, too, if the sampler has
	 * to notify the other peers, to hold this work, or to find peers that came while this
	 * process had no queues (the sampler does not read the socket then). */
	if (more || (active && (peers_hold_awaits_work() || !queues_any())))
		sampler_wake_now();
	errno = saved;
}

static void wake_rest(void)
{
	for (uint32_t i = 0; i < count; i++)
		if (__atomic_exchange_n(&peers[i].unwoken, false, __ATOMIC_RELAXED))
			send_to(&peers[i].address, PEERS_CHANGED);
}

/* Writes an entry of the queue table to this process's file, unless the file contains it already.
 * The caller has cleared the fields that change with work. */
static void write_queue(uint32_t slot, const struct client_shm_queue *entry)
{
	uint32_t generation = own.queue_generation;
	int saved = errno;

	client_shm_queue_write(&own, slot, entry);
	if (own.queue_generation == generation)
		return;
	write_shm(&own.queues[slot], sizeof(own.queues[slot]));
	write_shm(&own.queue_end, sizeof(own.queue_end));
	write_shm(&own.queue_generation, sizeof(own.queue_generation));
	errno = saved;
}

void peers_queue(const struct shim_queue *q)
{
	struct client_shm_queue entry;

	if (!up)
		return;
	set_changed();
	entry = queues_entry(q);
	entry.state = CLIENT_SHM_QUEUE_IDLE;
	entry.hooked = 0;
	write_queue(q->slot, &entry);
}

void peers_queue_gone(const struct shim_queue *q)
{
	static const struct client_shm_queue none;

	if (!up)
		return;
	set_changed();
	write_queue(q->slot, &none);
}

/* ---- finding peers ---- */

static bool is_known(const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(peers[i].name, name) == 0)
			return true;
	return strcmp(files.name, name) == 0;
}

/* Reads a peer's file. If its priority has changed, notifies the peer, so that it reads this
 * process's file again: only less urgent peers are notified, so it may have missed changes. */
static void read_peer(struct peer *peer)
{
	int before = peer->priority;
	struct client_shm_node node;

	peer->stale = false;
	memset(peer->gpu_ids, 0, sizeof(peer->gpu_ids));
	if (peers_read(peer->fd, &copy) != 0)
		return;
	for (uint32_t i = 0; client_shm_node_read(&copy, i, &node) == 0; i++) {
		peer->gpu_ids[i] = node.gpu_id;
		peer->busy[i] = node.activity & 1;
	}
	__atomic_store_n(&peer->priority, copy.priority, __ATOMIC_RELAXED);
	if (copy.priority != before)
		send_to(&peer->address, PEERS_CHANGED);
}

static void all_stale(void)
{
	for (uint32_t i = 0; i < count; i++)
		peers[i].stale = true;
	set_changed();
}

static void add(const char *name, pid_t pid)
{
	struct peer *peer = &peers[count];

	if (count == PEERS_MAX)
		return;
	*peer = (struct peer){.pid = pid, .fd = peers_open(&files, name, pid), .stale = true};
	if (peer->fd < 0)
		return;
	if (peers_read(peer->fd, &copy) != 0 || !peers_address(&files, name, &peer->address)) {
		descriptor_close(&peer->fd);
		return;
	}
	memcpy(peer->name, name, sizeof(peer->name));
	memcpy(peer->group, copy.group, sizeof(peer->group));
	peer->priority = copy.priority;
	agent_lock();
	count++;
	agent_unlock();
}

static void drop(uint32_t i)
{
	int fd = peers[i].fd;

	agent_lock();
	count--;
	peers[i] = peers[count];
	agent_unlock();
	descriptor_close(&fd);
}

static void drop_dead(void)
{
	set_changed();
	for (uint32_t i = count; i-- > 0;)
		if (peers_check(&files, peers[i].fd, peers[i].name, peers[i].pid) != 0)
			drop(i);
}

/* Scans the directory for peers that have come or gone. Sends the datagram @what to new peers,
 * because they were not notified of earlier changes. */
static void scan(char what)
{
	char name[PEERS_NAME];
	struct dirent *entry;
	uint32_t left = FILES_MAX, known;
	DIR *dir;
	pid_t pid;

	__atomic_store_n(&rescan, false, __ATOMIC_RELAXED);
	drop_dead();
	known = count;
	dir = opendir(files.path);
	if (!dir)
		return;
	while (left-- > 0 && (entry = readdir(dir)))
		if (peers_name(entry->d_name, name, &pid) && !is_known(name))
			add(name, pid);
	closedir(dir);
	for (uint32_t i = known; i < count; i++)
		send_to(&peers[i].address, what);
	all_stale();
}

/* ---- start and stop ---- */

static void failed(int err, const char *why, uint64_t now_ns)
{
	/* These errors also occur in daemon_link.c, which logs them. */
	bool is_known_error = err == -ENOTSUP || err == -EMFILE || err == -ENFILE;

	retry_ns = now_ns + RETRY_NS;
	if (err == logged_error)
		return;
	if (files.owner != PEERS_NO_OWNER)
		kfdshim_log(
			LOG_ERROR,
			"other processes cannot be found without a daemon: %s belongs to user %u, "
			"so it is not used; have root remove it, or set XDG_RUNTIME_DIR to your own "
			"directory, or start kfdschedd",
			files.path, files.owner);
	else
		kfdshim_log(is_known_error ? LOG_INFO : LOG_ERROR,
			    "other processes cannot be found without a daemon: %s %s: %s; %s", why,
			    files.path, strerror(-err),
			    err == -ENOSPC
				    ? "free space there"
				    : remedy(-err, "it must belong to this user, with mode 0700: "
						   "remove it, or set XDG_RUNTIME_DIR"));
	logged_error = err;
}

static void start(uint64_t now_ns)
{
	const char *why;
	int err;

	memset(&own, 0, offsetof(struct client_shm, queues[client_shm_queue_end(&own)]));
	memset(own.more_nodes, 0, sizeof(own.more_nodes));
	own.magic = CLIENT_SHM_MAGIC;
	own.version = CLIENT_SHM_VERSION;
	own.size = sizeof(own);
	own.priority = config_priority();
	memcpy(own.group, config.group, sizeof(own.group));
	err = peers_own_open(&files, &own, &why);
	if (err) {
		failed(err, why, now_ns);
		return;
	}
	logged_error = 0;
	peers_hold_begin();
	started_by = getpid();
	agent_lock();
	up = true;
	for (uint32_t i = 0; i < queues.end; i++)
		if (queues.table[i])
			peers_queue(queues.table[i]);
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && queues.nodes[i].gpu_id; i++)
		peers_node(queues.nodes[i].gpu_id, queues.nodes[i].active > 0, now_ns);
	agent_unlock();
	scan(ARRIVE);
	kfdshim_log(LOG_INFO, "finds other processes of this user in %s", files.path);
}

void peers_stop(void)
{
	peers_hold_end();
	if (!up)
		return;
	agent_lock();
	up = false;
	agent_unlock();
	while (count > 0)
		drop(count - 1);
	peers_own_close(&files, true);
}

/* ---- decision ---- */

/* Adds a GPU to a set of nodes. The GPU's bit number is its index in urgency.gpus; a GPU that is
 * not there yet is appended. */
static void put(struct node_set *set, uint32_t gpu_id)
{
	static bool reported;
	uint32_t i = 0;

	while (i < urgency.count && urgency.gpus[i] != gpu_id)
		i++;
	if (i == urgency.count && i == CLIENT_SHM_NODES) {
		if (!reported)
			kfdshim_log(
				LOG_ERROR,
				"the processes of this user use more than %u GPUs: on the others, %u "
				"among them, no process is held for another without a daemon",
				CLIENT_SHM_NODES, gpu_id);
		reported = true;
		return;
	}
	if (i == urgency.count)
		urgency.gpus[urgency.count++] = gpu_id;
	node_set_put(set, i, true);
}

static void note_nodes(struct peer *peer)
{
	peer->nodes = peer->active = (struct node_set){0};
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && peer->gpu_ids[i]; i++) {
		put(&peer->nodes, peer->gpu_ids[i]);
		if (peer->busy[i])
			put(&peer->active, peer->gpu_ids[i]);
	}
}

/* Returns the set of nodes where this process or a member of its group has queues. */
static struct node_set nodes_of_ours(void)
{
	struct node_set nodes = {0};

	agent_lock();
	for (uint32_t i = 0; i < queues.end; i++)
		if (queues.table[i] && queues.table[i]->gpu_id)
			put(&nodes, queues.table[i]->gpu_id);
	agent_unlock();
	for (uint32_t i = 0; i < count; i++)
		if (same_group(peers[i].group, config.group))
			node_set_add(&nodes, &peers[i].nodes);
	return nodes;
}

/* Returns the nodes that the peer's gang (its group, or only the peer) keeps busy: if a member is
 * active, all nodes where a member has queues. */
static struct node_set gang_active(const struct peer *peer)
{
	struct node_set nodes = {0}, active = {0}, none = {0};

	if (peer->group[0] == '\0')
		return peer->active;
	for (uint32_t i = 0; i < count; i++) {
		if (!same_group(peers[i].group, peer->group))
			continue;
		node_set_add(&nodes, &peers[i].nodes);
		node_set_add(&active, &peers[i].active);
	}
	return node_set_any(&active) ? nodes : none;
}

/* Returns true if a gang (processes held together) of higher priority than this process's gang is
 * active on a node where this process or its group has queues. */
static bool is_urgent_elsewhere(void)
{
	int mine = gang_priority(config.group, config_priority());
	struct node_set ours, active;

	urgency.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (peers[i].stale)
			read_peer(&peers[i]);
		note_nodes(&peers[i]);
	}
	ours = nodes_of_ours();
	for (uint32_t i = 0; i < count; i++) {
		if (same_group(peers[i].group, config.group) ||
		    gang_priority(peers[i].group, peers[i].priority) <= mine)
			continue;
		active = gang_active(&peers[i]);
		if (node_sets_meet(&active, &ours))
			return true;
	}
	return false;
}

/* Returns the peer that sent a datagram from @address, or NULL. Compares only the file name of the
 * peer's socket, because the peer may see the directory under another path. */
static struct peer *peer_at(const struct sockaddr_un *address)
{
	const char *file = strrchr(address->sun_path, '/');
	size_t length;

	for (uint32_t i = 0; file && i < count; i++) {
		length = strlen(peers[i].name);
		if (strncmp(file + 1, peers[i].name, length) == 0 && file[1 + length] == '.')
			return &peers[i];
	}
	return NULL;
}

/* Reads all datagrams and marks the files of their senders to be read again. */
static void drain_socket(void)
{
	struct peer *peer;
	uint32_t n = 0;
	char what;

	for (;;) {
		struct sockaddr_un from = {0};
		socklen_t length = sizeof(from);

		if (recvfrom(files.socket, &what, 1, MSG_DONTWAIT, (struct sockaddr *)&from,
			     &length) < 0)
			return;
		if (what != PEERS_CHANGED || ++n == FULL)
			__atomic_store_n(&rescan, true, __ATOMIC_RELAXED);
		from.sun_path[sizeof(from.sun_path) - 1] = '\0';
		peer = peer_at(&from);
		if (peer)
			peer->stale = true;
		set_changed();
	}
}

/* Every 100 ms while held: finds dead peers, and changes whose datagram was lost. */
static void check(uint64_t now_ns)
{
	if (!peers_hold_stands() || now_ns < check_ns)
		return;
	check_ns = now_ns + CHECK_NS;
	drop_dead();
	all_stale();
}

uint64_t peers_step(uint64_t now_ns, bool alone)
{
	if (!alone || config_priority() == PRIORITY_UNSET) {
		peers_stop();
		return UINT64_MAX;
	}
	if (!up && now_ns >= retry_ns && queues_any())
		start(now_ns);
	if (!up)
		return queues_any() ? retry_ns : UINT64_MAX;
	/* The application has changed the priority by kfdshim.h: publish it to all peers. */
	if (own.priority != config_priority()) {
		own.priority = config_priority();
		write_shm(&own.priority, sizeof(own.priority));
		for (uint32_t i = 0; i < count; i++)
			send_to(&peers[i].address, ARRIVE);
		all_stale();
	}
	if (!descriptor_is_ours(files.socket)) {
		peers_lost();
		return retry_ns;
	}
	drain_socket();
	wake_rest();
	check(now_ns);
	if (__atomic_load_n(&rescan, __ATOMIC_RELAXED))
		scan(PEERS_CHANGED);
	if (queues_any()) {
		if (__atomic_exchange_n(&changed, false, __ATOMIC_SEQ_CST))
			urgent = is_urgent_elsewhere();
		return peers_hold_step(now_ns, urgent);
	}
	/* Without queues there is nothing to hold; the first queue wakes the sampler. */
	peers_hold_end();
	return UINT64_MAX;
}

void peers_lost(void)
{
	peers_stop();
	retry_ns = clock_ns() + RETRY_NS;
	kfdshim_log(LOG_ERROR,
		    "other processes cannot be found for 10 s: this program has closed file "
		    "descriptors of libkfdshim.so; do not close fds that the program has not "
		    "opened");
}

int peers_socket(void)
{
	return up && queues_any() ? files.socket : -1;
}

/* Removes the files of this process at a normal exit. If the process ends otherwise (a signal,
 * _exit()), its peers find that it is dead and remove its files. */
__attribute__((destructor)) static void leave(void)
{
	if (up && getpid() == started_by)
		peers_own_unlink(&files);
}

void peers_forget(void)
{
	for (uint32_t i = 0; i < count; i++)
		descriptor_close(&peers[i].fd);
	count = 0;
	peers_own_close(&files, false);
	up = rescan = changed = urgent = false;
	peers_hold_forget();
	retry_ns = 0;
	logged_error = 0;
}
