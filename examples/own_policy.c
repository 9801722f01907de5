// SPDX-License-Identifier: MIT
/*
 * A policy made with libkfdsched: processes take turns on the GPU, each for some seconds, whatever
 * their priorities are.
 *
 *   cc own_policy.c -lkfdsched -o own_policy
 *   ./own_policy SECONDS PID PID...      (as root, or in the daemon's admin_group)
 *
 * Every suspension is a lease that is a little longer than a turn, so that all processes run again
 * when this program ends for whatever reason.
 */
#include <errno.h>
#include <kfdsched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROCESSES 64

static struct kfdsched *daemon_;
static pid_t pids[PROCESSES];
static int count;

/* Handles the result of a request. Returns 1 if `error` is 0, and 0 if the process cannot take part
 * any longer, because it has ended or cannot be suspended. Exits after any other error. */
static int can_go_on(int error, pid_t pid)
{
	if (error == 0)
		return 1;
	fprintf(stderr, "process %d: %s\n", (int)pid, kfdsched_errmsg(daemon_));
	if (error != -ESRCH && error != -EOPNOTSUPP)
		exit(1); /* no daemon, or not permitted; the leases end soon */
	return 0;
}

static void forget(int i)
{
	for (count--; i < count; i++)
		pids[i] = pids[i + 1];
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 0;

	if (seconds == 0 || argc < 4 || argc > 2 + PROCESSES) {
		fprintf(stderr, "usage: own_policy SECONDS PID PID...\n");
		return 2;
	}
	daemon_ = kfdsched_open(NULL);
	if (!daemon_)
		return 1;
	for (int i = 2; i < argc; i++)
		pids[count++] = atoi(argv[i]);
	for (int round = 0; count > 1; round++) {
		pid_t next = pids[round % count];

		for (int i = 0; i < count;) {
			if (pids[i] == next ||
			    can_go_on(kfdsched_suspend(daemon_, pids[i], seconds + 2), pids[i]))
				i++;
			else
				forget(i);
		}
		if (can_go_on(kfdsched_resume(daemon_, next), next))
			sleep(seconds);
	}
	if (count)
		kfdsched_resume(daemon_, pids[0]);
	kfdsched_close(daemon_);
	return 0;
}
