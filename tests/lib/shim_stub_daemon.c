// SPDX-License-Identifier: MIT
#include "tests/lib/shim_stub_daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fake daemon: %s: %s\n", what, strerror(errno));
	_exit(1);
}

void fake_daemon_listen(struct fake_daemon *d)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	unlink(d->path);
	strcpy(addr.sun_path, d->path);
	d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	must(d->listener >= 0, "socket");
	must(bind(d->listener, (struct sockaddr *)&addr, sizeof(addr)) == 0, "bind");
	must(listen(d->listener, 8) == 0, "listen");
	d->daemon_shm_fd = daemon_shm_create(CLIENT_SHM_VERSION, &d->daemon_shm);
	must(d->daemon_shm_fd >= 0, "board");
	d->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(d->event_fd >= 0, "eventfd");
}

void fake_daemon_open(struct fake_daemon *d)
{
	memset(d, 0, sizeof(*d));
	d->client = -1;
	strcpy(d->directory, "/tmp/kfdshim-daemon-XXXXXX");
	must(mkdtemp(d->directory) != NULL, "folder");
	snprintf(d->path, sizeof(d->path), "%s/socket", d->directory);
	setenv("KFDSHIM_SOCKET", d->path, 1);
	fake_daemon_listen(d);
}

static int serve(struct fake_daemon *d)
{
	uint32_t version = d->version ? d->version : PROTOCOL_VERSION;
	struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC, .version = version};
	int fds[PROTOCOL_WELCOME_FDS], err;

	err = protocol_receive(d->client, &d->hello, sizeof(d->hello), NULL, NULL, MEETS_MS);
	if (err)
		return err;
	fds[0] = client_shm_create(protocol_client_shm(version), &d->shm);
	must(fds[0] >= 0, "lane");
	if (d->version) {
		close(d->daemon_shm_fd);
		daemon_shm_unmap(d->daemon_shm);
		d->daemon_shm_fd = daemon_shm_create(protocol_client_shm(version), &d->daemon_shm);
		must(d->daemon_shm_fd >= 0, "board");
	}
	fds[1] = d->daemon_shm_fd;
	fds[2] = d->event_fd;
	err = protocol_send(d->client, &welcome, sizeof(welcome), fds, PROTOCOL_WELCOME_FDS);
	close(fds[0]);
	return err;
}

int fake_daemon_accept(struct fake_daemon *d, int ms)
{
	struct pollfd poll_fd = {.fd = d->listener, .events = POLLIN};
	int err;

	/* A client that had to wait for more than a second has closed its connection and connects
	 * again. */
	do {
		if (poll(&poll_fd, 1, ms) != 1)
			return -EAGAIN;
		d->client = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
		if (d->client < 0)
			return -errno;
		err = serve(d);
		if (err == -EPIPE || err == -ECONNRESET)
			close(d->client);
	} while (err == -EPIPE || err == -ECONNRESET);
	return err;
}

void fake_daemon_die(struct fake_daemon *d)
{
	close(d->listener);
	close(d->client);
	close(d->daemon_shm_fd);
	close(d->event_fd);
	daemon_shm_unmap(d->daemon_shm);
	d->listener = d->client = -1;
}

void fake_daemon_remove(struct fake_daemon *d)
{
	unlink(d->path);
	rmdir(d->directory);
}

void fake_daemon_wake(struct fake_daemon *d)
{
	const char any = 0;

	must(protocol_send(d->client, &any, sizeof(any), NULL, 0) == 0, "wake");
}

uint64_t fake_daemon_wakes(struct fake_daemon *d)
{
	uint64_t count;

	return read(d->event_fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

int fake_daemon_entry(const struct fake_daemon *d, uint32_t slot, struct client_shm_queue *out)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int err = -EAGAIN;

	for (int i = 0; i < MEETS_MS; i++) {
		err = client_shm_queue_read(d->shm, slot, out);
		if (err != -EAGAIN)
			break;
		nanosleep(&pause, NULL);
	}
	return err;
}

int fake_daemon_queue(const struct fake_daemon *d, uint32_t id, struct client_shm_queue *out)
{
	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		if (fake_daemon_entry(d, i, out) == 0 && out->queue_id == id)
			return 0;
	return -ENOENT;
}

int fake_daemon_queue_count(const struct fake_daemon *d)
{
	struct client_shm_queue q;
	int n = 0;

	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		n += fake_daemon_entry(d, i, &q) != -ENOENT;
	return n;
}

static int find_node(const struct fake_daemon *d, uint32_t gpu_id, struct client_shm_node *node)
{
	for (uint32_t i = 0; client_shm_node_read(d->shm, i, node) == 0; i++)
		if (node->gpu_id == gpu_id)
			return 0;
	return -ENOENT;
}

int fake_daemon_active(const struct fake_daemon *d, uint32_t gpu_id)
{
	struct client_shm_node node;

	return find_node(d, gpu_id, &node) == 0 ? (int)(node.activity & 1) : -1;
}

uint64_t fake_daemon_transitions(const struct fake_daemon *d, uint32_t gpu_id)
{
	struct client_shm_node node;

	return find_node(d, gpu_id, &node) == 0 ? node.activity >> 1 : 0;
}
