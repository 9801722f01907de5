// SPDX-License-Identifier: MIT
#include "scheduler/daemon/admission/greeter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "scheduler/daemon/admission/admission.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/privileges.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* since Linux 6.16 */
#endif

#define AT_ONCE 64	     /* connections accepted in one loop iteration */
#define SPARE 32u	     /* descriptors of the process itself */
#define HELLO_NS 1000000000u /* time for a client to send its hello */
#define PASS_NS 5000000000u  /* time for the worker to take the connection */
#define NAP_MS 10	     /* pause after the system ran out of descriptors */
#define CHECK_MS 100
#define EVENTS 64

enum source { SOURCE_LISTENER, SOURCE_ROOT, SOURCE_CHANNEL, SOURCE_PENDING };

/* A connection that has not been passed on to the worker. */
struct pending {
	int fd;		     /* -1: free entry */
	bool trusted, ready; /* ready: the hello is complete */
	uid_t owner;
	uint64_t last_round; /* number of the last turn of `owner` (end_round()) */
	struct admission_message message;
};

/* State of the process, which has one thread. */
static struct {
	const struct admission_process *with;
	int epoll;
	bool refuses;	/* the kernel refuses descriptors (SO_PASSRIGHTS) */
	bool listening; /* the socket for all users is watched */
	bool waiting;	/* connections wait for room in the channel */
	uint32_t ready; /* connections that wait to be passed on */
	uint64_t turns; /* number of connections passed on */
	uint32_t config_number;
	struct config config;
	struct users users;
	struct pending pending[ADMISSION_PENDING];
} admission = {.listening = true};

/* ---- processes that close connections ---- */

static uint32_t sinks; /* number of processes of sink_add() that have not ended */

/* Runs in a new process and closes `fd` by its exit. The process closes all descriptors except `fd`
 * and its end of the pipe. Then it waits until kfdschedd-door has closed its own copy of `fd` and
 * the other end of the pipe, so that this process is the last holder of `fd`. */
static void swallow(int fd, int admission_end, int own_end)
{
	char none;

	close(admission_end);
	if (fd != 0)
		dup2(fd, 0);
	if (own_end != 1)
		dup2(own_end, 1);
	syscall(SYS_close_range, 2u, ~0u, 0u);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(1, &none, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* Closes `fd` in a separate process, because closing a descriptor that its sender has chosen can
 * block for as long as the sender wants. Needed only on kernels before Linux 6.16 (greeter.h).
 * Takes ownership of `fd` in any case. If the new process cannot be created, `fd` stays open until
 * kfdschedd-door ends. */
static void sink_add(int fd)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		log_error("a connection with received file descriptors stays open: %s",
			  strerror(errno));
		return;
	}
	pid = fork();
	if (pid == 0)
		swallow(fd, ends[1], ends[0]);
	close(ends[0]);
	if (pid < 0) {
		log_error("a connection with received file descriptors stays open: %s",
			  "cannot start a process to close it");
		close(ends[1]);
		return;
	}
	sinks++;
	close(fd); /* cannot block: the new process still has a copy */
	close(ends[1]);
	if (sinks == ADMISSION_SINKS)
		log_error("%u processes hang while closing file descriptors that clients sent: "
			  "only root's socket is served until one of them has ended; Linux 6.16 "
			  "prevents this",
			  sinks);
}

/* Reaps the processes that have ended. */
static void sink_reap(void)
{
	while (sinks && waitpid(-1, NULL, WNOHANG) > 0)
		sinks--;
}

static bool sink_room(void)
{
	return sinks < ADMISSION_SINKS;
}

/* ---- connections ---- */

static int watch(int operation, int fd, uint32_t events, enum source source, uint32_t slot)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)source << 32 | slot};

	return epoll_ctl(admission.epoll, operation, fd, &event) < 0 ? -errno : 0;
}

static struct user *user_of(uid_t owner, uint64_t now)
{
	return users_find(&admission.users, owner, now);
}

/* ---- content of a connection ---- */

/*
 * Checks the next packet of a connection without receiving it. MSG_PEEK without room for
 * descriptors makes the kernel only set MSG_CTRUNC if there are some. SO_PASSCRED attaches
 * credentials to each packet, which distinguishes an empty packet from the end of the connection.
 *
 * Returns 0, or
 *   -ENODATA: end of the connection;
 *   -EBADMSG: the packet carries descriptors;
 *   another negative errno.
 */
static int look_at_next(int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} sender;
	struct msghdr msg = {.msg_control = &sender, .msg_controllen = sizeof(sender)};

	if (recvmsg(fd, &msg, MSG_DONTWAIT | MSG_PEEK) < 0)
		return -errno;
	if (msg.msg_controllen == 0)
		return -ENODATA;
	return msg.msg_flags & MSG_CTRUNC ? -EBADMSG : 0;
}

/* Receives one packet. Returns its full length, also if `size` is smaller, or a negative errno as
 * look_at_next(). If the kernel itself refuses descriptors (admission.refuses), look_at_next() is
 * not called, and an empty packet counts as the end of the connection. */
static ssize_t take(int fd, void *data, size_t size)
{
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int error = admission.refuses ? 0 : look_at_next(fd);
	ssize_t got;

	if (error)
		return error;
	got = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_TRUNC);
	if (got < 0)
		return -errno;
	return got == 0 && admission.refuses ? -ENODATA : got;
}

/* Shuts the connection down for reading, and discards the packets that have arrived. Returns false
 * if one of them carries file descriptors. */
static bool empty(int fd)
{
	struct protocol_hello rest;
	ssize_t got;

	shutdown(fd, SHUT_RD);
	do
		got = take(fd, &rest, sizeof(rest));
	while (got >= 0 || got == -EINTR);
	return got != -EBADMSG;
}

/* ---- end of a connection ---- */

/* Closes a connection that is not in the table; by sink_add() if it carries descriptors. */
static void dispose(int fd, uid_t owner, uint64_t now)
{
	if (empty(fd)) {
		close(fd);
		return;
	}
	log_user(&user_of(owner, now)->log,
		 "user %u sent file descriptors; a separate process closes the connection", owner);
	sink_add(fd);
}

static void refuse(int fd, uid_t owner, int error, uint64_t now)
{
	__atomic_fetch_add(&admission.with->shared->refused, 1, __ATOMIC_RELAXED);
	admission_refuse(fd, error);
	dispose(fd, owner, now);
}

/* Removes a connection from the table. Returns its descriptor, which the caller then owns. */
static int leave(struct pending *pending, uint64_t now)
{
	int fd = pending->fd;

	epoll_ctl(admission.epoll, EPOLL_CTL_DEL, fd, NULL);
	users_left(&admission.users, pending->owner, now);
	admission.ready -= pending->ready;
	*pending = (struct pending){.fd = -1};
	return fd;
}

static void drop(struct pending *pending, uint64_t now)
{
	uid_t owner = pending->owner;

	dispose(leave(pending, now), owner, now);
}

/* ---- transfer to the worker ---- */

/* Gives the user `owner`, and all its waiting connections, the newest turn number, so that
 * next_ready() prefers other users. */
static void end_round(uid_t owner, uint64_t now)
{
	uint64_t last_round = ++admission.turns;

	user_of(owner, now)->last_round = last_round;
	for (uint32_t i = 0; i < admission.users.slots; i++)
		if (admission.pending[i].owner == owner)
			admission.pending[i].last_round = last_round;
}

/* Passes a connection to the worker and removes it from the table. Returns false if the channel is
 * full; the connection then stays in the table. */
static bool pass(struct pending *pending, uint64_t now)
{
	int error = protocol_send(admission.with->channel, &pending->message,
				  sizeof(pending->message), &pending->fd, 1);

	if (error == -EAGAIN)
		return false;
	if (error)
		log_error("cannot pass a connection to the worker: %s", strerror(-error));
	end_round(pending->owner, now);
	close(leave(pending, now)); /* cannot block: the connection is empty */
	return true;
}

/* Returns the next connection to pass on: one of a trusted user, otherwise one of the user whose
 * last turn is the longest ago. NULL: none is ready. */
static struct pending *next_ready(void)
{
	struct pending *found = NULL;

	for (uint32_t i = 0; admission.ready && i < admission.users.slots; i++) {
		struct pending *pending = &admission.pending[i];

		if (pending->fd < 0 || !pending->ready)
			continue;
		if (pending->trusted)
			return pending;
		if (!found || pending->last_round < found->last_round)
			found = pending;
	}
	return found;
}

static void pass_all(uint64_t now)
{
	struct pending *next;

	while ((next = next_ready()) != NULL && pass(next, now))
		;
	if (admission.waiting == (admission.ready > 0))
		return;
	admission.waiting = admission.ready > 0;
	watch(EPOLL_CTL_MOD, admission.with->channel, admission.waiting ? EPOLLOUT : 0,
	      SOURCE_CHANNEL, 0);
}

static void take_hello(struct pending *pending, uint64_t now)
{
	struct protocol_hello *hello = &pending->message.hello;
	ssize_t got = take(pending->fd, hello, sizeof(*hello));
	uid_t owner = pending->owner;

	if (got == -EAGAIN || got == -EINTR)
		return;
	if (got < 0) {
		drop(pending, now);
		return;
	}
	if (got < (ssize_t)sizeof(*hello) || got > (ssize_t)PROTOCOL_HELLO_MAX) {
		log_user(&user_of(owner, now)->log,
			 "connection of user %u refused: its first packet has %zd bytes, a "
			 "hello of version %u has %zu",
			 owner, got, PROTOCOL_VERSION, sizeof(*hello));
		refuse(leave(pending, now), owner, -EPROTO, now);
		return;
	}
	if (!empty(pending->fd)) {
		drop(pending, now);
		return;
	}
	pending->ready = true;
	admission.ready++;
	/* Without events, epoll reports only a hang-up. */
	watch(EPOLL_CTL_MOD, pending->fd, 0, SOURCE_PENDING,
	      (uint32_t)(pending - admission.pending));
}

/* ---- new connections ---- */

static void let_in(int fd, uint64_t now)
{
	struct pending *pending = admission.pending;
	const struct user *user;
	bool trusted;
	uid_t owner;

	user = users_let_in(&admission.users, &admission.config.owners, fd, now, &owner, &trusted);
	if (!user) {
		refuse(fd, owner, -ENOSPC, now);
		return;
	}
	while (pending->fd >= 0)
		pending++;
	if (watch(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLRDHUP, SOURCE_PENDING,
		  (uint32_t)(pending - admission.pending))) {
		users_left(&admission.users, owner, now);
		refuse(fd, owner, -ENOMEM, now);
		return;
	}
	*pending = (struct pending){.fd = fd,
				    .trusted = trusted,
				    .owner = owner,
				    .last_round = user->last_round,
				    .message = {.accepted_ns = now}};
	take_hello(pending, now); /* the hello has usually arrived by now */
}

static void listen_to_all(bool listening)
{
	if (admission.listening == listening)
		return;
	admission.listening = listening;
	watch(EPOLL_CTL_MOD, admission.with->listener, listening ? EPOLLIN : 0, SOURCE_LISTENER, 0);
}

static void accept_some(int listener, uint64_t now)
{
	for (int i = 0; i < AT_ONCE && (listener != admission.with->listener || sink_room()); i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			let_in(fd, now);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			log_user(&user_of(geteuid(), now)->log,
				 "a connection cannot be accepted: %s", strerror(errno));
			/* a pause; the filter allows no sleep */
			poll_until_ns(NULL, 0, wait_end_ms(NAP_MS));
		}
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

/* ---- loop ---- */

static void drop_overdue(uint64_t now)
{
	for (uint32_t i = 0; i < admission.users.slots; i++) {
		struct pending *pending = &admission.pending[i];

		if (pending->fd >= 0 &&
		    now > pending->message.accepted_ns + (pending->ready ? PASS_NS : HELLO_NS))
			drop(pending, now);
	}
}

static void handle(const struct epoll_event *event, uint64_t now)
{
	struct pending *pending = &admission.pending[event->data.u64 & 0xffffffffu];

	switch ((enum source)(event->data.u64 >> 32)) {
	case SOURCE_ROOT:
		accept_some(admission.with->root_listener, now);
		break;
	case SOURCE_LISTENER:
		accept_some(admission.with->listener, now);
		break;
	case SOURCE_PENDING:
		if (pending->fd >= 0 && pending->ready)
			drop(pending, now);
		else if (pending->fd >= 0)
			take_hello(pending, now);
		break;
	default:
		break; /* SOURCE_CHANNEL: pass_all() uses the new room in the channel */
	}
}

static void loop(void)
{
	struct epoll_event events[EVENTS];
	uint64_t now, checked = 0;
	int n;

	for (;;) {
		pass_all(clock_ns());
		sink_reap();
		listen_to_all(sink_room());
		n = epoll_wait(admission.epoll, events, EVENTS, CHECK_MS);
		now = clock_ns();
		__atomic_store_n(&admission.with->shared->heartbeat_ns, now, __ATOMIC_RELEASE);
		/* Handle root's socket first, so that its connections are passed on first. */
		for (int i = 0; i < n; i++)
			if (events[i].data.u64 >> 32 == SOURCE_ROOT)
				handle(&events[i], now);
		for (int i = 0; i < n; i++)
			if (events[i].data.u64 >> 32 != SOURCE_ROOT)
				handle(&events[i], now);
		if (now < checked + CHECK_MS * 1000000ull)
			continue;
		checked = now;
		reload_take(admission.with->reload, &admission.config_number, &admission.config);
		drop_overdue(now);
		filter_report();
	}
}

static uint32_t count_slots(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return ADMISSION_PENDING;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur >= ADMISSION_PENDING + SPARE)
		return ADMISSION_PENDING;
	return files.rlim_cur > SPARE + 1 ? (uint32_t)files.rlim_cur - SPARE : 1;
}

static int set_both(int option, int value)
{
	const struct admission_process *with = admission.with;

	if (setsockopt(with->listener, SOL_SOCKET, option, &value, sizeof(value)) < 0 ||
	    (with->root_listener >= 0 &&
	     setsockopt(with->root_listener, SOL_SOCKET, option, &value, sizeof(value)) < 0))
		return -errno;
	return 0;
}

int admission_run(const struct admission_process *admission_process)
{
	int error;

	admission.with = admission_process;
	admission.users.slots = count_slots();
	for (uint32_t i = 0; i < ADMISSION_PENDING; i++)
		admission.pending[i].fd = -1;
	/* Accepted connections inherit both options. */
	admission.refuses = set_both(SO_PASSRIGHTS, 0) == 0;
	error = admission.refuses ? 0 : set_both(SO_PASSCRED, 1);
	if (!error)
		error = memory_unshare(admission_process->shared, false);
	if (error) {
		log_error("the process that accepts connections cannot start: %s",
			  strerror(-error));
		return 1;
	}
	reload_take(admission_process->reload, &admission.config_number, &admission.config);
	privilege_drop(FILTER_ADMISSION, &admission_process->shared->refused_calls);
	admission.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (admission.epoll < 0 ||
	    watch(EPOLL_CTL_ADD, admission_process->listener, EPOLLIN, SOURCE_LISTENER, 0) ||
	    watch(EPOLL_CTL_ADD, admission_process->channel, 0, SOURCE_CHANNEL, 0) ||
	    (admission_process->root_listener >= 0 &&
	     watch(EPOLL_CTL_ADD, admission_process->root_listener, EPOLLIN, SOURCE_ROOT, 0))) {
		log_error("the process that accepts connections cannot start: %s", strerror(errno));
		return 1;
	}
	loop();
	return 0;
}
