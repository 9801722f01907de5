// SPDX-License-Identifier: MIT
#include "include/kfdsched.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/policy.h"
#include "common/wait.h"

#define API __attribute__((visibility("default")))

#define REPLY_MS 2000	   /* limit of the wait for a reply */
#define CONNECT_PAUSE_MS 5 /* pause between two tries to connect */
/* Limit of the wait for the reply to a request to suspend: the daemon replies when the process is
 * suspended, or after two seconds. */
#define SUSPEND_MS 5000
/* Longest reply that is accepted; far above the state of a thousand processes. */
#define REPLY_BYTES (64u << 20)

struct kfdsched {
	char *socket;
	int reply_ms; /* limit of the wait for the reply to the last request, ms */
	char errmsg[640];
};

static void set_errmsg(struct kfdsched *k, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void set_errmsg(struct kfdsched *k, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(k->errmsg, sizeof(k->errmsg), format, args);
	va_end(args);
}

API struct kfdsched *kfdsched_open(const char *socket)
{
	struct kfdsched *k = calloc(1, sizeof(*k));
	const char *named = getenv("KFDSHIM_SOCKET");

	if (!socket)
		socket = named && named[0] ? named : PROTOCOL_SOCKET;
	if (k)
		k->socket = strdup(socket);
	if (k && !k->socket) {
		free(k);
		return NULL;
	}
	return k;
}

API void kfdsched_close(struct kfdsched *k)
{
	if (k)
		free(k->socket);
	free(k);
}

API const char *kfdsched_errmsg(const struct kfdsched *k)
{
	return k->errmsg;
}

API const char *kfdsched_sentence(const struct kfdsched *k)
	__attribute__((alias("kfdsched_errmsg")));

/* ---- a request ---- */

/* Returns true if there is a file at the path that is no socket. connect(2) fails with ECONNREFUSED
 * then, as for the socket of a daemon that has ended. */
static bool is_no_socket(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISSOCK(status.st_mode);
}

/* Sets the sentence (kfdsched_errmsg()) for an error for which the daemon sent none. Returns the
 * error. */
static int explain(struct kfdsched *k, int error)
{
	/* The sentence before and after the path of the socket. */
	static const struct {
		int error;
		const char *before, *after;
	} sentences[] = {
		{-ENOENT, "no daemon listens at ",
		 ": start one with 'kfdschedd', or set its socket with --socket or KFDSHIM_SOCKET"},
		{-ECONNREFUSED, "no daemon listens at ",
		 ": start one with 'kfdschedd', or set its socket with --socket or KFDSHIM_SOCKET"},
		{-ENOTSOCK, "", " is not a socket: set the daemon's socket with --socket"},
		{-EPROTO, "the process that listens at ",
		 " is not a kfdschedd of this version: use the kfdsched of its version"},
		{-ESRCH, "no such process is registered with the daemon at ",
		 ": 'kfdsched status' lists the registered processes"},
		{-EACCES, "the daemon at ",
		 " refuses this user: run this as the owner of the socket or as root"},
		{-EPERM, "the daemon at ",
		 " refuses this user: run this as the owner of the socket or as root"},
		{-ECONNRESET, "the daemon at ",
		 " has ended or closed the connection: check its log"},
	};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
		if (sentences[i].error == error) {
			set_errmsg(k, "%s%s%s", sentences[i].before, k->socket, sentences[i].after);
			return error;
		}
	if (error == -EAGAIN)
		set_errmsg(
			k,
			"the daemon at %s did not reply within %d s: check its log, or restart it",
			k->socket, k->reply_ms / 1000);
	else
		set_errmsg(k, "the request to the daemon at %s failed: %s", k->socket,
			   strerror(-error));
	return error;
}

/* Connects to the daemon; tries again for up to timeout_ms while the daemon's backlog is full.
 * Returns the fd, or an error of protocol_connect(). */
static int connect_patiently(const char *socket, int timeout_ms)
{
	int fd = protocol_connect(socket);

	for (int waited = 0; fd == -EAGAIN && waited < timeout_ms; waited += CONNECT_PAUSE_MS) {
		sleep_ns(CONNECT_PAUSE_MS * 1000000u);
		fd = protocol_connect(socket);
	}
	return fd;
}

/* Sends a request and receives the reply. Returns the fd of the connection, or a negative errno
 * after setting the sentence of kfdsched_errmsg(). *text is to be freed by the caller in both
 * cases. */
static int query(struct kfdsched *k, struct protocol_hello *hello, int timeout_ms, char **text)
{
	int fd = connect_patiently(k->socket, timeout_ms), rc;

	*text = NULL;
	k->reply_ms = timeout_ms;
	hello->magic = PROTOCOL_MAGIC;
	hello->version = PROTOCOL_OLDEST;
	hello->newest = PROTOCOL_VERSION;
	if (fd == -ECONNREFUSED && is_no_socket(k->socket))
		fd = -ENOTSOCK;
	if (fd < 0)
		return explain(k, fd);
	rc = protocol_send(fd, hello, sizeof(*hello), NULL, 0);
	if (!rc)
		rc = protocol_receive_text(fd, text, REPLY_BYTES, timeout_ms);
	if (!rc)
		return fd;
	close(fd);
	return explain(k, rc);
}

/* Sends a control request, and keeps the daemon's reply as the sentence of kfdsched_errmsg().
 * Returns the fd of the connection, or a negative errno. */
static int control(struct kfdsched *k, struct protocol_hello *hello)
{
	char *text;
	int fd;

	hello->kind = PROTOCOL_CONTROL;
	fd = query(k, hello, hello->op == PROTOCOL_SUSPEND ? SUSPEND_MS : REPLY_MS, &text);
	if (text)
		set_errmsg(k, "%s", text);
	free(text);
	return fd;
}

/* Closes the fd of a connection, which is not needed any more. Returns 0, or the error that is
 * passed in place of an fd. */
static int closed(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Sends a control request about a process, as control() does. The pidfd of the process stays open
 * during the request, so that the PID cannot be reused. */
static int control_process(struct kfdsched *k, struct protocol_hello *hello, pid_t pid)
{
	int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, error = errno, fd;
	struct stat st;

	if (pid <= 0) {
		set_errmsg(k, "%d is not a process id", (int)pid);
		return -EINVAL;
	}
	/* pidfd_open(2) fails with EINVAL for a thread, with ENOENT on newer kernels. */
	if (pidfd < 0 && (error == EINVAL || error == ENOENT)) {
		set_errmsg(k, "%d is a thread: use the id of its process", (int)pid);
		return -EINVAL;
	}
	if (pidfd < 0) {
		set_errmsg(k, "process %d: %s", (int)pid,
			   error == ESRCH ? "there is no such process" : strerror(error));
		return -error;
	}
	hello->target_pid = pid;
	hello->target_inode = fstat(pidfd, &st) == 0 ? st.st_ino : 0;
	fd = control(k, hello);
	close(pidfd);
	return fd;
}

/* Sends a request whose reply is JSON text, as query() does, and closes the connection. Returns 0
 * or an error, for which *json is NULL. */
static int query_json(struct kfdsched *k, struct protocol_hello *hello, char **json)
{
	int fd = query(k, hello, REPLY_MS, json);

	if (fd >= 0 && !*json) {
		close(fd);
		return explain(k, -EPROTO);
	}
	if (fd < 0) {
		free(*json);
		*json = NULL;
	}
	return closed(fd);
}

/* ---- functions of the library ---- */

static int status(struct kfdsched *k, pid_t pid, uint32_t op, char **json)
{
	struct protocol_hello hello = {
		.kind = PROTOCOL_QUERY, .priority = PRIORITY_UNSET, .pid = pid, .op = op};
	int rc = query_json(k, &hello, json);

	if (rc == -ESRCH)
		set_errmsg(k,
			   "process %d is not registered with the daemon at %s: 'kfdsched status' "
			   "lists the registered processes",
			   (int)pid, k->socket);
	return rc;
}

API int kfdsched_status(struct kfdsched *k, pid_t pid, char **json)
{
	return status(k, pid, 0, json);
}

API int kfdsched_summary(struct kfdsched *k, char **json)
{
	return status(k, 0, PROTOCOL_BRIEF, json);
}

API int kfdsched_suspend(struct kfdsched *k, pid_t pid, unsigned seconds)
{
	struct protocol_hello hello = {.op = PROTOCOL_SUSPEND, .lease_s = seconds};

	if (seconds < 1 || seconds > PROTOCOL_LEASE_MAX_S) {
		set_errmsg(k, "a lease must be 1 to %u seconds, not %u", PROTOCOL_LEASE_MAX_S,
			   seconds);
		return -EINVAL;
	}
	return closed(control_process(k, &hello, pid));
}

API int kfdsched_hold(struct kfdsched *k, pid_t pid)
{
	struct protocol_hello hello = {.op = PROTOCOL_SUSPEND};

	return control_process(k, &hello, pid);
}

API int kfdsched_held(struct kfdsched *k, int fd, int timeout_ms)
{
	char *text;
	int rc = protocol_receive_text(fd, &text, REPLY_BYTES, timeout_ms);

	if (rc == -EAGAIN)
		return 0;
	if (text)
		set_errmsg(k, "%s", text);
	else
		explain(k, rc ? rc : -EPROTO);
	free(text);
	return rc ? rc : -EPROTO;
}

API int kfdsched_resume(struct kfdsched *k, pid_t pid)
{
	struct protocol_hello hello = {.op = PROTOCOL_RESUME};

	return closed(control_process(k, &hello, pid));
}

API int kfdsched_set_priority(struct kfdsched *k, pid_t pid, int priority)
{
	struct protocol_hello hello = {.op = PROTOCOL_PRIORITY, .priority = priority};

	if (priority < KFDSCHED_PRIORITY_OWN || priority > PRIORITY_ONLINE) {
		set_errmsg(k, "a priority must be 0 to %d, not %d", PRIORITY_ONLINE, priority);
		return -EINVAL;
	}
	return closed(control_process(k, &hello, pid));
}

API int kfdsched_set_policy(struct kfdsched *k, unsigned gpu_id, const char *policy,
			    unsigned share_percent)
{
	struct protocol_hello hello = {
		.op = PROTOCOL_POLICY, .gpu_id = gpu_id, .share_percent = share_percent};
	enum policy number;

	if (policy_parse(policy, &number)) {
		set_errmsg(k, "there is no policy '%s': the policies are %s", policy,
			   policy_names());
		return -EINVAL;
	}
	if (!policy_is_valid(number, share_percent)) {
		set_errmsg(k, "policy %s %s", policy,
			   policy_takes_share(number) ? "needs a share of 1 to 99 percent"
						      : "takes no share");
		return -EINVAL;
	}
	hello.policy = number;
	return closed(control(k, &hello));
}

API int kfdsched_recent_events(struct kfdsched *k, char **json)
{
	struct protocol_hello hello = {.kind = PROTOCOL_RECENT, .priority = PRIORITY_UNSET};
	int rc = query_json(k, &hello, json);

	if (rc == -EINVAL)
		set_errmsg(k,
			   "the daemon at %s has no events, because its version is older: start a "
			   "daemon of this version",
			   k->socket);
	return rc;
}

API int kfdsched_events(struct kfdsched *k)
{
	struct protocol_hello hello = {.kind = PROTOCOL_EVENTS, .priority = PRIORITY_UNSET};
	char *text;
	int fd = query(k, &hello, REPLY_MS, &text);

	if (fd == -EUSERS)
		set_errmsg(
			k,
			"the daemon at %s has too many subscribers to its events: end one of them",
			k->socket);
	free(text);
	return fd;
}

API ssize_t kfdsched_next_event(struct kfdsched *k, int fd, char *text, size_t size, int timeout_ms)
{
	struct pollfd event = {.fd = fd, .events = POLLIN};
	ssize_t n = poll_or_signal_ns(&event, 1, wait_end_ms(timeout_ms));

	if (n == 0 || n == -EINTR)
		return -EAGAIN;
	if (n < 0)
		return explain(k, (int)n);
	if (size == 0)
		return -EMSGSIZE;
	/* MSG_TRUNC: return the full length of an event that is longer than the buffer. */
	n = recv(fd, text, size - 1, MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? -EAGAIN : explain(k, -errno);
	if (n == 0)
		return explain(k, -ECONNRESET);
	if ((size_t)n > size - 1) {
		set_errmsg(k, "an event of %zd bytes does not fit: pass a buffer of %d bytes", n,
			   KFDSCHED_EVENT_BYTES);
		return -EMSGSIZE;
	}
	text[n] = '\0';
	return n;
}
