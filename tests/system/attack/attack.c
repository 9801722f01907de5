// SPDX-License-Identifier: MIT
#include "tests/system/attack/attack.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"

void attack_fail(const char *what, int error)
{
	fprintf(stderr, "attacker: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

void attack_begin(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	setpgid(0, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

void attack_sleep_ms(unsigned ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

int attack_connect(const char *path, uint64_t until_ns)
{
	int fd;

	while ((fd = protocol_connect(path)) == -EAGAIN && clock_ns() < until_ns)
		attack_sleep_ms(1);
	return fd;
}

struct protocol_hello attack_hello(uint32_t kind, int priority)
{
	return (struct protocol_hello){.magic = PROTOCOL_MAGIC,
				       .version = PROTOCOL_VERSION,
				       .kind = kind,
				       .priority = priority};
}

int attack_send(int sock, const void *data, size_t size, const int *fds, size_t nfds)
{
	union {
		char bytes[CMSG_SPACE(ATTACK_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *header;

	if (nfds > ATTACK_FDS)
		return -EINVAL;
	if (nfds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		header = CMSG_FIRSTHDR(&msg);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(header), fds, nfds * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int attack_status(int sock, int timeout_ms)
{
	static unsigned char packet[65536];
	struct pollfd readable = {.fd = sock, .events = POLLIN};
	struct protocol_welcome head;

	if (poll(&readable, 1, timeout_ms) != 1)
		return ETIMEDOUT;
	if (recv(sock, packet, sizeof(packet), MSG_DONTWAIT) < (ssize_t)sizeof(head))
		return EPIPE;
	memcpy(&head, packet, sizeof(head));
	return head.status;
}

int attack_register(struct attack_shim *shim, const char *path, int priority,
		    enum protocol_level level, uint32_t gpu_id)
{
	struct protocol_hello hello = attack_hello(PROTOCOL_SHIM, priority);
	struct protocol_welcome welcome;
	int error;

	hello.level = level;
	shim->nfds = sizeof(shim->fds) / sizeof(*shim->fds);
	shim->sock = attack_connect(path, clock_ns() + 10000000000u);
	if (shim->sock < 0)
		return shim->sock;
	error = attack_send(shim->sock, &hello, sizeof(hello), NULL, 0);
	if (!error)
		error = protocol_receive(shim->sock, &welcome, sizeof(welcome), shim->fds,
					 &shim->nfds, 10000);
	if (!error)
		error = welcome.status;
	if (!error && shim->nfds != PROTOCOL_WELCOME_FDS)
		error = -EPROTO;
	if (!error)
		error = client_shm_map(shim->fds[0], &shim->shm);
	if (!error)
		error = daemon_shm_map(shim->fds[1], &shim->daemon_shm);
	if (!error)
		shim->node = (uint32_t)client_shm_node_slot(shim->shm, gpu_id);
	return error;
}

void attack_wake(struct attack_shim *shim)
{
	const uint64_t one = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&shim->daemon_shm->asleep, __ATOMIC_RELAXED))
		(void)!write(shim->fds[2], &one, sizeof(one));
}

void attack_active(struct attack_shim *shim, bool active)
{
	if (client_shm_node_set(shim->shm, shim->node, active, clock_ns()))
		attack_wake(shim);
}
