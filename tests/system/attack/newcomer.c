// SPDX-License-Identifier: MIT
/*
 * Registers as a workload once. Exit code: 0 if the welcome came within a second; otherwise 1, with
 * a line that gives the reason.
 *
 *   attack_newcomer SOCKET
 */
#include <stdio.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"

int main(int argc, char **argv)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_SHIM, PRIORITY_OFFLINE);
	uint64_t until = clock_ns() + 1000000000u;
	struct protocol_welcome welcome;
	int fds[PROTOCOL_WELCOME_FDS];
	size_t nfds = PROTOCOL_WELCOME_FDS;
	int sock, error;

	if (argc != 2) {
		fprintf(stderr, "usage: attack_newcomer SOCKET\n");
		return 2;
	}
	sock = attack_connect(argv[1], until);
	if (sock < 0)
		attack_fail("not connected", sock);
	error = attack_send(sock, &hello, sizeof(hello), NULL, 0);
	if (!error)
		error = protocol_receive(sock, &welcome, sizeof(welcome), fds, &nfds, 1000);
	if (error)
		attack_fail("no welcome", error);
	if (welcome.status)
		attack_fail("refused", welcome.status);
	return clock_ns() < until ? 0 : 1;
}
