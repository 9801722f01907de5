// SPDX-License-Identifier: MIT
#include "common/fd_pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct message {
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec content;
	struct msghdr head;
};

static void prepare(struct message *message)
{
	memset(message, 0, sizeof(*message));
	message->content = (struct iovec){&message->byte, 1};
	message->head = (struct msghdr){.msg_iov = &message->content,
					.msg_iovlen = 1,
					.msg_control = &message->control,
					.msg_controllen = sizeof(message->control)};
}

int fd_send(int socket, int fd)
{
	struct message message;

	prepare(&message);
	message.control.header.cmsg_level = SOL_SOCKET;
	message.control.header.cmsg_type = SCM_RIGHTS;
	message.control.header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&message.control.header), &fd, sizeof(fd));
	return sendmsg(socket, &message.head, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int fd_receive(int socket)
{
	struct message message;
	struct cmsghdr *header;
	int fd = -1;

	prepare(&message);
	if (TEMP_FAILURE_RETRY(recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC)) <= 0)
		return -1;
	header = CMSG_FIRSTHDR(&message.head);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}
