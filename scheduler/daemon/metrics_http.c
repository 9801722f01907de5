// SPDX-License-Identifier: MIT
#include "scheduler/daemon/metrics_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/daemon/log.h"

#define BACKLOG 32
#define CONNECTIONS 16u	   /* at a time; the others wait to be accepted */
#define IDLE_S 5u	   /* a connection on which nothing moves is closed */
#define REQUEST_BYTES 8192 /* of memory that a request may take */
#define FRESH 4u
#define TYPE "text/plain; version=0.0.4; charset=utf-8"

static int listener = -1;

/* Each side holds one of three and exchanges it for the one between them. */
static struct metrics_snapshot *pictures; /* NULL: none yet */
static uint32_t between = 1;		  /* number, and FRESH: the loop put it there */
static uint32_t of_loop = 0, of_thread = 2;

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

	/* connections of a daemon before us may linger */
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
		 "cannot serve metrics at 127.0.0.1 port %u: %s; name another port with --metrics",
		 port, strerror(-error));
	return error;
}

void metrics_http_use(int socket)
{
	listener = socket;
}

/* The last one that was published; the thread's until the next call. */
static const struct metrics_snapshot *latest(void)
{
	if (__atomic_load_n(&between, __ATOMIC_ACQUIRE) & FRESH)
		of_thread = __atomic_exchange_n(&between, of_thread, __ATOMIC_ACQ_REL) & ~FRESH;
	return &pictures[of_thread];
}

static struct MHD_Response *tell_metrics(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct MHD_Response *response = NULL;
	int error = -ENOMEM;

	if (out) {
		error = metrics_text(latest(), KFDSHIM_VERSION, out);
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

static struct MHD_Response *tell(const char *text)
{
	return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
					       MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **request)
{
	struct MHD_Response *response;
	unsigned code = MHD_HTTP_OK;
	enum MHD_Result result;

	(void)cls, (void)version, (void)upload, (void)upload_bytes, (void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		code = MHD_HTTP_METHOD_NOT_ALLOWED;
		response = tell("only GET\n");
	} else if (strcmp(url, "/metrics") != 0) {
		code = MHD_HTTP_NOT_FOUND;
		response = tell("only /metrics\n");
	} else {
		response = tell_metrics();
	}
	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

/* Serves until the worker ends. Not urgent: the loop, whose priority it was born with, is. */
static void *serve(void *arg)
{
	const struct sched_param ordinary = {.sched_priority = 0};
	struct MHD_Daemon *server = arg;

	prctl(PR_SET_NAME, "kfdschedd-http");
	sched_setscheduler(0, SCHED_OTHER, &ordinary);
	setpriority(PRIO_PROCESS, 0, 0);
	while (MHD_run_wait(server, -1) == MHD_YES)
		;
	log_error("the metrics are not served any more: %s", strerror(errno));
	return NULL;
}

int metrics_http_listener(void)
{
	return listener;
}

static int start(void)
{
	struct MHD_Daemon *server = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, answer, NULL, MHD_OPTION_LISTEN_SOCKET, listener,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES, MHD_OPTION_END);
	pthread_t thread;
	int error;

	if (!server)
		return -ENOMEM;
	error = pthread_create(&thread, NULL, serve, server);
	if (!error)
		pthread_detach(thread);
	return -error;
}

struct metrics_snapshot *metrics_http_room(void)
{
	if (listener >= 0 && !pictures)
		pictures = calloc(3, sizeof(*pictures));
	return pictures ? &pictures[of_loop] : NULL;
}

void metrics_http_publish(void)
{
	static bool started;
	int error;

	of_loop = __atomic_exchange_n(&between, of_loop | FRESH, __ATOMIC_ACQ_REL) & ~FRESH;
	if (started)
		return;
	started = true; /* with a picture: an empty one would tell counters that went back */
	error = start();
	if (error)
		log_error("cannot serve metrics: %s", strerror(-error));
}
