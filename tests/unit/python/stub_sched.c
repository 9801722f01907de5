// SPDX-License-Identifier: MIT
/*
 * A stub of libkfdsched for the tests of the Python package, without a daemon. It records the calls
 * as text and returns what the test has set in its variables.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/kfdsched.h"

#define API __attribute__((visibility("default")))

/* The calls so far, one a line. */
API char stub_calls[4096];
/* The results of the next calls (0 or a negative errno) and their error message, replies and
 * event. */
API int stub_result, stub_resume_result, stub_open_handles;
API char stub_errmsg[128] = "a sentence", stub_json[2048], stub_event[256];
/* kfdsched_suspend() raises SIGINT. */
API bool stub_interrupts;

struct kfdsched {
	char socket[64];
};

static void __attribute__((format(printf, 1, 2))) called(const char *format, ...)
{
	size_t used = strlen(stub_calls);
	va_list args;

	va_start(args, format);
	vsnprintf(stub_calls + used, sizeof(stub_calls) - used, format, args);
	va_end(args);
}

API struct kfdsched *kfdsched_open(const char *socket)
{
	struct kfdsched *k = calloc(1, sizeof(*k));

	snprintf(k->socket, sizeof(k->socket), "%s", socket ? socket : "default");
	stub_open_handles++;
	return k;
}

API void kfdsched_close(struct kfdsched *k)
{
	stub_open_handles--;
	free(k);
}

API const char *kfdsched_errmsg(const struct kfdsched *k)
{
	(void)k;
	return stub_errmsg;
}

static int reply(char **json)
{
	*json = stub_result ? NULL : strdup(stub_json);
	return stub_result;
}

API int kfdsched_status(struct kfdsched *k, pid_t pid, char **json)
{
	called("%s: status %d\n", k->socket, (int)pid);
	return reply(json);
}

API int kfdsched_summary(struct kfdsched *k, char **json)
{
	called("%s: summary\n", k->socket);
	return reply(json);
}

API int kfdsched_recent_events(struct kfdsched *k, char **json)
{
	called("%s: recent_events\n", k->socket);
	return reply(json);
}

API int kfdsched_suspend(struct kfdsched *k, pid_t pid, unsigned seconds)
{
	called("%s: suspend %d %u\n", k->socket, (int)pid, seconds);
	if (stub_interrupts)
		raise(SIGINT);
	return stub_result;
}

API int kfdsched_resume(struct kfdsched *k, pid_t pid)
{
	called("%s: resume %d\n", k->socket, (int)pid);
	return stub_resume_result;
}

API int kfdsched_set_priority(struct kfdsched *k, pid_t pid, int priority)
{
	called("%s: set_priority %d %d\n", k->socket, (int)pid, priority);
	return stub_result;
}

API int kfdsched_set_policy(struct kfdsched *k, unsigned gpu_id, const char *policy,
			    unsigned share_percent)
{
	called("%s: set_policy %u %s %u\n", k->socket, gpu_id, policy, share_percent);
	return stub_result;
}

API int kfdsched_events(struct kfdsched *k)
{
	called("%s: events\n", k->socket);
	return stub_result ? stub_result : dup(0);
}

/* Returns each event once. */
API ssize_t kfdsched_next_event(struct kfdsched *k, int fd, char *text, size_t size, int timeout_ms)
{
	int length = snprintf(text, size, "%s", stub_event);

	(void)k;
	(void)fd;
	if (stub_result)
		return stub_result;
	stub_event[0] = '\0';
	if (length == 0 && timeout_ms > 0)
		usleep((useconds_t)timeout_ms * 1000);
	return length ? length : -EAGAIN;
}
