// SPDX-License-Identifier: MIT
#include <errno.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "kfd/ptrace.h"
#include "scheduler/daemon/clients/external_target.h"
#include "scheduler/daemon/config/match_rules.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/privileges.h"
#include "scheduler/daemon/reader/reader.h"
#include "scheduler/daemon/reader/reader_message.h"

static int read_target(pid_t pid, struct reader_reply *reply)
{
	struct socket_peer peer;
	int error = target_open(pid, &peer, reply->problem, sizeof(reply->problem));

	if (error)
		return error;
	close(peer.pidfd);
	return peer_read(pid, &reply->facts);
}

static int32_t result_of(const struct reader_request *request, struct reader_reply *reply)
{
	switch ((enum reader_what)request->what) {
	case READER_FACTS:
		return peer_read(request->pid, &reply->facts);
	case READER_SUBJECT:
		return subject_read(request->pid, &reply->subject);
	case READER_NUMBER:
		return peer_read_number(request->pid, request->other);
	case READER_TARGET:
		return read_target(request->pid, reply);
	case READER_HAS_SHIM:
		return target_has_shim(request->pid);
	case READER_DESTROYS:
		return target_destroys(request->pid);
	case READER_RIGHT_HAS_COME:
		return tracer_right_has_come(request->pid);
	}
	return -EINVAL;
}

/* Receives the last queued request: the worker has given up the earlier ones. Returns the size
 * of the packet; less than a request, or negative: no request. */
static ssize_t take(int socket, struct reader_request *request)
{
	ssize_t n;

	do
		n = read(socket, request, sizeof(*request));
	while (n == (ssize_t)sizeof(*request) && poll_now(socket, POLLIN) > 0);
	return n;
}

int reader_run(int socket, const void *counts, uint64_t *refused)
{
	struct reader_request request;
	ssize_t n;

	(void)memory_unshare(counts, false);
	memory_lock();
	privilege_urgent(false);
	privilege_drop(FILTER_READER, refused);
	for (;;) {
		struct reader_reply reply = {0};

		n = take(socket, &request);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(request))
			return 1;
		reply.number = request.number;
		reply.took_ns = clock_ns();
		reply.result = result_of(&request, &reply);
		reply.took_ns = clock_ns() - reply.took_ns;
		(void)!write(socket, &reply, sizeof(reply));
		filter_report();
	}
}
