// SPDX-License-Identifier: MIT
/*
 * Measures `kfdsched import-log`: the MB of a HIP log that it reads per second, and its peak memory
 * for logs of 64 MB and of 1 GB, alternately with a loop that only reads the same file line by
 * line. The log is the recorded one of HIP 7.2.4 at level 5, repeated for 16 processes; its queues
 * and their packets are unchanged.
 *
 *     bench_import_log KFDSCHED LOG DIRECTORY
 *
 * DIRECTORY needs room for 1 GB, and should be in memory because the disk would be measured
 * otherwise.
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
	double seconds; /* CPU time */
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

/* Copies one line of the log, with `pid` in place of its pid. Returns the length. */
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

/* Fills the block that is written again and again: each line once for each process. The lines that
 * create and delete queues occur only once, in the first block. */
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

/* Writes the log in a child process, because kfdsched's peak memory would otherwise include that of
 * this process: the peak before exec() counts, and is inherited from the parent. */
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

/* The floor: reads the file line by line. Returns an exit status. */
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

/* Measures kfdsched, or the loop if `kfdsched` is NULL. */
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
