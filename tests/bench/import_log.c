// SPDX-License-Identifier: MIT
/*
 * kfdsched import-log: how many MB of a log of HIP it reads a second, and what memory it
 * takes for 64 MB and for 1 GB of one; in turns with a loop that only takes the same file
 * line by line. The log is the real one of HIP 7.2.4 at level 5, as
 * it goes on, of 16 processes; its queues and their packets are as they were. Usage:
 * bench_import_log KFDSCHED LOG FOLDER (with room for 1 GB; in memory, or it is the disk
 * that is measured).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/report.h"

#define ROUNDS 5
#define SMALL (64u << 20)
#define LARGE (1u << 30)
#define PROCESSES 16u
#define BLOCK (4u << 20)

struct run {
	double seconds; /* of a core */
	double peak_kb;
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_import_log: %s: %s\n", what, strerror(errno));
	exit(1);
}

static char *load(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = malloc(1u << 20);

	if (!file || !text)
		fail(path);
	text[fread(text, 1, (1u << 20) - 1, file)] = '\0';
	fclose(file);
	return text;
}

/* One line of the log as process `pid` of the block would have written it. */
static size_t line_of(char *to, const char *line, size_t bytes, unsigned pid)
{
	const char *at = memmem(line, bytes, "[pid:", 5);

	if (!at) {
		memcpy(to, line, bytes);
		return bytes;
	}
	size_t before = (size_t)(at - line) + 5;
	size_t digits = strspn(line + before, "0123456789");

	memcpy(to, line, before);
	size_t n = before + (size_t)sprintf(to + before, "%u", pid);

	memcpy(to + n, line + before + digits, bytes - before - digits);
	return n + bytes - before - digits;
}

/* What is written again and again: the processes in turns, a line each. What makes and
 * ends queues is in the first of it alone. */
static size_t make_block(char *block, const char *log, bool first)
{
	size_t n = 0;

	for (;;) {
		for (const char *at = log, *end; *at; at = end + 1) {
			end = strchrnul(at, '\n');
			size_t bytes = (size_t)(end - at) + (*end != '\0');

			if (n + PROCESSES * (bytes + 16) > BLOCK)
				return n;
			if (!first &&
			    (memmem(at, bytes, "reated", 6) || memmem(at, bytes, "eleting", 7)))
				bytes = 0;
			for (unsigned i = 0; bytes && i < PROCESSES; i++)
				n += line_of(block + n, at, bytes, 4000 + i);
			if (!*end)
				break;
		}
		first = false;
	}
}

static void write_log(const char *path, const char *from, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *block = malloc(BLOCK);
	const char *log = load(from);
	size_t n = 0;

	if (fd < 0 || !block)
		fail(path);
	for (size_t done = 0; done < bytes; done += n) {
		if (done <= BLOCK)
			n = make_block(block, log, !done);
		if (write(fd, block, n) != (ssize_t)n)
			fail(path);
	}
}

/* In a process of its own: what a process has had at most before it became kfdsched counts
 * as kfdsched's, and ours is inherited. */
static void make_log(const char *path, const char *from, size_t bytes)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		write_log(path, from, bytes);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
		unlink(path);
		fail("writing the log");
	}
}

/* The least that reading it could take. An exit status. */
static int read_lines(const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return 1;
	while (getline(&line, &room, file) > 0)
		continue;
	return !feof(file);
}

/* Without kfdsched: of the loop. */
static struct run measure(const char *kfdsched, const char *path)
{
	struct rusage usage;
	int status;
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child == 0 && !kfdsched)
		_exit(read_lines(path));
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		execl(kfdsched, kfdsched, "import-log", "--json", path, (char *)NULL);
		_exit(127);
	}
	if (wait4(child, &status, 0, &usage) < 0)
		fail("wait4");
	if (status != 0) {
		fprintf(stderr, "bench_import_log: %s ended with status %d\n",
			kfdsched ? "kfdsched import-log" : "the loop", status);
		exit(1);
	}
	return (struct run){
		.seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
			   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
		.peak_kb = (double)usage.ru_maxrss,
	};
}

int main(int argc, char **argv)
{
	double rates[ROUNDS], ours[ROUNDS], bare[ROUNDS];
	struct bench bench;
	struct run small, large = {0};
	char path[4096];

	if (argc != 4)
		return 2;
	snprintf(path, sizeof(path), "%s/bench_import.%d.log", argv[3], (int)getpid());
	make_log(path, argv[2], SMALL);
	small = measure(argv[1], path);
	make_log(path, argv[2], LARGE);
	for (unsigned i = 0; i < ROUNDS; i++) {
		bare[i] = measure(NULL, path).seconds;
		large = measure(argv[1], path);
		ours[i] = large.seconds;
		rates[i] = LARGE / 1e6 / large.seconds;
	}
	unlink(path);
	bench_begin(&bench, "import-log", "Reading a log of HIP");
	bench_series(&bench, "1 GB", "MB/s", rates, ROUNDS);
	bench_figure(&bench, "a log of 1 GB, median", bench_median(rates, ROUNDS), "MB/s", NULL, 0);
	bench_figure(&bench, "CPU time / that of a loop which takes its lines",
		     bench_ratio(ours, bare, ROUNDS), "x", "at_most", 5);
	bench_figure(&bench, "peak memory, 64 MB", small.peak_kb, "KB", NULL, 0);
	bench_figure(&bench, "peak memory, 1 GB", large.peak_kb, "KB", "at_most",
		     small.peak_kb + 1024);
	return bench_end(&bench);
}
