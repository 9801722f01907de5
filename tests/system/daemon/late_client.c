// SPDX-License-Identifier: MIT
/*
 * A program that works on a GPU without the shim and registers with the daemon later, as the shim
 * does. It has one queue, and its runtime is enabled. It executes the commands on standard input,
 * one word a line, and prints the same word when the command is done; at first it prints "ready".
 *
 *   latecomer SOCKET PRIORITY
 *
 *   hello    registers with this priority: its node is active, its runtime enabled
 *   work     submits a packet and waits for its end, at most 20 s
 *   exec     executes this program again, which prints "ready"
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "common/clock.h"
#include "tools/kfdconform/harness/harness.h"

static void hello(const char *path, int priority, uint32_t gpu_id)
{
	const struct protocol_hello hello = {.magic = PROTOCOL_MAGIC,
					     .version = PROTOCOL_VERSION,
					     .kind = PROTOCOL_SHIM,
					     .priority = priority};
	struct protocol_welcome welcome;
	int fds[PROTOCOL_WELCOME_FDS];
	size_t nfds = PROTOCOL_WELCOME_FDS;
	int socket = protocol_connect(path), node;
	const uint64_t one = 1;
	struct client_shm *shm;

	CHECK(socket >= 0);
	CHECK_IS(protocol_send(socket, &hello, sizeof(hello), NULL, 0), 0);
	CHECK_IS(protocol_receive(socket, &welcome, sizeof(welcome), fds, &nfds, 10000), 0);
	CHECK_IS(welcome.status, 0);
	CHECK_IS(nfds, PROTOCOL_WELCOME_FDS);
	CHECK_IS(client_shm_map(fds[0], &shm), 0);
	node = client_shm_node_slot(shm, gpu_id);
	CHECK(node >= 0);
	client_shm_node_set(shm, (uint32_t)node, true, clock_ns());
	__atomic_store_n(&shm->runtime, CLIENT_SHM_RUNTIME_ENABLED, __ATOMIC_SEQ_CST);
	CHECK_IS(write(fds[2], &one, sizeof(one)), sizeof(one));
}

static void work(struct raw_queue *queue, struct signal *signal)
{
	signal->value = 1;
	queue_barrier(queue, NULL, signal);
	queue_ring(queue);
	CHECK(comes(&signal->value, 0, 20000));
}

int main(int argc, char **argv)
{
	struct raw_queue queue;
	struct signal *signal;
	struct gpu_file gpu;
	char line[32];

	CHECK_IS(argc, 3);
	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	queue_new(&gpu, &queue);
	signal = signals_new(&gpu);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "hello") == 0)
			hello(argv[1], atoi(argv[2]), gpu.gpu_id);
		else if (strcmp(line, "work") == 0)
			work(&queue, signal);
		else if (strcmp(line, "exec") == 0)
			/* the stack of the new program may begin at the same address */
			return execv(argv[0], argv);
		else
			return 2;
		puts(line);
	}
	return 0;
}
