// SPDX-License-Identifier: MIT
#include "scheduler/cli/ask.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel/protocol.h"

#define ANSWER_MS 2000
/* Far above what a thousand processes need; a length beyond it is no answer. */
#define ANSWER_BYTES (64u << 20)

const char *ask_socket(void)
{
	const char *path = getenv("KFDSHIM_SOCKET");

	return path && path[0] != '\0' ? path : PROTOCOL_SOCKET;
}

static int parse(int memory, size_t bytes, json_t **out)
{
	char *text = malloc(bytes);
	size_t got = 0;
	int rc = -ENOMEM;

	if (!text)
		return -ENOMEM;
	while (got < bytes) {
		ssize_t n = pread(memory, text + got, bytes - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	*out = got == bytes ? json_loadb(text, bytes, 0, NULL) : NULL;
	rc = *out ? 0 : -EPROTO;
	free(text);
	return rc;
}

/* The kernel refuses such a file in the words it has for a dead daemon. */
static bool is_no_socket(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISSOCK(status.st_mode);
}

int ask_daemon(const char *socket, int pid, json_t **out)
{
	struct protocol_hello hello = {
		.magic = PROTOCOL_MAGIC,
		.version = PROTOCOL_VERSION,
		.kind = PROTOCOL_ASK,
		.priority = PRIORITY_UNSET,
		.pid = pid,
	};
	struct protocol_welcome welcome;
	int memory = -1;
	size_t nfds = 1;
	int fd = protocol_connect(socket);

	if (fd == -ECONNREFUSED && is_no_socket(socket))
		return -ENOTSOCK;
	if (fd < 0)
		return fd;
	int rc = protocol_send(fd, &hello, sizeof(hello), NULL, 0);

	if (rc == 0)
		rc = protocol_receive(fd, &welcome, sizeof(welcome), &memory, &nfds, ANSWER_MS);
	if (rc == 0) {
		if (welcome.magic != PROTOCOL_MAGIC || welcome.version != PROTOCOL_VERSION)
			rc = -EPROTO;
		else if (welcome.status < 0)
			rc = welcome.status;
		else if (nfds != 1 || welcome.bytes == 0 || welcome.bytes > ANSWER_BYTES)
			rc = -EPROTO;
		else
			rc = parse(memory, (size_t)welcome.bytes, out);
		if (nfds == 1)
			close(memory);
	}
	close(fd);
	return rc;
}

/* The line for what ask_daemon returned. CLI_FAILED. */
static int explain(const struct verb *verb, const char *socket, int pid, int error)
{
	switch (error) {
	case -ENOENT:
	case -ECONNREFUSED:
		return cli_failed(verb,
				  "no daemon answers at %s: start one with 'kfdschedd', or name "
				  "its socket with --socket or KFDSHIM_SOCKET",
				  socket);
	case -ENOTSOCK:
		return cli_failed(verb, "%s is not a socket: name the daemon's with --socket",
				  socket);
	case -EAGAIN:
		return cli_failed(verb,
				  "the daemon at %s did not answer within %d s: "
				  "look at its log, or start it again",
				  socket, ANSWER_MS / 1000);
	case -EPROTO:
		return cli_failed(verb,
				  "what answers at %s is no kfdschedd of this version: use the "
				  "kfdsched that belongs to it",
				  socket);
	case -ESRCH:
		return cli_failed(verb,
				  "no process %d is registered with the daemon at %s: 'kfdsched "
				  "status' lists those that are",
				  pid, socket);
	case -EACCES:
	case -EPERM:
		return cli_failed(verb,
				  "the daemon at %s refuses this user: ask as its owner or root",
				  socket);
	default:
		return cli_failed(verb, "asking the daemon at %s failed: %s", socket,
				  strerror(-error));
	}
}

int ask_options(const struct verb *verb, int argc, char **argv, struct ask_options *out)
{
	static const struct option options[] = {
		{"dump", no_argument, NULL, 'd'}, /* first: not every verb has it */
		{"json", no_argument, NULL, 'j'}, {"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'}, {0},
	};
	const struct option *known = out->dump ? options : options + 1;
	int option;

	*out = (struct ask_options){.socket = ask_socket()};
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
		switch (option) {
		case 'd':
			out->dump = true;
			break;
		case 'j':
			out->json = true;
			break;
		case 's':
			out->socket = optarg;
			break;
		case 'h':
			return cli_help(verb);
		default:
			return cli_usage_getopt(verb, option, argv);
		}
	}
	return ASK_GO_ON;
}

int ask_status(const struct verb *verb, const char *socket, int pid, json_t **out)
{
	int rc = ask_daemon(socket, pid, out);

	return rc ? explain(verb, socket, pid, rc) : ASK_GO_ON;
}
