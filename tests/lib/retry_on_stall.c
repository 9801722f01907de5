// SPDX-License-Identifier: MIT
/*
 * steadily COMMAND...: runs a test to which time matters, and once more if it fails while
 * the host had taken this machine's cores away, at most three times; the last counts,
 * whatever the host did. $TURN tells the command which turn it is. Exit code: the last
 * turn's.
 *
 * How long they were away says host_stall.h. Without the right to real-time priority nothing is
 * known, and nothing run twice.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/host_stall.h"

#define TURNS 3
#define MS 1000000u
#define AWAY_MS 200u /* of one core in a turn: what a test cannot be asked to bear */

static unsigned long long worst_ms(void)
{
	return away_worst_ns() / MS;
}

static int run(char **command, int turn)
{
	char text[16];
	int status;
	pid_t pid;

	snprintf(text, sizeof(text), "%d", turn);
	setenv("TURN", text, 1);
	pid = fork();
	if (pid == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("steadily");
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	bool watched;
	int code = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: steadily COMMAND...\n");
		return 2;
	}
	watched = away_watch();
	for (int turn = 1; turn <= TURNS; turn++) {
		unsigned long long away = worst_ms();

		code = run(argv + 1, turn);
		if (!code)
			return 0;
		away = worst_ms() - away;
		fprintf(stderr, "steadily: turn %d failed (%d); a core was away for %llu ms%s\n",
			turn, code, away, watched ? "" : ", as far as can be seen here");
		if (!watched || away <= AWAY_MS)
			return code;
	}
	return code;
}
