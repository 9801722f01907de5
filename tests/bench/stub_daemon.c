// SPDX-License-Identifier: MIT
#include "tests/bench/stub_daemon.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel/protocol.h"

#define WAIT_MS 5000

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static char directory[] = "/tmp/kfdshim-bench-XXXXXX";
static int listener;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench: greeting the agent: %s failed\n", what);
	exit(1);
}

void stub_daemon_open(void)
{
	must(mkdtemp(directory), "mkdtemp");
	snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", directory);
	setenv("KFDSHIM_SOCKET", address.sun_path, 1);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	must(listener >= 0 && !bind(listener, (struct sockaddr *)&address, sizeof address) &&
		     !listen(listener, 1),
	     "socket");
}

const struct client_shm *stub_daemon_accept(void)
{
	struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION};
	struct pollfd ready = {.fd = listener, .events = POLLIN};
	struct protocol_hello hello;
	struct client_shm *shm;
	struct daemon_shm *daemon_shm;
	int client, fds[PROTOCOL_WELCOME_FDS];

	must(poll(&ready, 1, WAIT_MS) == 1, "waiting for it");
	client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	must(client >= 0 && !protocol_receive(client, &hello, sizeof hello, NULL, NULL, WAIT_MS),
	     "hello");
	fds[0] = client_shm_create(CLIENT_SHM_VERSION, &shm);
	fds[1] = daemon_shm_create(CLIENT_SHM_VERSION, &daemon_shm);
	fds[2] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (unsigned i = 0; i < PROTOCOL_WELCOME_FDS; i++)
		must(fds[i] >= 0, "lane and board");
	must(!protocol_send(client, &welcome, sizeof welcome, fds, PROTOCOL_WELCOME_FDS),
	     "welcome");
	for (unsigned i = 0; i < PROTOCOL_WELCOME_FDS; i++)
		close(fds[i]);
	close(listener);
	unlink(address.sun_path);
	rmdir(directory);
	return shm;
}
