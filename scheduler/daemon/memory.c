// SPDX-License-Identifier: MIT
#include "scheduler/daemon/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scheduler/daemon/log.h"

#define SCORE "/proc/self/oom_score_adj"
/* Not -1000, so that the kernel can still kill the daemon if it is the process that fills the
 * memory. */
#define SCORE_WANTED (-900)

static int read_score(int *out)
{
	FILE *f = fopen(SCORE, "re");
	int n = f ? fscanf(f, "%d", out) : 0;

	if (f)
		fclose(f);
	return n == 1 ? 0 : -EIO;
}

static int write_score(int score)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", score);
	int fd = open(SCORE, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)n) != n)
		error = -errno;
	close(fd);
	return error;
}

static void spare_us(void)
{
	int score, error = read_score(&score);

	if (!error && score > SCORE_WANTED)
		error = write_score(SCORE_WANTED);
	if (error)
		log_info("the daemon is not protected from the kernel's OOM killer: " SCORE
			 " cannot be set: %s; start it with CAP_SYS_RESOURCE, or with "
			 "OOMScoreAdjust=%d",
			 strerror(-error), SCORE_WANTED);
}

static bool is_unlimited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* Locks each present mapping for which RLIMIT_MEMLOCK has room, in order of addresses: the program,
 * its heap and its tables, then the libraries. Returns 0 if all are locked, or a negative errno. */
static int lock_what_fits(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	int error = f ? 0 : -errno;
	unsigned long from, to;
	char *line = NULL, right;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		if (sscanf(line, "%lx-%lx %c", &from, &to, &right) != 3 || right != 'r' ||
		    strstr(line, "[v")) /* pages of the kernel ([vdso], [vvar]) */
			continue;
		if (mlock((const void *)from, to - from) != 0)
			error = -errno;
	}
	free(line);
	if (f)
		fclose(f);
	return error;
}

/* Locks present and future mappings. If RLIMIT_MEMLOCK is limited, locks only the present mappings
 * that fit: later mappings would fail at the limit. Returns 0 or a negative errno. */
static int lock_all(void)
{
	if (!is_unlimited())
		return lock_what_fits();
	/* The second call concerns only later mappings. */
	if (mlockall(MCL_CURRENT) != 0 || mlockall(MCL_FUTURE | MCL_ONFAULT) != 0)
		return -errno;
	return 0;
}

void memory_lock(void)
{
	(void)lock_all();
}

void memory_lock_new(void)
{
	if (!is_unlimited())
		(void)lock_what_fits();
}

void memory_prepare(void)
{
	const struct rlimit none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};

	spare_us();
	setrlimit(RLIMIT_MEMLOCK, &none); /* lock_all() checks whether it worked */
	/* This process still has its rights, so it may exceed the limit if setrlimit() has failed,
	 * but no worker can. */
	if (lock_all() != 0 || !is_unlimited())
		log_info("not all of the daemon's memory can be locked, so the scheduler is "
			 "late if the machine swaps: raise the limit of locked memory "
			 "(LimitMEMLOCK=infinity, ulimit -l unlimited)");
}

/* ---- shared mappings ---- */

#define MAPPINGS 64u

struct map_range {
	void *start;
	size_t size;
};

/* Lists the shared mappings that this process can write, except the one at `keep`. Returns their
 * number, or a negative errno: -E2BIG if there are more than MAPPINGS. */
static int writable_mappings(const void *keep, struct map_range out[static MAPPINGS])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char *line = NULL, rights[5];
	size_t room = 0;
	int n = 0, error;

	if (!maps)
		return -errno;
	while (n >= 0 && getline(&line, &room, maps) > 0) {
		if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3 || rights[1] != 'w' ||
		    rights[3] != 's' || start == (unsigned long)(uintptr_t)keep)
			continue;
		if ((uint32_t)n == MAPPINGS)
			n = -E2BIG;
		else
			out[n++] = (struct map_range){(void *)(uintptr_t)start, end - start};
	}
	error = ferror(maps) ? -EIO : 0;
	free(line);
	fclose(maps);
	return error ? error : n;
}

int memory_unshare(const void *keep, bool unmap)
{
	struct map_range ranges[MAPPINGS];
	int n = writable_mappings(keep, ranges);

	for (int i = 0; i < n; i++)
		if (unmap ? munmap(ranges[i].start, ranges[i].size) < 0
			  : mprotect(ranges[i].start, ranges[i].size, PROT_READ) < 0)
			return -errno;
	return n < 0 ? n : 0;
}
