// SPDX-License-Identifier: MIT
#include "shim/peers.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/descriptor.h"
#include "shim/peers_files.h"
#include "shim/peers_hold.h"
#include "shim/queues.h"

#define PEERS_MAX 64u /* the others are not seen */
#define FILES_MAX 4096u
#define RETRY_NS 10000000000u /* after files that could not be made */

/* Linux queues 11 datagrams for a process that does not look (max_dgram_qlen is 10),
 * and where so many wait, an ARRIVE may be among those that were lost. */
#define FULL 8u

/* A thread that rings wakes so many peers; the agent's own thread wakes the others. */
#define DIRECT 4u
#define CHECK_NS 100000000u /* while held: is anything missed, does each still live? */

#define LOOK 'l'   /* a node of the sender became active or idle */
#define ARRIVE 'a' /* the sender is new, or has another priority */

struct peer {
	char name[PEERS_NAME];
	pid_t pid;
	int fd; /* of its lane */
	int priority;
	char group[LANE_GROUP_MAX];
	struct sockaddr_un address;
	bool unwoken; /* atomic: of the last change of ours */
	bool stale;   /* its lane is to be read again */
	/* as its lane was last read */
	uint32_t gpu_ids[LANE_NODES];
	bool busy[LANE_NODES];
	/* at the last look */
	struct node_set nodes, active; /* of look.gpus */
};

/* The sampler's thread writes all of it; `peers`, `count`, `own` and `files`
 * change under the agent's lock. */
static struct peer peers[PEERS_MAX];
static uint32_t count;
static struct lane own; /* what the file says; of its events nothing */
static struct peers_own files = {.folder = -1, .lane = -1, .socket = -1};
static pid_t started_by;
static struct sockaddr_un own_address;
static bool up;		  /* the files are there, and tell the truth */
static bool rescan;	  /* atomic: a peer has come, or does not answer */
static bool changed;	  /* atomic: what `urgent` follows from */
static bool urgent;	  /* a more urgent peer works where this process has queues */
static uint64_t check_ns; /* when everything is read again, while held */
static uint64_t retry_ns; /* before this there is no other try of making them */
static int told_error;	  /* what was said last */

/* gpu_ids by the number that stands for them in one look. */
static struct {
	uint32_t gpus[LANE_NODES];
	uint32_t count;
} look;

/* Whoever has no priority holds nobody back and is not held back. */
static int priority_of(const struct peer *peer)
{
	return __atomic_load_n(&peer->priority, __ATOMIC_RELAXED);
}

static int priority(void)
{
	return __atomic_load_n(&config.priority, __ATOMIC_RELAXED);
}

static bool takes_part(void)
{
	return priority() != PRIORITY_UNSET && !config.observe;
}

static bool same_group(const char *a, const char *b)
{
	return a[0] != '\0' && strcmp(a, b) == 0;
}

/* Of the unit that this group is; `highest` begins as one member's. */
static int unit_priority(const char *group, int highest)
{
	if (same_group(config.group, group) && priority() > highest)
		highest = priority();
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
	/* Full: it has not looked yet, and will. */
	if (errno != EAGAIN)
		__atomic_store_n(&rescan, true, __ATOMIC_RELAXED);
}

/* A part of `own`, to the file. */
static void write_lane(const void *part, size_t size)
{
	if (descriptor_is_ours(files.lane))
		(void)!pwrite(files.lane, part, size, (off_t)((char *)part - (char *)&own));
}

static void write_node(uint32_t slot)
{
	write_lane(lane_node(&own, slot), sizeof(struct lane_node));
}

static void set_changed(void)
{
	__atomic_store_n(&changed, true, __ATOMIC_SEQ_CST);
}

/* Those that may have to hold themselves back: the less urgent ones, and of another node than before the
 * own group, which is one unit. Were there any but the first few? */
static bool wake_few(bool new_node)
{
	int mine = unit_priority(config.group, priority());
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (same_group(peers[i].group, config.group) ? !new_node
							     : priority_of(&peers[i]) >= mine)
			continue;
		if (n++ < DIRECT)
			send_to(&peers[i].address, LOOK);
		else
			__atomic_store_n(&peers[i].unwoken, true, __ATOMIC_RELAXED);
	}
	return n > DIRECT;
}

void peers_node(uint32_t gpu_id, bool active, uint64_t now_ns)
{
	int saved = errno, slot;
	bool is_new, more;

	if (!up)
		return;
	slot = lane_node_slot(&own, gpu_id);
	if (slot < 0)
		return;
	is_new = lane_node(&own, (uint32_t)slot)->activity == 0;
	if (!lane_node_set(&own, (uint32_t)slot, active, now_ns) && !is_new)
		return;
	write_node((uint32_t)slot);
	set_changed();
	more = wake_few(is_new);
	/* The sampler's own sleep may be a short one, which work does not end. */
	if (more || (active && peers_hold_awaits_work()))
		send_to(&own_address, LOOK);
	errno = saved;
}

static void wake_rest(void)
{
	for (uint32_t i = 0; i < count; i++)
		if (__atomic_exchange_n(&peers[i].unwoken, false, __ATOMIC_RELAXED))
			send_to(&peers[i].address, LOOK);
}

/* An entry as the file has it, which is told of nothing that changes with work. */
static void write_queue(uint32_t slot, const struct lane_queue *entry)
{
	uint32_t generation = own.queue_generation;
	int saved = errno;

	lane_queue_write(&own, slot, entry);
	if (own.queue_generation == generation)
		return;
	write_lane(&own.queues[slot], sizeof(own.queues[slot]));
	write_lane(&own.queue_end, sizeof(own.queue_end));
	write_lane(&own.queue_generation, sizeof(own.queue_generation));
	errno = saved;
}

void peers_queue(const struct queue *q)
{
	struct lane_queue entry;

	if (!up)
		return;
	set_changed();
	entry = queues_entry(q);
	entry.state = LANE_QUEUE_IDLE;
	entry.hooked = 0;
	write_queue(q->slot, &entry);
}

void peers_queue_gone(const struct queue *q)
{
	static const struct lane_queue none;

	if (!up)
		return;
	set_changed();
	write_queue(q->slot, &none);
}

/* ---- who is there ---- */

static bool is_known(const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(peers[i].name, name) == 0)
			return true;
	return strcmp(files.name, name) == 0;
}

/* Of another priority than before: until now this process and the peer may not have sent each other what
 * follows from it, so the peer reads this lane again, too. */
static void read_peer(struct peer *peer)
{
	static struct lane copy; /* its head alone is ever touched */
	int before = peer->priority;
	struct lane_node node;

	peer->stale = false;
	memset(peer->gpu_ids, 0, sizeof(peer->gpu_ids));
	if (peers_read(peer->fd, &copy) != 0)
		return;
	for (uint32_t i = 0; lane_node_read(&copy, i, &node) == 0; i++) {
		peer->gpu_ids[i] = node.gpu_id;
		peer->busy[i] = node.activity & 1;
	}
	__atomic_store_n(&peer->priority, copy.priority, __ATOMIC_RELAXED);
	if (copy.priority != before)
		send_to(&peer->address, LOOK);
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
	static struct lane copy;

	if (count == PEERS_MAX)
		return;
	memset(peer, 0, sizeof(*peer));
	peer->stale = true;
	peer->fd = peers_open(&files, name, pid);
	if (peer->fd < 0)
		return;
	if (peers_read(peer->fd, &copy) != 0 || !peers_address(&files, name, &peer->address)) {
		descriptor_close(&peer->fd);
		return;
	}
	memcpy(peer->name, name, sizeof(peer->name));
	memcpy(peer->group, copy.group, sizeof(peer->group));
	peer->pid = pid;
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

/* Who is new here is told `what`: of what happened before that, it was not. */
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

/* ---- beginning and end ---- */

static void failed(int err, const char *why, uint64_t now_ns)
{
	/* The link to the daemon meets these too, and speaks of them. */
	bool said = err == -ENOTSUP || err == -EMFILE || err == -ENFILE;

	retry_ns = now_ns + RETRY_NS;
	if (err == told_error)
		return;
	if (files.owner != PEERS_NO_OWNER)
		say(LOG_ERROR,
		    "other processes cannot be found without a daemon: %s belongs to user %u, so "
		    "it is not used; root removes it, or set XDG_RUNTIME_DIR to a folder of your "
		    "own, or start kfdschedd",
		    files.path, files.owner);
	else
		say(said ? LOG_INFO : LOG_ERROR,
		    "other processes cannot be found without a daemon: %s %s: %s; %s", why,
		    files.path, strerror(-err),
		    err == -ENOSPC ? "make room there"
				   : remedy(-err, "it must be this user's own, with mode 0700: "
						  "remove it, or set XDG_RUNTIME_DIR"));
	told_error = err;
}

static void start(uint64_t now_ns)
{
	const char *why;
	int err;

	memset(&own, 0, offsetof(struct lane, queues[lane_queue_end(&own)]));
	memset(own.more_nodes, 0, sizeof(own.more_nodes));
	own.magic = LANE_MAGIC;
	own.version = LANE_VERSION;
	own.size = sizeof(own);
	own.priority = priority();
	memcpy(own.group, config.group, sizeof(own.group));
	err = peers_own_open(&files, &own, &why);
	if (err) {
		failed(err, why, now_ns);
		return;
	}
	peers_address(&files, files.name, &own_address);
	told_error = 0;
	peers_hold_begin();
	started_by = getpid();
	agent_lock();
	up = true;
	for (uint32_t i = 0; i < queues.end; i++)
		if (queues.table[i])
			peers_queue(queues.table[i]);
	for (uint32_t i = 0; i < LANE_NODES && queues.nodes[i].gpu_id; i++)
		peers_node(queues.nodes[i].gpu_id, queues.nodes[i].active > 0, now_ns);
	agent_unlock();
	scan(ARRIVE);
	say(LOG_INFO, "meets other processes of this user in %s", files.path);
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

/* ---- the decision ---- */

static void put(struct node_set *set, uint32_t gpu_id)
{
	static bool reported;
	uint32_t i = 0;

	while (i < look.count && look.gpus[i] != gpu_id)
		i++;
	if (i == look.count && i == LANE_NODES) {
		if (!reported)
			say(LOG_ERROR,
			    "the processes of this user name more than %u GPUs: on the others, %u among "
			    "them, none is held for another without a daemon",
			    LANE_NODES, gpu_id);
		reported = true;
		return;
	}
	if (i == look.count)
		look.gpus[look.count++] = gpu_id;
	node_set_put(set, i, true);
}

static void note_nodes(struct peer *peer)
{
	peer->nodes = peer->active = (struct node_set){0};
	for (uint32_t i = 0; i < LANE_NODES && peer->gpu_ids[i]; i++) {
		put(&peer->nodes, peer->gpu_ids[i]);
		if (peer->busy[i])
			put(&peer->active, peer->gpu_ids[i]);
	}
}

/* Nodes where this process has queues now, and those of its group. */
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

/* Where the unit of this peer is active. */
static struct node_set unit_active(const struct peer *peer)
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

static bool is_active_on(const struct peer *peer, const struct node_set *nodes)
{
	struct node_set active = unit_active(peer);

	return node_sets_meet(&active, nodes);
}

static bool is_urgent_elsewhere(void)
{
	int mine = unit_priority(config.group, priority());
	struct node_set ours;

	look.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (peers[i].stale)
			read_peer(&peers[i]);
		note_nodes(&peers[i]);
	}
	ours = nodes_of_ours();
	for (uint32_t i = 0; i < count; i++)
		if (!same_group(peers[i].group, config.group) &&
		    unit_priority(peers[i].group, peers[i].priority) > mine &&
		    is_active_on(&peers[i], &ours))
			return true;
	return false;
}

/* By its file's name: its folder may have another one there. */
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

/* Of each that says something the lane is read. */
static void drain_socket(void)
{
	struct sockaddr_un from = {0};
	socklen_t length = sizeof(from);
	struct peer *peer;
	uint32_t n = 0;
	char what;

	while (recvfrom(files.socket, &what, 1, MSG_DONTWAIT, (struct sockaddr *)&from, &length) >=
	       0) {
		if (what != LOOK || ++n == FULL)
			__atomic_store_n(&rescan, true, __ATOMIC_RELAXED);
		from.sun_path[sizeof(from.sun_path) - 1] = '\0';
		peer = peer_at(&from);
		if (peer)
			peer->stale = true;
		set_changed();
		from = (struct sockaddr_un){0};
		length = sizeof(from);
	}
}

/* While held, a datagram that was lost and the end of a process are found. */
static void check(uint64_t now_ns)
{
	if (!peers_hold_stands() || now_ns < check_ns)
		return;
	check_ns = now_ns + CHECK_NS;
	drop_dead();
	all_stale();
}

/* Anew, if something is new. */
static bool is_urgent(void)
{
	if (__atomic_exchange_n(&changed, false, __ATOMIC_SEQ_CST))
		urgent = is_urgent_elsewhere();
	return urgent;
}

/* By kfdshim.h, at run time. */
static void tell_priority(void)
{
	own.priority = priority();
	write_lane(&own.priority, sizeof(own.priority));
	for (uint32_t i = 0; i < count; i++)
		send_to(&peers[i].address, ARRIVE);
	all_stale();
}

uint64_t peers_step(uint64_t now_ns, bool alone)
{
	if (!alone || !takes_part()) {
		peers_stop();
		return UINT64_MAX;
	}
	if (!up && now_ns >= retry_ns && queues_any())
		start(now_ns);
	if (!up)
		return queues_any() ? retry_ns : UINT64_MAX;
	if (own.priority != priority())
		tell_priority();
	if (!descriptor_is_ours(files.socket)) {
		peers_lost();
		return retry_ns;
	}
	drain_socket();
	wake_rest();
	check(now_ns);
	if (__atomic_load_n(&rescan, __ATOMIC_RELAXED))
		scan(LOOK);
	if (queues_any())
		return peers_hold_step(now_ns, is_urgent());
	/* Until the first one wakes us. */
	peers_hold_end();
	return UINT64_MAX;
}

void peers_lost(void)
{
	peers_stop();
	retry_ns = clock_ns() + RETRY_NS;
	say(LOG_ERROR, "other processes are not found for 10 s: this program has closed the "
		       "descriptors that it did not open; leave those of libkfdshim.so open");
}

int peers_socket(void)
{
	return up && queues_any() ? files.socket : -1;
}

/* Who ends without it (a signal, _exit) is found to be dead. */
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
	told_error = 0;
}
