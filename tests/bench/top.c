// SPDX-License-Identifier: MIT
/*
 * Measures the share of a core of `kfdsched top` at ten samples per second, on a terminal of
 * 120x40, while 64 processes have 4 queues each: with a daemon, which reports the processes, and
 * without one, where sysfs is read. debugfs is read in both cases, as often as top reads it by
 * default. The floor, in the same seconds, is a loop that reads as often what top has to read: the
 * daemon's status and the stat file of each process in every sample, sysfs once a second.
 *
 *     bench_top KFDSCHED KFDSCHEDD SHIM TENANTS      within kfdsim
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "include/kfdsched.h"
#include "tests/bench/report.h"
#include "tests/bench/spent.h"

#define PROCESSES 64u
#define QUEUES 4u
#define SECONDS 10
#define WARM_S 2
#define PATIENCE_S 60
#define SAMPLES 10 /* per second */
#define DRIVER "/sys/class/kfd/kfd/proc"

static char directory[] = "/tmp/kfdshim-top-XXXXXX";
static char path[64];

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s failed: %s\n", what, strerror(errno));
	exit(1);
}

static void nap_ms(long ms)
{
	const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&nap, NULL);
}

/* Starts a program that ends with this process. */
static pid_t start(int in, int out, char *const *words)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	dup2(out >= 0 ? out : STDERR_FILENO, STDOUT_FILENO);
	execv(words[0], words);
	_exit(127);
}

/* Returns the number of processes of which the daemon knows all queues. */
static unsigned known(struct kfdsched *daemon)
{
	char *text = NULL;
	unsigned n = 0;
	json_t *status;

	if (kfdsched_status(daemon, 0, &text))
		return 0;
	status = json_loads(text, 0, NULL);
	for (size_t i = 0; i < json_array_size(json_object_get(status, "processes")); i++)
		n += json_array_size(json_object_get(
			     json_array_get(json_object_get(status, "processes"), i), "queues")) ==
		     QUEUES;
	json_decref(status);
	free(text);
	return n;
}

static void read_file(const char *name)
{
	char text[4096];
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
		continue;
	if (fd >= 0)
		close(fd);
}

static int visit(const char *name, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	if (type == FTW_F)
		read_file(name);
	return 0;
}

/* Reads what top has to read for one sample, without using it. daemon: NULL if there is none. */
static void bare_sample(struct kfdsched *daemon, bool sysfs)
{
	DIR *processes = opendir(DRIVER);
	char *text = NULL, name[300];
	struct dirent *entry;

	must(processes != NULL, DRIVER);
	if (daemon && !kfdsched_status(daemon, 0, &text))
		json_decref(json_loads(text, 0, NULL));
	free(text);
	while ((entry = readdir(processes))) {
		snprintf(name, sizeof(name), "/proc/%s/stat", entry->d_name);
		read_file(name);
	}
	closedir(processes);
	if (sysfs)
		nftw(DRIVER, visit, 16, FTW_PHYS);
}

/* Returns the CPU time in ns of one such read. */
static double bare_sample_ns(struct kfdsched *daemon, bool sysfs)
{
	uint64_t before = clock_of(CLOCK_THREAD_CPUTIME_ID);

	bare_sample(daemon, sysfs);
	return (double)(clock_of(CLOCK_THREAD_CPUTIME_ID) - before);
}

/* Reads what was written to the terminal, so that the writer does not block. Returns the bytes. */
static size_t take(int terminal)
{
	char text[8192];
	size_t all = 0;
	ssize_t n;

	while ((n = read(terminal, text, sizeof(text))) > 0)
		all += (size_t)n;
	return all;
}

/* Percent of a core, in each second. */
struct shares {
	double top[SECONDS], bare[SECONDS];
};

/* Measures one second: the CPU time of top and of the loop, in ns. */
static void second(pid_t top, int terminal, struct kfdsched *daemon, size_t *sent, double *top_ns,
		   double *bare_ns)
{
	double before = spent_cpu_ns(top);

	*bare_ns = 0;
	for (int i = 0; i < SAMPLES; i++) {
		*bare_ns += bare_sample_ns(daemon, i == 0);
		for (int k = 0; k < 5; k++) {
			nap_ms(100 / 5);
			*sent += take(terminal);
		}
	}
	*top_ns = spent_cpu_ns(top) - before;
}

static void measure(char *kfdsched, struct kfdsched *daemon, struct shares *shares)
{
	const struct winsize size = {.ws_col = 120, .ws_row = 40};
	char *const words[] = {kfdsched, "top", "--interval", "100ms", "--socket", path, NULL};
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK), inner;
	size_t sent = 0;
	pid_t pid;

	must(terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal), "a terminal");
	inner = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	must(inner >= 0 && !ioctl(inner, TIOCSWINSZ, &size), "its size");
	pid = start(inner, inner, words);
	close(inner);
	for (int s = -WARM_S; s < SECONDS; s++) {
		uint64_t begun = clock_ns();
		double top_ns, bare_ns, all;

		second(pid, terminal, daemon, &sent, &top_ns, &bare_ns);
		all = (double)(clock_ns() - begun) / 100;
		if (s < 0)
			continue;
		shares->top[s] = top_ns / all;
		shares->bare[s] = bare_ns / all;
	}
	must(sent > 4000 && kill(pid, 0) == 0, "top, which should have drawn something,");
	kill(pid, SIGTERM);
	for (int i = 0; i < 100 && waitpid(pid, NULL, WNOHANG) == 0; i++) {
		take(terminal);
		nap_ms(20);
	}
	close(terminal);
}

static void record(struct bench *bench, const char *name, struct shares *shares, double most)
{
	double ratio = bench_ratio(shares->top, shares->bare, SECONDS);
	char text[128];

	bench_series(bench, name, "%", shares->top, SECONDS);
	snprintf(text, sizeof(text), "%u processes, ten looks a second, %s: of a core", PROCESSES,
		 name);
	bench_figure(bench, text, bench_median(shares->top, SECONDS), "%", NULL, 0);
	bench_figure(bench, "... of a loop that reads the same",
		     bench_median(shares->bare, SECONDS), "%", NULL, 0);
	bench_figure(bench, "... top / the loop", ratio, "x", "at_most", most);
}

int main(int argc, char **argv)
{
	char *daemon_words[] = {NULL, "--foreground", "--socket", path, NULL};
	char *tenant_words[] = {NULL, "64", "4", "1", NULL};
	static struct shares with, without;
	struct kfdsched *daemon;
	struct bench bench;
	pid_t daemon_pid, tenants;
	int hold[2];

	if (argc != 5)
		return 2;
	must(mkdtemp(directory) != NULL, "a folder");
	snprintf(path, sizeof(path), "%s/socket", directory);
	setenv("TERM", "xterm", 1);
	setenv("KFDSHIM_SOCKET", path, 1);
	daemon_words[0] = argv[2];
	daemon_pid = start(-1, -1, daemon_words);
	daemon = kfdsched_open(path);
	must(daemon && !pipe2(hold, O_CLOEXEC), "a pipe");

	setenv("LD_PRELOAD", argv[3], 1);
	tenant_words[0] = argv[4];
	tenants = start(hold[0], -1, tenant_words);
	unsetenv("LD_PRELOAD");
	for (int i = 0; i < PATIENCE_S * 10 && known(daemon) < PROCESSES; i++)
		nap_ms(100);
	must(known(daemon) == PROCESSES, "the processes, which the daemon should know,");

	measure(argv[1], daemon, &with);
	kill(daemon_pid, SIGTERM);
	waitpid(daemon_pid, NULL, 0);
	measure(argv[1], NULL, &without);
	kfdsched_close(daemon);
	kill(tenants, SIGKILL);
	waitpid(tenants, NULL, 0);
	unlink(path);
	rmdir(directory);

	bench_begin(&bench, "top", "kfdsched top");
	record(&bench, "daemon", &with, 4);
	record(&bench, "sysfs", &without, 4);
	return bench_end(&bench);
}
