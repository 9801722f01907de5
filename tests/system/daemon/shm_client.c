// SPDX-License-Identifier: MIT
/*
 * A client of the daemon without a GPU. It registers as a shim does and executes the commands on
 * standard input, one a line, on its shared memory (struct client_shm). It prints the same word on
 * standard output when the command is done.
 *
 *   client_shm_client SOCKET PRIORITY GPU_ID [LEVEL]
 *
 *   use GPU_ID         the following commands are about this node
 *   on, off            the node becomes active, idle
 *   random SEED N US   N times on and off, each for up to US microseconds
 *   play SEED MS US    the same, until MS milliseconds have passed
 *   cycle SEED N US    the same, but on until a process is suspended for it and
 *                      off until none is, and then for up to US more
 *   enable             publishes that the runtime is enabled
 *   leave, left        enters and leaves a call that a suspension would block
 *   released MS        waits until the daemon has served `leave`, at most MS
 *   suspended MS       waits until its memory shows that it is suspended, at most MS
 *   obey MS            waits for the next order, at most MS, and acknowledges it
 *   lose ERRNO         publishes that it is not held any more
 *   priority N         changes its priority
 *   slo US             changes the objective for its requests
 *   queue N TYPE       makes entry N of its table a queue of this type (client_shm.h)
 *   events N           writes N events of queue 0; the memory keeps the last ones
 *   hang_up            closes the socket and keeps the rest
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "common/clock.h"

#define TRIES 20
#define RETRY_US 100000

static int sock, wake_fd;
static struct client_shm *shm;
static const struct daemon_shm *daemon_shm;
static uint32_t node;

static int fail(const char *what, int error)
{
	fprintf(stderr, "lane_client: %s: %s\n", what, strerror(-error));
	return 1;
}

static void wake(void)
{
	uint64_t one = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&daemon_shm->asleep, __ATOMIC_RELAXED))
		(void)!write(wake_fd, &one, sizeof(one));
}

static void set(bool active)
{
	if (client_shm_node_set(shm, node, active, clock_ns()))
		wake();
}

static void sleep_us(unsigned us)
{
	const struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static void toggle(unsigned max_us)
{
	set(true);
	sleep_us((unsigned)random() % max_us);
	set(false);
	sleep_us((unsigned)random() % max_us);
}

/* Waits until *word == value. Returns false if that takes longer than ms. */
static bool reaches(const uint32_t *word, uint32_t value, unsigned ms)
{
	uint64_t end = clock_ns() + ms * 1000000ull;

	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
		if (clock_ns() > end)
			return false;
		sleep_us(100);
	}
	return true;
}

/* Waits until a process is suspended on the node, or (`another_uid` false) until none is. */
static bool preempts(bool another_uid, uint32_t gpu_id)
{
	const struct daemon_shm_node *n = daemon_shm->nodes;
	uint64_t end = clock_ns() + 5000000000u;

	while (n->gpu_id != gpu_id)
		if (++n == daemon_shm->nodes + CLIENT_SHM_NODES)
			return false;
	while ((__atomic_load_n(&n->suspended, __ATOMIC_SEQ_CST) > 0) != another_uid) {
		if (clock_ns() > end)
			return false;
		sleep_us(50);
	}
	return true;
}

static int cycle(unsigned seed, unsigned times, unsigned max_us)
{
	uint32_t gpu_id = client_shm_node_id(shm, node);

	srandom(seed);
	for (unsigned i = 0; i < 2 * times; i++) {
		set(i % 2 == 0);
		if (!preempts(i % 2 == 0, gpu_id))
			return -ETIMEDOUT;
		sleep_us((unsigned)random() % max_us);
	}
	return 0;
}

static int acknowledge(unsigned ms)
{
	uint64_t end = clock_ns() + ms * 1000000ull;
	uint32_t hold_cmd;

	while ((hold_cmd = __atomic_load_n(&shm->hold_cmd, __ATOMIC_ACQUIRE)) ==
	       shm->hold_cmd_done) {
		if (clock_ns() > end)
			return -ETIMEDOUT;
		sleep_us(100);
	}
	shm->hold_cmd_errno = 0;
	__atomic_store_n(&shm->hold_cmd_done, hold_cmd, __ATOMIC_RELEASE);
	wake();
	return 0;
}

static void bump(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	wake();
}

/* Executes one command. Returns 0 if it is done. */
static int obey(const char *line)
{
	unsigned a, b, c;
	uint64_t end;

	if (strcmp(line, "on") == 0) {
		set(true);
	} else if (sscanf(line, "use %u", &a) == 1) {
		int slot = client_shm_node_slot(shm, a);

		if (slot < 0)
			return slot;
		node = (uint32_t)slot;
	} else if (strcmp(line, "off") == 0) {
		set(false);
	} else if (sscanf(line, "random %u %u %u", &a, &b, &c) == 3 && c > 0) {
		srandom(a);
		while (b-- > 0)
			toggle(c);
	} else if (sscanf(line, "play %u %u %u", &a, &b, &c) == 3 && c > 0) {
		end = clock_ns() + b * 1000000ull;
		for (srandom(a); clock_ns() < end;)
			toggle(c);
	} else if (sscanf(line, "cycle %u %u %u", &a, &b, &c) == 3 && c > 0) {
		return cycle(a, b, c);
	} else if (strcmp(line, "enable") == 0) {
		__atomic_store_n(&shm->runtime, CLIENT_SHM_RUNTIME_ENABLED, __ATOMIC_RELEASE);
		wake();
	} else if (strcmp(line, "leave") == 0) {
		bump(&shm->teardown_begin);
	} else if (strcmp(line, "left") == 0) {
		bump(&shm->teardown_end);
	} else if (sscanf(line, "released %u", &a) == 1) {
		return reaches(&shm->teardown_granted, shm->teardown_begin, a) ? 0 : -ETIMEDOUT;
	} else if (sscanf(line, "suspended %u", &a) == 1) {
		return reaches(&shm->suspended, 1, a) ? 0 : -ETIMEDOUT;
	} else if (sscanf(line, "obey %u", &a) == 1) {
		return acknowledge(a);
	} else if (sscanf(line, "lose %u", &a) == 1) {
		__atomic_store_n(&shm->hold_cmd_errno, (int32_t)a, __ATOMIC_RELEASE);
		wake();
	} else if (sscanf(line, "priority %u", &a) == 1) {
		__atomic_store_n(&shm->priority, (int)a, __ATOMIC_SEQ_CST);
		wake();
	} else if (sscanf(line, "slo %u", &a) == 1) {
		__atomic_store_n(&shm->slo_us, a, __ATOMIC_SEQ_CST);
		wake();
	} else if (sscanf(line, "queue %u %u", &a, &b) == 2) {
		client_shm_queue_write(
			shm, a,
			&(struct client_shm_queue){.used = 1,
						   .queue_id = a,
						   .gpu_id = client_shm_node_id(shm, node),
						   .type = b,
						   .percent = 100});
		wake();
	} else if (sscanf(line, "events %u", &a) == 1) {
		for (b = 0; b < a; b++)
			client_shm_event_add(shm,
					     &(struct client_shm_event){
						     .ns = clock_ns(),
						     .kind = b & 1 ? CLIENT_SHM_EVENT_QUEUE_IDLE
								   : CLIENT_SHM_EVENT_QUEUE_ACTIVE,
						     .gpu_id = client_shm_node_id(shm, node),
						     .value = b});
	} else if (strcmp(line, "hang_up") == 0) {
		close(sock);
	} else {
		return -EINVAL;
	}
	return 0;
}

static int handshake(const char *path, int priority, enum protocol_level level)
{
	const struct protocol_hello hello = {.magic = PROTOCOL_MAGIC,
					     .version = PROTOCOL_VERSION,
					     .kind = PROTOCOL_SHIM,
					     .priority = priority,
					     .level = level};
	struct protocol_welcome welcome;
	size_t nfds = PROTOCOL_WELCOME_FDS;
	int fds[PROTOCOL_WELCOME_FDS];
	int error;

	sock = protocol_connect(path);
	if (sock < 0)
		return sock;
	error = protocol_send(sock, &hello, sizeof(hello), NULL, 0);
	if (!error)
		error = protocol_receive(sock, &welcome, sizeof(welcome), fds, &nfds, 10000);
	if (error)
		return error;
	if (welcome.status || nfds != PROTOCOL_WELCOME_FDS)
		return welcome.status ? welcome.status : -EPROTO;
	error = client_shm_map(fds[0], &shm);
	if (!error)
		error = daemon_shm_map(fds[1], &daemon_shm);
	wake_fd = fds[2];
	return error;
}

/* Connects as a shim does: if the daemon is busy, it tries again. */
static int connect_to(const char *path, int priority, enum protocol_level level)
{
	int error = -EAGAIN;

	for (int i = 0; i < TRIES && error == -EAGAIN; i++) {
		error = handshake(path, priority, level);
		if (error == -EAGAIN) {
			close(sock);
			sleep_us(RETRY_US);
		}
	}
	return error;
}

int main(int argc, char **argv)
{
	enum protocol_level level = PROTOCOL_LEVEL_AUTO;
	char line[128];
	int error;

	if (argc < 4 || argc > 5 || (argc == 5 && protocol_level(argv[4], &level) != 0)) {
		fprintf(stderr, "usage: lane_client SOCKET PRIORITY GPU_ID [LEVEL]\n");
		return 2;
	}
	error = connect_to(argv[1], atoi(argv[2]), level);
	if (error)
		return fail("no handshake", error);
	node = (uint32_t)client_shm_node_slot(shm, (uint32_t)strtoul(argv[3], NULL, 0));
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		error = obey(line);
		if (error)
			return fail(line, error);
		printf("%.*s\n", (int)strcspn(line, " "), line);
	}
	return 0;
}
