// SPDX-License-Identifier: MIT
/*
 * Applies the time-outs of sockets (SO_RCVTIMEO, SO_SNDTIMEO) in virtual time. The kernel stores
 * them in the socket and applies them in real time, so these functions never wait in the kernel:
 * they try, and poll until the virtual time is over. Calls that are not replaced (splice(), the C
 * library's own streams) time out in real time.
 *
 * The values are read from the kernel, which counts in ticks of 1 to 10 ms and rounds up. So the
 * kernel also determines what applies to a socket after dup(), fork(), execve() and passing it to
 * another process. The page shows whether a time-out was ever set for a socket of the simulation,
 * so that calls in other simulations cost one load.
 *
 * Calls without a time-out go to the C library's functions, because those can be cancelled.
 */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/time.h>

#include "sim/host/time/library.h"

#define NAP_MIN_NS 20000u
#define NAP_MAX_NS 1000000u

void __chk_fail(void) __attribute__((noreturn));
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *restrict, size_t, size_t, int, struct sockaddr *restrict,
		       socklen_t *restrict);

/* Returns true if a socket of the simulation may have a time-out (SO_RCVTIMEO, SO_SNDTIMEO). */
static inline bool any_times(void)
{
	const struct time_page *page = time_page();

	return page && atomic_load_explicit(&page->socket_times, memory_order_relaxed);
}

/* Returns the time-out of a call on @fd, ns: the value of @option; 0 if it has none, or if the call
 * does not wait. */
static uint64_t time_of(int fd, int option, int flags)
{
	struct timeval t = {0};
	socklen_t size = sizeof(t);

	if (flags & MSG_DONTWAIT ||
	    raw(SYS_getsockopt, fd, SOL_SOCKET, option, (long)&t, (long)&size, 0) ||
	    (!t.tv_sec && !t.tv_usec) || raw(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_NONBLOCK)
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

/* State of the wait of one call, which may try several times. */
struct wait {
	int fd;
	short events;
	uint64_t until;
	/* Next pause, if the socket is ready but the call still finds nothing; 0: no pause yet. */
	uint64_t nap_ns;
};

static struct wait wait_of(int fd, short events, uint64_t ns)
{
	return (struct wait){fd, events, deadline_after(ns), 0};
}

/* Waits until the call can be tried again. Is a cancellation point, because the program's call is
 * one. Returns 0, -EAGAIN when the time is over, or -EINTR. */
static long wait_again(struct wait *wait)
{
	struct pollfd ready = {.fd = wait->fd, .events = wait->events};
	uint64_t next;
	int type;
	long r;

	if (wait->nap_ns) {
		next = deadline_after(wait->nap_ns);
		r = sleep_until(next < wait->until ? next : wait->until, TIME_WAIT_FUTEX);
		if (r)
			return r;
	}
	if (now_ns() >= wait->until)
		return -EAGAIN;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	r = poll_until(&ready, 1, wait->until, NULL);
	pthread_setcanceltype(type, NULL);
	if (r > 0 && wait->nap_ns < NAP_MAX_NS)
		wait->nap_ns = wait->nap_ns ? 2 * wait->nap_ns : NAP_MIN_NS;
	return r > 0 ? 0 : r < 0 ? r : -EAGAIN;
}

/* Calls sendmsg(2) or recvmsg(2) (@nr) without waiting in the kernel. Returns as raw(). */
static long try_message(long nr, int fd, struct msghdr *message, int flags)
{
	return raw(nr, fd, (long)message, flags | MSG_DONTWAIT, 0, 0, 0);
}

static size_t bytes_of(const struct msghdr *message)
{
	size_t bytes = 0;

	for (size_t i = 0; i < message->msg_iovlen; i++)
		bytes += message->msg_iov[i].iov_len;
	return bytes;
}

static bool is_stream(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	raw(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, (long)&type, (long)&size, 0);
	return type == SOCK_STREAM;
}

/* Returns the part of the message's memory that begins at byte @done, up to the end of one element
 * of its vector. */
static struct iovec part_at(const struct msghdr *message, size_t done)
{
	struct iovec part = {0};

	for (size_t i = 0; i < message->msg_iovlen; i++) {
		part = message->msg_iov[i];
		if (done < part.iov_len)
			break;
		done -= part.iov_len;
	}
	return (struct iovec){(char *)part.iov_base + done, part.iov_len - done};
}

/* Transfers everything that the message holds, in parts, because a stream may accept or return
 * less. The first part has the message's address and control data. Returns the number of bytes; if
 * nothing was transferred, returns a negative errno. */
static long move_all(long nr, struct wait *wait, struct msghdr *message, int flags)
{
	size_t done = 0, all = bytes_of(message);
	long r;

	do {
		struct iovec part = part_at(message, done);
		struct msghdr rest = {.msg_iov = &part, .msg_iovlen = 1};

		r = try_message(nr, wait->fd, done ? &rest : message, flags);
		if (r > 0) {
			done += (size_t)r;
			wait->nap_ns = 0;
		} else if (r != -EAGAIN) {
			break;
		} else {
			r = wait_again(wait);
		}
	} while (r >= 0 && done < all);
	return done ? (long)done : r;
}

/* Transfers data by one call that succeeds, after waits if necessary. For sockets that are not
 * streams, and for streams if a part of the message is enough. */
static long move_once(long nr, struct wait *wait, struct msghdr *message, int flags)
{
	long r;

	do {
		r = try_message(nr, wait->fd, message, flags);
		if (r != -EAGAIN)
			return r;
		r = wait_again(wait);
	} while (!r);
	return r;
}

static ssize_t receive(int fd, struct msghdr *message, int flags, uint64_t ns)
{
	struct wait wait = wait_of(fd, flags & MSG_OOB ? POLLPRI : POLLIN, ns);
	bool all = flags & MSG_WAITALL && !(flags & MSG_PEEK) && is_stream(fd);

	return returned((all ? move_all : move_once)(SYS_recvmsg, &wait, message, flags));
}

static ssize_t send_out(int fd, const struct msghdr *message, int flags, uint64_t ns)
{
	struct wait wait = wait_of(fd, POLLOUT, ns);
	struct msghdr copy = *message;

	return returned((is_stream(fd) ? move_all : move_once)(SYS_sendmsg, &wait, &copy, flags));
}

EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	long r = raw(SYS_setsockopt, fd, level, option, (long)value, size, 0);
	const struct timeval *t = value;

	if (!r && level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO) &&
	    (t->tv_sec || t->tv_usec) && time_page())
		atomic_store(&time_page()->socket_times, 1);
	return (int)returned(r);
}

EXPORT ssize_t recvfrom(int fd, void *restrict buffer, size_t n, int flags,
			struct sockaddr *restrict from, socklen_t *restrict length)
{
	struct iovec part = {buffer, n};
	struct msghdr message = {.msg_name = from,
				 .msg_namelen = from && length ? *length : 0,
				 .msg_iov = &part,
				 .msg_iovlen = 1};
	uint64_t ns = any_times() ? time_of(fd, SO_RCVTIMEO, flags) : 0;
	ssize_t r;

	if (!ns)
		return next()->recvfrom(fd, buffer, n, flags, from, length);
	r = receive(fd, &message, flags, ns);
	if (r >= 0 && from && length)
		*length = message.msg_namelen;
	return r;
}

EXPORT_AS(ssize_t, recv, (int fd, void *buffer, size_t n, int flags),
	  recvfrom(fd, buffer, n, flags, NULL, NULL))

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	uint64_t ns = any_times() ? time_of(fd, SO_RCVTIMEO, flags) : 0;

	return ns ? receive(fd, message, flags, ns) : next()->recvmsg(fd, message, flags);
}

/* Reads. If time has passed in the read of a timer file descriptor, charges the cost of a wake-up,
 * because the thread has then slept. Reads of other files are not charged. */
static ssize_t read_charged(int fd, void *buffer, size_t n)
{
	uint64_t before = now_ns();
	ssize_t r = next()->read(fd, buffer, n);

	if (r > 0 && now_ns() != before &&
	    raw(SYS_fcntl, fd, F_GETSIG, 0, 0, 0, 0) == TIME_TIMER_SIGNAL)
		charge_wake();
	return r;
}

/* Reads in virtual time from a socket with a time-out. A read of 0 bytes does not wait. */
EXPORT ssize_t read(int fd, void *buffer, size_t n)
{
	if (any_times() && n && time_of(fd, SO_RCVTIMEO, 0))
		return recvfrom(fd, buffer, n, 0, NULL, NULL);
	return time_page() ? read_charged(fd, buffer, n) : next()->read(fd, buffer, n);
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int n)
{
	struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};
	uint64_t ns = any_times() && n > 0 ? time_of(fd, SO_RCVTIMEO, 0) : 0;

	return ns ? receive(fd, &message, 0, ns) : next()->readv(fd, parts, n);
}

/* Names by which a program calls these functions if it was compiled with checks of its buffers. */
#define CHECKED(name, parameters, result)                                                          \
	EXPORT_AS(ssize_t, name, parameters, n > size ? (__chk_fail(), -1) : result)

CHECKED(__read_chk, (int fd, void *buffer, size_t n, size_t size), read(fd, buffer, n))
CHECKED(__recv_chk, (int fd, void *buffer, size_t n, size_t size, int flags),
	recvfrom(fd, buffer, n, flags, NULL, NULL))
CHECKED(__recvfrom_chk,
	(int fd, void *restrict buffer, size_t n, size_t size, int flags,
	 struct sockaddr *restrict from, socklen_t *restrict length),
	recvfrom(fd, buffer, n, flags, from, length))

EXPORT ssize_t sendto(int fd, const void *buffer, size_t n, int flags, const struct sockaddr *to,
		      socklen_t length)
{
	struct iovec part = {(void *)buffer, n};
	const struct msghdr message = {.msg_name = (void *)to,
				       .msg_namelen = to ? length : 0,
				       .msg_iov = &part,
				       .msg_iovlen = 1};
	uint64_t ns = any_times() ? time_of(fd, SO_SNDTIMEO, flags) : 0;

	if (ns)
		return send_out(fd, &message, flags, ns);
	return next()->sendto(fd, buffer, n, flags, to, length);
}

EXPORT_AS(ssize_t, send, (int fd, const void *buffer, size_t n, int flags),
	  sendto(fd, buffer, n, flags, NULL, 0))

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	uint64_t ns = any_times() ? time_of(fd, SO_SNDTIMEO, flags) : 0;

	return ns ? send_out(fd, message, flags, ns) : next()->sendmsg(fd, message, flags);
}

EXPORT ssize_t write(int fd, const void *buffer, size_t n)
{
	if (any_times() && time_of(fd, SO_SNDTIMEO, 0))
		return sendto(fd, buffer, n, 0, NULL, 0);
	return next()->write(fd, buffer, n);
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int n)
{
	const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};
	uint64_t ns = any_times() && n > 0 ? time_of(fd, SO_SNDTIMEO, 0) : 0;

	return ns ? send_out(fd, &message, 0, ns) : next()->writev(fd, parts, n);
}

/* Polls first, because there is no flag for an accept() that does not wait. If another thread takes
 * the connection between the poll and the call, the call waits in real time. */
EXPORT int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict length, int flags)
{
	uint64_t ns = any_times() ? time_of(fd, SO_RCVTIMEO, 0) : 0;
	struct wait wait;
	long r;

	if (ns) {
		wait = wait_of(fd, POLLIN, ns);
		r = wait_again(&wait);
		if (r)
			return (int)returned(r);
	}
	return next()->accept4(fd, from, length, flags);
}

EXPORT_AS(int, accept, (int fd, struct sockaddr *restrict from, socklen_t *restrict length),
	  accept4(fd, from, length, 0))

/* Returns the result of a connect() in progress: 0 or a negative errno. */
static long connected(int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);

	raw(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, (long)&error, (long)&size, 0);
	return -error;
}

/* Connects in virtual time. A local socket returns EAGAIN, and begins no connection, while the
 * queue of the other socket is full; then connect() is tried again. */
static long connect_until(int fd, const struct sockaddr *to, socklen_t length, struct wait *wait)
{
	long flags = raw(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0), r, waited;

	do {
		raw(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK, 0, 0, 0);
		r = raw(SYS_connect, fd, (long)to, length, 0, 0, 0);
		raw(SYS_fcntl, fd, F_SETFL, flags, 0, 0, 0);
		if (r != -EAGAIN && r != -EINPROGRESS)
			return r;
		waited = wait_again(wait);
	} while (r == -EAGAIN && !waited);
	if (waited == -EAGAIN)
		return r;
	return waited ? waited : connected(fd);
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t length)
{
	uint64_t ns = any_times() ? time_of(fd, SO_SNDTIMEO, 0) : 0;
	struct wait wait;

	if (ns) {
		wait = wait_of(fd, POLLOUT, ns);
		return (int)returned(connect_until(fd, to, length, &wait));
	}
	return next()->connect(fd, to, length);
}

/* Checks the time-out *t after each message, as Linux does. */
EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags, struct timespec *t)
{
	uint64_t ns = any_times() ? time_of(fd, SO_RCVTIMEO, flags) : 0, until;
	int one_flags = flags & ~MSG_WAITFORONE;
	unsigned got = 0;

	if (!time_page() || (!ns && !t))
		return next()->recvmmsg(fd, messages, n, flags, t);
	if (t && !is_valid(t))
		return (int)returned(-EINVAL);
	until = t ? deadline_after(to_ns(t)) : NEVER;
	do {
		ssize_t r = ns && !(one_flags & MSG_DONTWAIT)
				    ? receive(fd, &messages[got].msg_hdr, one_flags, ns)
				    : next()->recvmsg(fd, &messages[got].msg_hdr, one_flags);

		if (r < 0)
			return got ? (int)got : -1;
		messages[got++].msg_len = (unsigned)r;
		if (flags & MSG_WAITFORONE)
			one_flags |= MSG_DONTWAIT;
	} while (got < n && now_ns() < until);
	return (int)got;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags)
{
	uint64_t ns = any_times() ? time_of(fd, SO_SNDTIMEO, flags) : 0;
	unsigned sent = 0;

	if (!ns)
		return next()->sendmmsg(fd, messages, n, flags);
	for (; sent < n; sent++) {
		ssize_t r = send_out(fd, &messages[sent].msg_hdr, flags, ns);

		if (r < 0)
			return sent ? (int)sent : -1;
		messages[sent].msg_len = (unsigned)r;
	}
	return (int)sent;
}
