// SPDX-License-Identifier: MIT
/*
 * Measures how soon the scheduler acts: the time from the doorbell of an online process (with AMD's
 * runtime and the shim's hook of the store) to the daemon's SUSPEND call on an offline process. The
 * floor, measured alternately, is the wake of a process by an eventfd on another CPU; that process
 * has the daemon's scheduling class. The SUSPEND is timed in the daemon's thread just before the
 * system call (wake_entry.c), not where the simulated driver receives it.
 *
 *     bench_wake KFDSCHEDD LIBKFDSHIM WORK ENTRY      within kfdsim, with a GPU
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "tests/bench/report.h"
#include "tests/bench/wake.h"

#define CHILDREN 4
#define START_US 10000000

static char directory[] = "/tmp/kfdshim-bench-XXXXXX";
static char socket_path[64], config_path[64], page_path[64];
static struct wake_page *page;
static int wake_fd;
static pid_t children[CHILDREN];
static unsigned child_count;

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("bench_wake: fork");
		exit(1);
	}
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else
		children[child_count++] = pid;
	return pid;
}

/* Starts a program. Its stdout goes to stderr, because stdout is reserved for the figures. */
static void start(const char *preload, const char *priority, char *const argv[])
{
	if (child() != 0)
		return;
	setenv("LD_PRELOAD", preload, 1);
	if (priority)
		setenv("KFDSHIM_PRIORITY", priority, 1);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execv(argv[0], argv);
	perror(argv[0]);
	_exit(1);
}

/* Takes the scheduling class of the daemon's loop, or its nice value if that is not permitted. */
static void be_urgent(void)
{
	const struct sched_param low = {.sched_priority = sched_get_priority_min(SCHED_RR) + 1};

	if (sched_setscheduler(0, SCHED_RR, &low) != 0)
		setpriority(PRIO_PROCESS, 0, -15);
}

static void start_bare(void)
{
	uint64_t count;

	if (child() != 0)
		return;
	be_urgent();
	wake_stand_on(1);
	while (read(wake_fd, &count, sizeof(count)) == sizeof(count))
		__atomic_store_n(&page->bare_ns, clock_ns(), __ATOMIC_RELEASE);
	_exit(1);
}

static bool prepare(void)
{
	FILE *f;
	int fd;

	if (!mkdtemp(directory))
		return false;
	snprintf(socket_path, sizeof socket_path, "%s/socket", directory);
	snprintf(config_path, sizeof config_path, "%s/config", directory);
	snprintf(page_path, sizeof page_path, "%s/page", directory);
	f = fopen(config_path, "we");
	if (!f)
		return false;
	/* The offline process must not be exempted from suspension because the machine is slow. */
	fputs("[scheduler]\nslow_suspend = 10s\nhold_over = no\n", f);
	fclose(f);
	fd = open(page_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct wake_page)))
		return false;
	close(fd);
	setenv(WAKE_PAGE_VARIABLE, page_path, 1);
	setenv("KFDSHIM_SOCKET", socket_path, 1);
	page = wake_page_map();
	wake_fd = eventfd(0, 0);
	return page && wake_fd >= 0;
}

/* Polls `there` until it returns true, for up to 10 s. */
static bool comes(bool (*there)(void))
{
	for (unsigned us = 0; us < START_US; us += 10000) {
		if (there())
			return true;
		usleep(10000);
	}
	return false;
}

static bool socket_is_there(void)
{
	struct stat st;

	return stat(socket_path, &st) == 0;
}

static bool work_is_there(void)
{
	return __atomic_load_n(&page->has_work, __ATOMIC_ACQUIRE);
}

static bool run(char **argv)
{
	char fd[16];
	int status;

	snprintf(fd, sizeof fd, "%d", wake_fd);
	setenv(WAKE_FD_VARIABLE, fd, 1);
	start_bare();
	start(argv[4], NULL,
	      (char *[]){argv[1], "--foreground", "--socket", socket_path, "--config", config_path,
			 NULL});
	if (!comes(socket_is_there))
		return false;
	start(argv[2], "offline", (char *[]){argv[3], "offline", NULL});
	if (!comes(work_is_there))
		return false;
	start(argv[2], "online", (char *[]){argv[3], "online", NULL});
	return waitpid(children[--child_count], &status, 0) > 0 && status == 0;
}

/* Ends the remaining children in the reverse order of their start. The daemon, the second child,
 * gets SIGTERM, so that it can end regularly. */
static void clean_up(void)
{
	while (child_count) {
		kill(children[child_count - 1], child_count == 2 ? SIGTERM : SIGKILL);
		waitpid(children[--child_count], NULL, 0);
	}
	unlink(config_path);
	unlink(page_path);
	unlink(socket_path);
	rmdir(directory);
}

static double print_stats(struct bench *b, const char *name, const char *what, double *us)
{
	double median = bench_median(us, WAKE_PAIRS);
	char text[128];

	snprintf(text, sizeof text, "%s, median of 10,000", what);
	bench_figure(b, text, median, "us", NULL, 0);
	bench_figure(b, "... of 100 the slowest one", us[WAKE_PAIRS * 99 / 100], "us", NULL, 0);
	bench_series(b, name, "us", us, WAKE_PAIRS);
	return median;
}

int main(int argc, char **argv)
{
	struct bench b;
	double bare, suspend;
	bool done;

	if (argc != 5 || !prepare())
		return 2;
	done = run(argv);
	clean_up();
	if (!done) {
		fprintf(stderr,
			"bench_wake: it did not come to its end; %u doorbells were not "
			"followed by a SUSPEND\n",
			page->lost);
		return 1;
	}
	bench_begin(&b, "wake", "From the online doorbell to the SUSPEND's call");
	bare = print_stats(&b, "a bare wake", "bare eventfd wake of a process on another CPU",
			   page->bare_us);
	suspend = print_stats(&b, "doorbell to SUSPEND", "online doorbell to the SUSPEND's call",
			      page->suspend_us);
	bench_figure(&b, "doorbell to SUSPEND / a bare wake, medians", suspend / bare, "x",
		     "at_most", 3);
	bench_figure(&b, "doorbells that no SUSPEND followed within 1 s", page->lost, "", "at_most",
		     0);
	return bench_end(&b);
}
