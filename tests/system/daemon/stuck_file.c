// SPDX-License-Identifier: MIT
/*
 * Makes a file whose reads never finish and cannot be killed.
 *
 *   stuck_file PATH
 *
 * Mounts a FUSE file system with one file over the regular file PATH, prints "ready", and answers
 * every request except READ, for which it prints "read". A thread that reads PATH waits; when it is
 * killed it waits in state D, where SIGKILL has no effect, as a thread that waits for a mutex of
 * the driver. The end of this program ends the FUSE connection and the wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REQUEST_BYTES (FUSE_MIN_READ_BUFFER + 65536)
#define SIZE 4096

static int device;

static void reply(uint64_t unique, int error, const void *out, size_t size)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + size), .error = error, .unique = unique};
	const struct iovec parts[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)out, size}};

	if (writev(device, parts, 2) < 0)
		perror("stuck_file: reply");
}

static void write_word(const char *word)
{
	puts(word);
	fflush(stdout);
}

static void begin(const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = init->minor < FUSE_KERNEL_MINOR_VERSION ? init->minor
								 : FUSE_KERNEL_MINOR_VERSION,
		.max_write = SIZE,
	};

	reply(in->unique, 0, &out, sizeof(out));
	write_word("ready");
}

static void describe(const struct fuse_in_header *in)
{
	const struct fuse_attr_out out = {
		.attr_valid = 3600,
		.attr = {.ino = FUSE_ROOT_ID, .size = SIZE, .mode = S_IFREG | 0444, .nlink = 1},
	};

	reply(in->unique, 0, &out, sizeof(out));
}

static void serve(const char *request)
{
	const struct fuse_in_header *in = (const void *)request;
	const struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};

	switch (in->opcode) {
	case FUSE_INIT:
		begin(in, (const void *)(request + sizeof(*in)));
		break;
	case FUSE_GETATTR:
		describe(in);
		break;
	case FUSE_OPEN:
		reply(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		write_word("read");
		break;
	case FUSE_INTERRUPT:
	case FUSE_FORGET:
		break; /* these requests have no reply */
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(in->unique, 0, NULL, 0);
		break;
	default:
		reply(in->unique, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[REQUEST_BYTES];
	char options[128];
	ssize_t n = 0;

	if (argc != 2)
		return 2;
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0) {
		perror("stuck_file: /dev/fuse");
		return 1;
	}
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=100444,user_id=%u,group_id=%u,allow_other", device,
		 (unsigned)getuid(), (unsigned)getgid());
	if (mount("stuck_file", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
		perror("stuck_file: mount");
		return 1;
	}
	while (n >= 0 || errno == EINTR || errno == EAGAIN || errno == ENOENT) {
		n = read(device, request, sizeof(request));
		if (n > 0)
			serve(request);
	}
	return 0;
}
