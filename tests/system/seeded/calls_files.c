// SPDX-License-Identifier: MIT
/*
 * The simulated calls on files, memory, sockets and epoll.
 */
#include <dirent.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "tests/system/seeded/calls.h"
#include "tests/system/seeded/driver.h"
#include "tests/system/seeded/files.h"

static int refuse(int error)
{
	errno = error;
	return -1;
}

static int open_new(enum kind kind)
{
	return file_open(fiber_process(), file_new(kind));
}

/* No simulated process is in /proc, where one of the machine may have its number. */
DIR *played_opendir(const char *path)
{
	HARNESS;

	if (strncmp(path, "/proc/", 6) != 0 || path[6] < '0' || path[6] > '9')
		return opendir(path);
	refuse(ENOENT);
	return NULL;
}

int played_access(const char *path, int mode)
{
	(void)path;
	(void)mode;
	return 0;
}

int played_open(const char *path, int flags, ...)
{
	HARNESS;

	(void)flags;
	fiber_yield();
	if (strcmp(path, "/dev/kfd") == 0)
		return open_new(DEVICE);
	if (strcmp(path, "/dev/null") == 0)
		return open_new(OTHER);
	return refuse(ENOENT);
}

int played_close(int fd)
{
	HARNESS;

	fiber_yield();
	return file_close(fd);
}

int played_eventfd(unsigned count, int flags)
{
	HARNESS;

	(void)count;
	(void)flags;
	fiber_yield();
	return open_new(EVENT);
}

int played_signalfd(int fd, const sigset_t *set, int flags)
{
	HARNESS;

	(void)fd;
	(void)set;
	(void)flags;
	return open_new(SIGNALS);
}

int played_pipe2(int fds[2], int flags)
{
	HARNESS;
	struct file *in = file_new(PIPE_IN), *out = file_new(PIPE_OUT);

	(void)flags;
	fiber_yield();
	in->peer = out;
	out->peer = in;
	fds[0] = file_open(fiber_process(), in);
	fds[1] = file_open(fiber_process(), out);
	return 0;
}

int played_fstat(int fd, struct stat *out)
{
	HARNESS;
	const struct file *file = file_of(fd);

	if (!file)
		return -1;
	memset(out, 0, sizeof(*out));
	out->st_size = (off_t)file->size;
	out->st_mode = file->kind == MEMORY ? S_IFREG : file->kind == DEVICE ? S_IFCHR : 0;
	out->st_ino = file->kind;
	return 0;
}

int played_stat(const char *path, struct stat *out)
{
	(void)path;
	(void)out;
	return refuse(ENOENT);
}

int played_fcntl(int fd, int command, ...)
{
	HARNESS;
	struct file *file = file_of(fd);
	va_list list;
	long argument;

	va_start(list, command);
	argument = va_arg(list, long);
	va_end(list);
	fiber_yield();
	if (!file)
		return -1;
	switch (command) {
	case F_SETSIG:
		file->mark = (int)argument;
		return 0;
	case F_GETSIG:
		return file->mark;
	case F_GET_SEALS: /* setting and checking of seals is tested by tests/unit/channel */
		return F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	case F_DUPFD_CLOEXEC:
		return file_open(fiber_process(), file_hold(file));
	default:
		return 0;
	}
}

/* ---- memory ---- */

int played_memfd_create(const char *name, unsigned flags)
{
	HARNESS;

	(void)name;
	(void)flags;
	return open_new(MEMORY);
}

ssize_t played_pread(int fd, void *to, size_t size, off_t offset)
{
	HARNESS;
	const struct file *file = file_of(fd);

	if (!file || !file->memory || (size_t)offset + size > file->size)
		return refuse(EINVAL);
	memcpy(to, (const char *)file->memory + offset, size);
	return (ssize_t)size;
}

ssize_t played_pwrite(int fd, const void *from, size_t size, off_t offset)
{
	HARNESS;
	struct file *file = file_of(fd);

	(void)from;
	if (!file || file->kind != MEMORY || file->memory)
		return refuse(EINVAL);
	file->size = (size_t)offset + size;
	file->memory = aligned_alloc(64, (file->size + 63) & ~(size_t)63);
	if (!file->memory)
		abort();
	memset(file->memory, 0, file->size);
	return (ssize_t)size;
}

/* The memory stays mapped until the run ends, because another process may use it after this one has
 * unmapped it. */
void *played_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	HARNESS;
	struct file *file;

	(void)at;
	(void)protection;
	(void)offset;
	fiber_yield();
	if (flags & MAP_FIXED)
		abort(); /* a file has one address */
	if (flags & MAP_ANONYMOUS)
		return played_calloc(1, size);
	file = file_of(fd);
	if (!file || !file->memory)
		return MAP_FAILED;
	file_open(NULL, file_hold(file));
	return file->memory;
}

int played_munmap(void *at, size_t size)
{
	(void)at;
	(void)size;
	fiber_yield();
	return 0;
}

/* ---- reading and writing ---- */

static ssize_t read_signal(struct file *file, struct signalfd_siginfo *info)
{
	unsigned number = 0;

	while (!(file->count & UINT64_C(1) << number))
		number++;
	file->count &= ~(UINT64_C(1) << number);
	memset(info, 0, sizeof(*info));
	info->ssi_signo = number;
	return sizeof(*info);
}

ssize_t played_read(int fd, void *to, size_t size)
{
	HARNESS;
	struct file *file;
	uint64_t count;

	fiber_yield();
	file = file_of(fd);
	if (!file)
		return -1;
	fiber_acquire(file);
	if (!file->count)
		return file_hung_up(file) ? 0 : refuse(EAGAIN);
	if (file->kind == SIGNALS)
		return read_signal(file, to);
	count = file->count;
	if (file->kind == PIPE_IN && count > size)
		count = size;
	file->count -= count;
	if (file->kind == PIPE_IN)
		return (ssize_t)count;
	memcpy(to, &count, sizeof(count));
	return sizeof(count);
}

ssize_t played_write(int fd, const void *from, size_t size)
{
	HARNESS;
	struct file *file;

	if (fd == STDERR_FILENO) {
		note("%.*s", (int)size - 1, (const char *)from);
		return (ssize_t)size;
	}
	fiber_yield();
	file = file_of(fd);
	if (!file)
		return -1;
	if (file->kind != EVENT)
		return refuse(EBADF);
	fiber_release(file);
	file->count++;
	file_changes(file);
	return (ssize_t)size;
}

ssize_t played_recv(int fd, void *to, size_t size, int flags)
{
	HARNESS;
	struct file *file;
	struct packet *packet;

	(void)flags;
	fiber_yield();
	file = file_of(fd);
	if (!file)
		return -1;
	fiber_acquire(file);
	packet = file_receive(file);
	if (!packet)
		return file_hung_up(file) ? 0 : refuse(EAGAIN);
	if (packet->size < size)
		size = packet->size;
	memcpy(to, packet->bytes, size);
	packet_free(packet);
	return (ssize_t)size;
}

int played_protocol_send(int fd, const void *data, size_t size, const int *fds, size_t nfds)
{
	HARNESS;
	struct file *files[PACKET_FILES], *file;

	fiber_yield();
	file = file_of(fd);
	if (!file)
		return -EBADF;
	if (file->kind != SOCKET)
		return -ENOTSOCK;
	for (size_t i = 0; i < nfds && i < PACKET_FILES; i++) {
		files[i] = file_of(fds[i]);
		if (!files[i])
			return -EBADF;
	}
	if (file->peer)
		fiber_release(file->peer);
	return file_send(file, data, size, files, nfds);
}

int played_protocol_receive(int fd, void *data, size_t size, int *fds, size_t *nfds, int timeout_ms)
{
	HARNESS;
	struct packet *packet;
	struct file *file;
	int error = 0;

	(void)timeout_ms;
	fiber_yield();
	file = file_of(fd);
	if (!file)
		return -EBADF;
	fiber_acquire(file);
	packet = file_receive(file);
	if (!packet)
		return file_hung_up(file) ? -ECONNRESET : -EAGAIN;
	if (packet->size != size || packet->file_count > *nfds)
		error = -EPROTO;
	for (size_t i = 0; !error && i < packet->file_count; i++)
		fds[i] = file_open(fiber_process(), file_hold(packet->files[i]));
	*nfds = packet->file_count;
	if (!error)
		memcpy(data, packet->bytes, size);
	packet_free(packet);
	return error;
}

int played_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	HARNESS;
	struct ucred *cred = value;
	const struct file *file = file_of(fd);

	(void)level;
	(void)size;
	if (!file || name != SO_PEERCRED)
		return refuse(EINVAL);
	*cred = (struct ucred){.pid = file->whose->pid, .uid = file->whose->uid};
	return 0;
}

int played_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	(void)fd;
	(void)level;
	(void)name;
	(void)value;
	(void)size;
	return 0;
}

int played_shutdown(int fd, int how)
{
	HARNESS;
	struct file *file = file_of(fd);

	(void)how;
	if (!file)
		return -1;
	if (file->peer) {
		file->peer->peer = NULL;
		file_changes(file->peer);
		file->peer = NULL;
	}
	return 0;
}

/* Counts what the other end has not read. */
static int count_unread(const struct file *file, int *bytes)
{
	*bytes = file->peer && file->peer->packets ? 1 : 0;
	return 0;
}

int played_ioctl(int fd, unsigned long request, ...)
{
	struct file *file;
	va_list list;
	void *argument;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	fiber_yield();
	file = file_of(fd);
	if (!file)
		return -1;
	if (request == SIOCOUTQ)
		return count_unread(file, argument);
	return file->kind == DEVICE ? driver_call(file->whose, request, argument) : refuse(ENOTTY);
}

/* ---- waiting ---- */

static short revents_of(const struct pollfd *pollfd)
{
	const struct file *file = pollfd->fd < 0 ? NULL : file_of(pollfd->fd);

	if (pollfd->fd < 0)
		return 0;
	if (pollfd->fd == STDERR_FILENO)
		return POLLOUT;
	if (!file)
		return POLLNVAL;
	return (short)((file_readable(file) ? POLLIN : 0) | (file_hung_up(file) ? POLLHUP : 0));
}

struct polling {
	struct pollfd *fds;
	nfds_t count;
	struct process *owner;
};

/* Called in any fiber, so it uses the files of `owner` instead of those of the current process. */
static bool any_ready(void *arg)
{
	const struct polling *polling = arg;

	for (nfds_t i = 0; i < polling->count; i++) {
		const struct pollfd *p = &polling->fds[i];
		const struct file *file = p->fd < 0 ? NULL : file_at(p->fd, polling->owner);

		if (p->fd >= 0 && (!file || file_readable(file) || file_hung_up(file)))
			return true;
	}
	return false;
}

static int poll_until(struct pollfd *fds, nfds_t count, uint64_t until_ns)
{
	struct polling polling = {.fds = fds, .count = count, .owner = fiber_process()};
	int ready = 0;

	fiber_wait(any_ready, &polling, until_ns);
	for (nfds_t i = 0; i < count; i++) {
		fds[i].revents = revents_of(&fds[i]);
		ready += fds[i].revents != 0;
		if (fds[i].revents && fds[i].fd > STDERR_FILENO && file_of(fds[i].fd))
			fiber_acquire(file_of(fds[i].fd));
	}
	return ready;
}

int played_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	HARNESS;

	return poll_until(fds, count,
			  timeout_ms < 0 ? NEVER : now_ns() + (uint64_t)timeout_ms * MS);
}

static uint64_t end_of(const struct timespec *timeout)
{
	return timeout ? now_ns() + (uint64_t)timeout->tv_sec * SECOND + (uint64_t)timeout->tv_nsec
		       : NEVER;
}

int played_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	HARNESS;

	(void)mask;
	return poll_until(fds, count, end_of(timeout));
}

int played_epoll_create1(int flags)
{
	HARNESS;

	(void)flags;
	return open_new(EPOLL);
}

int played_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	HARNESS;
	struct file *set = file_of(epoll), *file = file_of(fd);
	struct watch *at = NULL;

	if (!set || !file)
		return -1;
	fiber_yield();
	for (int i = 0; i < WATCHES && !at; i++)
		if (set->watches[i].file && set->watches[i].fd == fd &&
		    set->watches[i].file == file)
			at = &set->watches[i];
	if ((op == EPOLL_CTL_ADD) != !at)
		return refuse(at ? EEXIST : ENOENT);
	for (int i = 0; i < WATCHES && !at; i++)
		if (!set->watches[i].file)
			at = &set->watches[i];
	if (!at) {
		fail("more than %d files in an epoll file", WATCHES);
		return refuse(ENOSPC);
	}
	if (op == EPOLL_CTL_DEL) {
		at->file = NULL;
		return 0;
	}
	/* An existing state counts as a new event, as after EPOLL_CTL_MOD. */
	*at = (struct watch){.fd = fd,
			     .file = file,
			     .events = event->events,
			     .data = event->data.u64,
			     .seen = file->changes - 1};
	fiber_changed();
	return 0;
}

static uint32_t events_of(const struct watch *watch)
{
	uint32_t events = 0;

	if (!watch->file || (watch->events & EPOLLET && watch->seen == watch->file->changes))
		return 0;
	if (watch->events & EPOLLIN && file_readable(watch->file))
		events |= EPOLLIN;
	if (file_hung_up(watch->file))
		events |= EPOLLHUP;
	return events;
}

static bool any_event(void *arg)
{
	const struct file *set = arg;

	for (int i = 0; i < WATCHES; i++)
		if (events_of(&set->watches[i]))
			return true;
	return false;
}

/* Begins at a random entry, because the kernel does not define the order of events. */
static int take_events(struct file *set, struct epoll_event *out, int most)
{
	unsigned from = (unsigned)random_below(WATCHES);
	int n = 0;

	for (unsigned i = 0; i < WATCHES && n < most; i++) {
		struct watch *watch = &set->watches[(from + i) % WATCHES];
		uint32_t events = events_of(watch);

		if (!events)
			continue;
		watch->seen = watch->file->changes;
		fiber_acquire(watch->file);
		out[n++] = (struct epoll_event){.events = events, .data.u64 = watch->data};
	}
	return n;
}

static int epoll_until(int epoll, struct epoll_event *out, int most, uint64_t end)
{
	struct file *set = file_of(epoll);

	if (!set)
		return -1;
	fiber_wait(any_event, set, end);
	return take_events(set, out, most);
}

int played_epoll_pwait2(int epoll, struct epoll_event *out, int most,
			const struct timespec *timeout, const sigset_t *mask)
{
	HARNESS;

	(void)mask;
	return epoll_until(epoll, out, most, end_of(timeout));
}

int played_epoll_wait(int epoll, struct epoll_event *out, int most, int timeout_ms)
{
	HARNESS;

	return epoll_until(epoll, out, most,
			   timeout_ms < 0 ? NEVER : now_ns() + (uint64_t)timeout_ms * MS);
}
