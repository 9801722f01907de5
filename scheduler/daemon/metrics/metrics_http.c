// SPDX-License-Identifier: MIT
#include "scheduler/daemon/metrics/metrics_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/wait.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/privileges.h"

#define BACKLOG 32
#define CONNECTIONS 16u	   /* maximum number at a time; others wait to be accepted */
#define IDLE_S 5u	   /* seconds; an inactive connection is closed */
#define REQUEST_BYTES 8192 /* bytes of memory for a request */
#define NAP_MS 50	   /* pause before a connection that waits for a worker is tried again */
#define TYPE "text/plain; version=0.0.4; charset=utf-8"

/* ---- snapshots in shared memory ---- */

#define SLOTS 2u
#define READ_TRIES 8 /* attempts to copy a snapshot; enough, because only one a second is written */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

struct snapshots {
	/* set to 1 by the worker, to 0 by the watchdog when that worker has ended */
	uint32_t current;
	/* number of the last complete snapshot, which is in slot[number % SLOTS]; 0: none */
	uint32_t number;
	struct metrics_snapshot slot[SLOTS];
};

static struct snapshots *written;	 /* the memory for writing; NULL in the reader */
static const struct snapshots *readable; /* the same memory, read-only */
static struct metrics_reader *reader;

static void *map(int fd, size_t size, int protection)
{
	void *at = mmap(NULL, size, protection, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

int metrics_share_create(void)
{
	int fd = memfd_create("kfdschedd-metrics", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error = 0;

	if (fd < 0 || ftruncate(fd, sizeof(*written)) < 0)
		error = -errno;
	if (!error && !(written = map(fd, sizeof(*written), PROT_READ | PROT_WRITE)))
		error = -errno;
	/* From here on the file can only be mapped read-only. */
	if (!error && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		error = -errno;
	if (!error && (!(readable = map(fd, sizeof(*written), PROT_READ)) ||
		       !(reader = map(-1, sizeof(*reader), PROT_READ | PROT_WRITE))))
		error = -errno;
	if (fd >= 0)
		close(fd);
	if (error)
		written = NULL;
	return error;
}

void metrics_share_worker_ended(void)
{
	if (written)
		__atomic_store_n(&written->current, 0, __ATOMIC_RELEASE);
}

struct metrics_snapshot *metrics_share_room(void)
{
	if (!written)
		return NULL;
	/* The number of the other slot must be visible before writes to this slot, because the
	 * reader would otherwise miss that its copy is torn. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return &written->slot[(written->number + 1) % SLOTS];
}

void metrics_share_publish(void)
{
	__atomic_store_n(&written->number, written->number + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&written->current, 1, __ATOMIC_RELEASE);
}

struct metrics_reader *metrics_share_counts(void)
{
	return reader;
}

int metrics_share_read_only(void)
{
	written = NULL;
	return memory_unshare(reader, true);
}

bool metrics_share_current(void)
{
	return readable && __atomic_load_n(&readable->current, __ATOMIC_ACQUIRE);
}

bool metrics_share_read(struct metrics_snapshot *out)
{
	for (int i = 0; readable && i < READ_TRIES; i++) {
		uint32_t number = __atomic_load_n(&readable->number, __ATOMIC_ACQUIRE);

		if (number == 0)
			return false;
		memcpy(out, &readable->slot[number % SLOTS], sizeof(*out));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&readable->number, __ATOMIC_RELAXED) == number)
			return true;
	}
	return false;
}

/* ---- HTTP ---- */

static int listener = -1;
/* The GPUs of this machine, as they are when this process starts. */
static struct gpu_name gpus[GPU_NODES_MAX];
static size_t n_gpus;

int metrics_http_listen(uint16_t port, char *problem, size_t size)
{
	const struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const int on = 1;
	int error = 0;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* SO_REUSEADDR: connections of an earlier daemon may still be closing */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0 || listen(fd, BACKLOG) < 0)
		error = -errno;
	if (!error) {
		listener = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	snprintf(problem, size,
		 "cannot serve metrics at 127.0.0.1 port %u: %s; choose another port with "
		 "--metrics",
		 port, strerror(-error));
	return error;
}

void metrics_http_use(int socket)
{
	listener = socket;
}

/* Copies the last snapshot of the metrics and adds the counters of this process. Returns false if
 * there is no snapshot. */
static bool latest(struct metrics_snapshot *out)
{
	const struct metrics_reader *own = metrics_share_counts();

	if (!metrics_share_read(out))
		return false;
	out->refused_calls += __atomic_load_n(&own->refused_calls, __ATOMIC_RELAXED);
	out->log_dropped += __atomic_load_n(&own->log.dropped, __ATOMIC_RELAXED);
	out->log_left_out += __atomic_load_n(&own->log.left_out, __ATOMIC_RELAXED);
	return true;
}

static struct MHD_Response *send_metrics(void)
{
	static struct metrics_snapshot snapshot; /* static because it is large */
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct MHD_Response *response = NULL;
	int error = -ENOMEM;

	if (out) {
		metrics_gpus(gpus, n_gpus, out);
		error = latest(&snapshot) ? metrics_text(&snapshot, KFDSHIM_VERSION, out) : -EAGAIN;
		if (fclose(out) != 0)
			error = -ENOMEM;
	}
	if (!error)
		response = MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(text);
	else
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, TYPE);
	return response;
}

static struct MHD_Response *make_response(const char *text)
{
	return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
					       MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result reply(void *cls, struct MHD_Connection *connection, const char *url,
			     const char *method, const char *version, const char *upload,
			     size_t *upload_bytes, void **request)
{
	struct MHD_Response *response;
	unsigned code = MHD_HTTP_OK;
	enum MHD_Result result;

	(void)cls, (void)version, (void)upload, (void)upload_bytes, (void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		code = MHD_HTTP_METHOD_NOT_ALLOWED;
		response = make_response("only the method GET is supported\n");
	} else if (strcmp(url, "/metrics") != 0) {
		code = MHD_HTTP_NOT_FOUND;
		response = make_response("only the path /metrics exists\n");
	} else {
		response = send_metrics();
	}
	if (!response)
		return MHD_NO;
	/* Only one reply is sent on a connection: a later request on it would not wait until a
	 * worker runs, as a new connection does. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

int metrics_http_listener(void)
{
	return listener;
}

static bool has_room(struct MHD_Daemon *server)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info && info->num_connections < CONNECTIONS;
}

/* Accepts the waiting connections, as far as there is room. Returns false if accept4(2) has
 * failed. */
static bool accept_waiting(struct MHD_Daemon *server)
{
	while (has_room(server)) {
		struct sockaddr_storage address;
		socklen_t size = sizeof(address);
		int fd = accept4(listener, (struct sockaddr *)&address, &size,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return errno == EAGAIN;
		MHD_add_connection(server, fd, (struct sockaddr *)&address,
				   size); /* closes `fd` if it fails */
	}
	return true;
}

/* Returns the ms until a connection has been inactive for too long; -1: there is none. */
static int timeout_ms(struct MHD_Daemon *server)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(server, &ms) != MHD_YES)
		return -1;
	return ms < IDLE_S * 1000 ? (int)ms : (int)(IDLE_S * 1000);
}

static int serve(struct MHD_Daemon *server)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd p[2] = {{.fd = info->epoll_fd, .events = POLLIN}, {.events = POLLIN}};
	bool waits = false;

	for (;;) {
		p[1].fd = !waits && has_room(server) ? listener : -1;
		if (poll_until_ns(p, 2, wait_end_ms(waits ? NAP_MS : timeout_ms(server))) < 0)
			break;
		waits = p[1].revents && (!metrics_share_current() || !accept_waiting(server));
		if (MHD_run(server) != MHD_YES)
			break;
		filter_report();
	}
	log_error("metrics cannot be served: %s", strerror(errno));
	return 1;
}

/* Closes all descriptors except stderr, the log and the listening socket. Standard input and
 * output become /dev/null. Returns 0 or a negative errno. */
static int close_others(void)
{
	int log = log_descriptor(), open_fds[2];
	unsigned next = STDERR_FILENO + 1;

	open_fds[0] = log < listener ? log : listener;
	open_fds[1] = log < listener ? listener : log;
	for (int i = 0; i < 2; i++) {
		if (open_fds[i] < (int)next)
			continue;
		if (open_fds[i] > (int)next && close_range(next, (unsigned)open_fds[i] - 1, 0) < 0)
			return -errno;
		next = (unsigned)open_fds[i] + 1;
	}
	if (close_range(next, ~0u, 0) < 0)
		return -errno;
	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++) {
		if (fd == log || fd == listener)
			continue;
		close(fd);
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) != fd)
			return -EBADF;
	}
	return 0;
}

/* Sets the normal CPU priority instead of an inherited one, because metrics are never urgent. */
static void be_ordinary(void)
{
	const struct sched_param ordinary = {.sched_priority = 0};

	sched_setscheduler(0, SCHED_OTHER, &ordinary);
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
}

/* Gives up descriptors and memory that other processes of the daemon use. Returns 0 or a
 * negative errno. */
static int separate(void)
{
	int error = close_others();

	log_count_in(&metrics_share_counts()->log); /* the counters used before are unmapped next */
	return error ? error : metrics_share_read_only();
}

int metrics_http_run(void)
{
	struct MHD_Daemon *server = NULL;
	int error = separate();

	be_ordinary();
	/* Both calls read files, which the filter forbids later; tzset() for the date of a reply. */
	tzset();
	n_gpus = gpu_names_read("", gpus, GPU_NODES_MAX);
	if (!error)
		server = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
					  reply, NULL, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
					  MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
					  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
					  MHD_OPTION_END);
	if (!server) {
		log_error("metrics cannot be served: %s", strerror(error ? -error : ENOMEM));
		return 1;
	}
	privilege_drop(FILTER_METRICS, &metrics_share_counts()->refused_calls);
	return serve(server);
}
