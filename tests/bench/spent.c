// SPDX-License-Identifier: MIT
#include "tests/bench/spent.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"

static void must(int ok, const char *what, pid_t pid)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s of process %d cannot be read\n", what, (int)pid);
	exit(1);
}

double spent_cpu_ns(pid_t pid)
{
	clockid_t id;

	must(clock_getcpuclockid(pid, &id) == 0, "the CPU time", pid);
	return (double)clock_of(id);
}

/* Returns -1 if the thread has ended meanwhile. */
static double sleeps_of(pid_t pid, const char *thread)
{
	char path[320], line[128];
	double n = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, thread);
	f = fopen(path, "re");
	while (f && n < 0 && fgets(line, sizeof line, f))
		sscanf(line, "voluntary_ctxt_switches: %lf", &n);
	if (f)
		fclose(f);
	return n;
}

double spent_sleeps(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	double all = 0, n;
	DIR *threads;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	threads = opendir(path);
	must(threads != NULL, "the threads", pid);
	while ((entry = readdir(threads)))
		if (entry->d_name[0] != '.' && (n = sleeps_of(pid, entry->d_name)) > 0)
			all += n;
	closedir(threads);
	return all;
}
