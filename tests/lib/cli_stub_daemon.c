// SPDX-License-Identifier: MIT
/*
 * A stub of kfdschedd for the tests of the command. It takes the daemon's options and replies to
 * every request of kind PROTOCOL_QUERY with the output of the shell command FAKE_REPLY. With
 * FAKE_FAULT it replies to requests of any kind. Environment:
 *
 *   FAKE_REPLY          shell command; its output is the text of the reply
 *   FAKE_FAULT=version   the reply carries the next protocol version
 *   FAKE_FAULT=refuse    the reply is EPERM
 *   FAKE_FAULT=garbage   the text of the reply is not JSON
 *   FAKE_FAULT=silent    no request is ever answered
 *   FAKE_FAULT=resumed   the second request is answered with ECANCELED: its process was resumed
 *   FAKE_FAULT=lost      the first connection is closed without a reply; each later request is
 *                        answered as the second one of "resumed"
 *   FAKE_COPY            path to which the file of --config is copied
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel/protocol.h"

static size_t reply(char *text, size_t size)
{
	FILE *command = popen(getenv("FAKE_ANSWER"), "r");
	size_t n = command ? fread(text, 1, size, command) : 0;

	if (!command || pclose(command) != 0) {
		fprintf(stderr, "fake daemon: FAKE_ANSWER failed\n");
		exit(1);
	}
	return n;
}

/* Serves one connection. `fault`: FAKE_FAULT, or "". */
static void serve(int fd, const char *fault)
{
	struct protocol_hello hello;
	struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION};
	static char text[1 << 16];
	static unsigned commands;
	size_t left;

	if (protocol_receive(fd, &hello, sizeof(hello), NULL, NULL, 1000) ||
	    hello.magic != PROTOCOL_MAGIC || (!fault[0] && hello.kind != PROTOCOL_QUERY))
		return;
	if (strcmp(fault, "lost") == 0 && commands++ == 0)
		return;
	if (strcmp(fault, "garbage") == 0)
		strcpy(text, "no JSON");
	left = fault[0] == 'g' ? strlen(text) : reply(text, sizeof(text));
	if (strcmp(fault, "version") == 0)
		welcome.version++;
	if (strcmp(fault, "refuse") == 0)
		welcome.status = -EPERM;
	if (welcome.status)
		left = 0;
	if ((strcmp(fault, "resumed") == 0 && commands++ == 1) || strcmp(fault, "lost") == 0)
		welcome.status = -ECANCELED;
	for (const char *at = text;; at += welcome.bytes) {
		welcome.bytes = left < PROTOCOL_TEXT_MAX ? left : PROTOCOL_TEXT_MAX;
		left -= welcome.bytes;
		welcome.more = left > 0;
		if (protocol_send_text(fd, &welcome, at) || !left)
			break;
	}
}

static void copy_config(const char *from)
{
	char line[256];
	FILE *in = fopen(from, "r");
	FILE *out = getenv("FAKE_COPY") ? fopen(getenv("FAKE_COPY"), "w") : NULL;

	while (in && out && fgets(line, sizeof(line), in))
		fputs(line, out);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
}

/* Binds the socket under a temporary name and renames it after listen(), so that a client that
 * finds the socket can connect at once. */
static bool listens(int listener, const struct sockaddr_un *address)
{
	struct sockaddr_un first = *address;

	strncat(first.sun_path, "~", sizeof(first.sun_path) - strlen(first.sun_path) - 1);
	return !bind(listener, (struct sockaddr *)&first, sizeof(first)) && !listen(listener, 8) &&
	       !rename(first.sun_path, address->sun_path);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *fault = getenv("FAKE_FAULT") ? getenv("FAKE_FAULT") : "";
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], "--socket") == 0)
			snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[i + 1]);
		if (strcmp(argv[i], "--config") == 0)
			copy_config(argv[i + 1]);
	}
	if (!listens(listener, &address)) {
		perror("fake daemon");
		return 1;
	}
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			return 1;
		if (strcmp(fault, "silent") == 0)
			continue; /* the client's connection stays open */
		serve(fd, fault);
		close(fd);
	}
}
