// SPDX-License-Identifier: MIT
#include "channel/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/array.h"
#include "common/wait.h"

#define FDS_MAX 16u /* in one packet, either way */

union control {
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

uint32_t protocol_common(const struct protocol_hello *hello)
{
	uint32_t newest = hello->newest ? hello->newest : hello->version;

	if (hello->magic != PROTOCOL_MAGIC || newest < hello->version || newest < PROTOCOL_OLDEST ||
	    hello->version > PROTOCOL_VERSION)
		return 0;
	return newest < PROTOCOL_VERSION ? newest : PROTOCOL_VERSION;
}

bool protocol_is_welcome(const struct protocol_welcome *welcome)
{
	return welcome->magic == PROTOCOL_MAGIC && welcome->version >= PROTOCOL_OLDEST &&
	       welcome->version <= PROTOCOL_VERSION;
}

int protocol_priority(const char *text, int *out)
{
	int value = 0;

	if (strcmp(text, "online") == 0) {
		*out = PRIORITY_ONLINE;
		return 0;
	}
	if (strcmp(text, "offline") == 0) {
		*out = PRIORITY_OFFLINE;
		return 0;
	}
	if (!*text || strlen(text) > 2)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		value = value * 10 + (*text - '0');
	}
	if (value > 15)
		return -EINVAL;
	*out = value;
	return 0;
}

static const char *const levels[] = {
	[PROTOCOL_LEVEL_AUTO] = "auto",	    [PROTOCOL_LEVEL_TRAP] = "trap",
	[PROTOCOL_LEVEL_SELF] = "self",	    [PROTOCOL_LEVEL_GATE] = "gate",
	[PROTOCOL_LEVEL_WEIGHT] = "weight", [PROTOCOL_LEVEL_OBSERVE] = "observe",
};

int protocol_level(const char *text, enum protocol_level *out)
{
	for (unsigned i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (strcmp(text, levels[i]) == 0) {
			*out = (enum protocol_level)i;
			return 0;
		}
	return -EINVAL;
}

const char *protocol_level_name(enum protocol_level level)
{
	return levels[level];
}

/* Connects without blocking, because a daemon that accepts no connections must not delay the thread
 * that samples the queues. Returns the fd or a negative errno; -EAGAIN: the backlog is full. */
static int connect_to(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
		return fd;
	err = -errno;
	close(fd);
	/* EPROTOTYPE means that the file is a socket of another type. Return -ENOTSOCK, as for a
	 * file that is no socket. */
	return err == -EPROTOTYPE ? -ENOTSOCK : err;
}

int protocol_connect(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	int fd;

	if (length >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	if (geteuid() == 0 && length + sizeof(PROTOCOL_ROOT) <= sizeof(addr.sun_path)) {
		strcpy(addr.sun_path + length, PROTOCOL_ROOT);
		fd = connect_to(&addr);
		if (fd >= 0)
			return fd;
		addr.sun_path[length] = '\0';
	}
	return connect_to(&addr);
}

bool protocol_is_served(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return false;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	/* Connect with another socket type (SOCK_DGRAM) on purpose: the kernel then fails with
	 * EPROTOTYPE and does not notify the owner of the socket. If the owner of the socket file
	 * is dead, the error is ECONNREFUSED instead (unix_find_bsd in Linux'
	 * net/unix/af_unix.c). */
	err = connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0 ? 0 : errno;
	close(fd);
	return err == EPROTOTYPE;
}

int protocol_send(int fd, const void *data, size_t size, const int *fds, size_t nfds)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union control control;
	struct cmsghdr *header;
	ssize_t sent;

	if (nfds > FDS_MAX)
		return -EINVAL;
	if (nfds > 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		header = CMSG_FIRSTHDR(&msg);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(header), fds, nfds * sizeof(int));
	}
	sent = TEMP_FAILURE_RETRY(sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT));
	if (sent < 0)
		return -errno;
	return (size_t)sent == size ? 0 : -EMSGSIZE;
}

/* Waits until `fd` is readable. Returns 0; -EAGAIN when the time is over; or a negative errno. */
static int wait_readable(int fd, int timeout_ms)
{
	int ready = poll_one_ns(fd, POLLIN, wait_end_ms(timeout_ms));

	return ready > 0 ? 0 : ready ? ready : -EAGAIN;
}

/* Moves the fds of `msg` to `fds`. Closes those for which there is no room, and then returns false;
 * the caller has to close the fds in `fds`. */
static bool take_fds(struct msghdr *msg, int *fds, size_t room, size_t *count)
{
	struct cmsghdr *header;
	bool fits = true;
	size_t n;
	int one;

	*count = 0;
	for (header = CMSG_FIRSTHDR(msg); header; header = CMSG_NXTHDR(msg, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			memcpy(&one, CMSG_DATA(header) + i * sizeof(int), sizeof(one));
			if (*count < room) {
				fds[(*count)++] = one;
			} else {
				close(one);
				fits = false;
			}
		}
	}
	return fits;
}

int protocol_receive(int fd, void *data, size_t size, int *fds, size_t *nfds, int timeout_ms)
{
	size_t room = nfds ? *nfds : 0, count = 0;
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union control control;
	ssize_t got;
	int err;

	if (nfds)
		*nfds = 0;
	do {
		err = wait_readable(fd, timeout_ms);
		if (err)
			return err;
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		/* MSG_TRUNC: return the full length of a packet that is longer than the buffer. */
		got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT | MSG_TRUNC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (!take_fds(&msg, fds, room, &count))
		err = -EPROTO;
	else if (got == 0)
		err = -ECONNRESET;
	else if ((size_t)got != size)
		err = -EPROTO;
	else if (msg.msg_flags & MSG_CTRUNC) /* the buffer has room, so no fd number was free */
		err = -EMFILE;
	if (err) {
		for (size_t i = 0; i < count; i++) {
			close(fds[i]);
			fds[i] = -1;
		}
		return err;
	}
	if (nfds)
		*nfds = count;
	return 0;
}

int protocol_send_text(int fd, const struct protocol_welcome *head, const char *text)
{
	struct iovec parts[] = {
		{.iov_base = (void *)(uintptr_t)head, .iov_len = sizeof(*head)},
		{.iov_base = (void *)(uintptr_t)text, .iov_len = head->bytes},
	};
	const struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t sent;

	sent = TEMP_FAILURE_RETRY(sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT));
	if (sent < 0)
		return -errno;
	return (size_t)sent == sizeof(*head) + head->bytes ? 0 : -EMSGSIZE;
}

/* Receives one packet of a reply: its head into *head, and its text into `text`, which has room for
 * PROTOCOL_TEXT_MAX bytes. Returns 0 or a negative errno. */
static int receive_piece(int fd, struct protocol_welcome *head, char *text, int timeout_ms)
{
	struct iovec parts[] = {
		{.iov_base = head, .iov_len = sizeof(*head)},
		{.iov_base = text, .iov_len = PROTOCOL_TEXT_MAX},
	};
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t got;
	int err;

	do {
		err = wait_readable(fd, timeout_ms);
		if (err)
			return err;
		got = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_TRUNC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (got == 0)
		return -ECONNRESET;
	if ((size_t)got < sizeof(*head) || !protocol_is_welcome(head) ||
	    head->bytes > PROTOCOL_TEXT_MAX || (size_t)got != sizeof(*head) + head->bytes ||
	    head->status > 0)
		return -EPROTO;
	return 0;
}

int protocol_receive_text(int fd, char **text, size_t most, int timeout_ms)
{
	struct protocol_welcome head = {.more = 1};
	size_t used = 0, room = 0;
	int err = 0;

	*text = NULL;
	while (!err && head.more) {
		if (used > most && used + PROTOCOL_TEXT_MAX + 1 > room)
			err = -EPROTO;
		else
			err = ARRAY_GROW(*text, room, used + PROTOCOL_TEXT_MAX + 1);
		if (!err)
			err = receive_piece(fd, &head, *text + used, timeout_ms);
		if (!err)
			used += head.bytes;
	}
	if (err || used == 0) {
		free(*text);
		*text = NULL;
	} else {
		(*text)[used] = '\0';
	}
	return err ? err : head.status;
}
