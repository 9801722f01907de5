// SPDX-License-Identifier: MIT
/*
 * Measures the costs of libkfdshim.so in a program with AMD's runtime, alternately with the program
 * alone. For the dispatch it also measures two other ways to observe work (tool.c): a hook in the
 * runtime's API table and an intercept queue. Instructions are counted by callgrind; the other
 * figures are measured (shim_work.c).
 *
 *     bench_shim KFDSIM LIBKFDSHIM WORK TOOL EARLY_THREAD
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/report.h"
#include "tests/bench/shim_work.h"

#define ROUNDS 9u
#define STARTS 61u
#define SAMPLES(n) (ROUNDS * (n))
#define FUNCTIONS 256u /* maximum number of functions that are counted in a profile */

enum arm { ALONE, SHIM, TABLE, INTERCEPT, ARMS };
static const char *const names[ARMS] = {"alone", "the shim", "an OnLoad table hook",
					"an HSA intercept queue"};

/* Of the last two: a library that is initialised before the shim starts a thread; the shim is a
 * tools library only. */
enum { START_ALONE, START_SHIM, START_HELD, START_THREADS, START_TOOL, START_ARMS };

/* What callgrind has counted in the calls made by a counted function. */
struct counted {
	double instructions;
	unsigned functions;
	bool shim, tool; /* code of libkfdshim.so, or of the tools library, was executed */
};

static struct shim_round rounds[ARMS][ROUNDS];
static struct shim_round held[ROUNDS]; /* with the shim, on hold for a peer */
/* Processes that are only started. Many are needed, because one start varies by more than the
 * difference that is measured. */
static struct shim_start starts[START_ARMS][STARTS];
static const char *kfdsim, *shim, *work, *tool, *early_thread;

/* Runs the work program in an arm, under the command prefix `before`, and reads `bytes` bytes of
 * its stdout to `out`. Returns 0 or -1. */
static int run(enum arm arm, const char *before, const char *what, void *out, size_t bytes)
{
	static const char *const environments[ARMS] = {
		[ALONE] = "LD_PRELOAD=%.0s",
		[SHIM] = "LD_PRELOAD='%s'",
		[TABLE] = "BENCH_TOOL=table HSA_TOOLS_LIB='%s'",
		[INTERCEPT] = "BENCH_TOOL=intercept HSA_TOOLS_LIB='%s'",
	};
	char environment[2048], command[8192];
	FILE *from;
	size_t n;

	snprintf(environment, sizeof environment, environments[arm], arm == SHIM ? shim : tool);
	snprintf(command, sizeof command, "exec '%s' -- env %s %s '%s' %s", kfdsim, environment,
		 before, work, what);
	from = popen(command, "re");
	if (!from)
		return -1;
	n = fread(out, 1, bytes, from);
	return pclose(from) || (bytes && n != bytes) ? -1 : 0;
}

static bool same_file(const char *a, const char *b)
{
	struct stat one, other;

	return !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/* Returns whether the function is not in `seen`, and adds it. A function can occur several times in
 * the file. */
static bool is_new(unsigned number, unsigned *seen, unsigned n)
{
	for (unsigned i = 0; i < n && i < FUNCTIONS; i++)
		if (seen[i] == number)
			return false;
	if (n < FUNCTIONS)
		seen[n] = number;
	return true;
}

/*
 * Reads the instructions that `function` caused in its callees from callgrind's file.
 *
 * The file has "fn=(number) name" for each function, followed by lines "position cost". A line
 * after "calls=" has the cost of the called function, which "cfn=(number) name" names. A name
 * stands only at the first mention of its number. Objects are named in the same way: "ob=(number)
 * path" and "cob=(number) path". At the end stands "totals:", from which the function's own cost is
 * subtracted.
 */
static int read_profile(const char *path, const char *function, struct counted *counted)
{
	double cost, own = 0, all = -1;
	bool inside = false, called = false;
	char line[4096], name[4096];
	unsigned number, ours = 0, seen[FUNCTIONS];
	FILE *f = fopen(path, "re");

	*counted = (struct counted){0};
	while (f && fgets(line, sizeof line, f)) {
		if ((sscanf(line, "fn=(%u) %4095[^\n]", &number, name) == 2 ||
		     sscanf(line, "cfn=(%u) %4095[^\n]", &number, name) == 2) &&
		    !strcmp(name, function))
			ours = number;
		if (sscanf(line, "ob=(%u) %4095[^\n]", &number, name) == 2 ||
		    sscanf(line, "cob=(%u) %4095[^\n]", &number, name) == 2) {
			counted->shim |= same_file(name, shim);
			counted->tool |= same_file(name, tool);
		}
		if (sscanf(line, "fn=(%u)", &number) == 1) {
			inside = ours && number == ours;
			counted->functions += is_new(number, seen, counted->functions);
		} else if (inside && !called && sscanf(line, "%*[-+*0-9] %lf", &cost) == 1) {
			own += cost;
		}
		called = !strncmp(line, "calls=", 6);
		sscanf(line, "totals: %lf", &all);
	}
	if (f)
		fclose(f);
	counted->instructions = all - own;
	return own > 0 && all > own ? 0 : -1;
}

static int count(enum arm arm, const char *what, const char *function, struct counted *counted)
{
	char path[] = "/tmp/kfdshim-bench-XXXXXX", valgrind[512];
	int fd = mkstemp(path), bad;

	if (fd < 0)
		return -1;
	snprintf(valgrind, sizeof valgrind,
		 "valgrind -q --log-file=/dev/null --tool=callgrind --toggle-collect=%s "
		 "--callgrind-out-file=%s",
		 function, path);
	bad = run(arm, valgrind, what, NULL, 0) || read_profile(path, function, counted);
	remove(path);
	if (!bad && (counted->shim != (arm == SHIM) || counted->tool != (arm > SHIM))) {
		fprintf(stderr, "bench_shim: %s of \"%s\": %s\n", what, names[arm],
			counted->shim || counted->tool
				? "code of another arm was counted"
				: "callgrind saw no code of it, so it was not there");
		return -1;
	}
	return bad;
}

/* Fails if the arm's code was executed but no additional instructions were counted. */
static int more_than_alone(enum arm arm, const struct counted *one, const struct counted *alone)
{
	if (one->instructions > alone->instructions)
		return 0;
	fprintf(stderr,
		"bench_shim: callgrind counts %.0f instructions with %s, and %.0f without\n",
		one->instructions, names[arm], alone->instructions);
	return -1;
}

/* The median of a field over an array of results. */
#define MEDIAN(samples, field)                                                                     \
	({                                                                                         \
		double v_[sizeof(samples) / sizeof((samples)[0])];                                 \
                                                                                                   \
		for (unsigned i_ = 0; i_ < sizeof(v_) / sizeof(v_[0]); i_++)                       \
			v_[i_] = (samples)[i_].field;                                              \
		bench_median(v_, sizeof(v_) / sizeof(v_[0]));                                      \
	})

/* The median of the ratios of two fields that were measured alternately. */
#define RATIO_OF(samples, field, others, other_field)                                              \
	({                                                                                         \
		double a_[sizeof(samples) / sizeof((samples)[0])];                                 \
		double b_[sizeof(a_) / sizeof(a_[0])];                                             \
                                                                                                   \
		for (unsigned i_ = 0; i_ < sizeof(a_) / sizeof(a_[0]); i_++) {                     \
			a_[i_] = (samples)[i_].field;                                              \
			b_[i_] = (others)[i_].other_field;                                         \
		}                                                                                  \
		bench_ratio(a_, b_, sizeof(a_) / sizeof(a_[0]));                                   \
	})

/* Adds the figures of the instructions of a doorbell and of a dispatch (slot, packet, doorbell). */
static int instructions(struct bench *b)
{
	struct counted bare, ours, dispatches[ARMS];
	double alone;
	char name[128];

	if (count(ALONE, "doorbells", COUNTED_DOORBELLS, &bare) ||
	    count(SHIM, "doorbells", COUNTED_DOORBELLS, &ours) ||
	    more_than_alone(SHIM, &ours, &bare))
		return -1;
	bench_figure(b, "doorbell, instructions of the bare call", bare.instructions / COUNTED_N,
		     "", NULL, 0);
	bench_figure(b, "doorbell, instructions over the bare call",
		     (ours.instructions - bare.instructions) / COUNTED_N, "", "at_most", 12);
	bench_figure(b, "doorbell, instructions with the shim", ours.instructions / COUNTED_N, "",
		     NULL, 0);
	/* One additional function, the hook itself: it calls no allocator and no lock function. */
	bench_figure(b, "doorbell, functions beside the bare call's",
		     (double)ours.functions - bare.functions, "", "at_most", 1);
	for (enum arm arm = ALONE; arm < ARMS; arm++)
		if (count(arm, "dispatches", COUNTED_DISPATCHES, &dispatches[arm]) ||
		    (arm != ALONE && more_than_alone(arm, &dispatches[arm], &dispatches[ALONE])))
			return -1;
	alone = dispatches[ALONE].instructions / BATCH;
	bench_figure(b, "dispatch, instructions alone", alone, "", NULL, 0);
	for (enum arm arm = SHIM; arm < ARMS; arm++) {
		snprintf(name, sizeof name, "dispatch, instructions more by %s", names[arm]);
		bench_figure(b, name, dispatches[arm].instructions / BATCH - alone, "", NULL, 0);
	}
	return 0;
}

static double dispatch_ns(struct bench *b, enum arm arm)
{
	double all[SAMPLES(BATCHES)], median;
	char name[128];

	for (unsigned i = 0; i < ROUNDS; i++)
		memcpy(all + i * BATCHES, rounds[arm][i].dispatch_ns,
		       sizeof rounds[arm][i].dispatch_ns);
	median = bench_median(all, SAMPLES(BATCHES));
	snprintf(name, sizeof name, arm == ALONE ? "%s" : "with %s", names[arm]);
	bench_series(b, name, "ns", all, SAMPLES(BATCHES));
	return median;
}

static void dispatch_stats(struct bench *b)
{
	double alone = dispatch_ns(b, ALONE);
	char name[128];

	bench_figure(b, "dispatch alone", alone, "ns", NULL, 0);
	for (enum arm arm = SHIM; arm < ARMS; arm++) {
		snprintf(name, sizeof name, "dispatch, longer by %s", names[arm]);
		bench_figure(b, name, dispatch_ns(b, arm) - alone, "ns", NULL, 0);
	}
}

/* The idle state is found by the thread that returns from the wait. No wake of another thread is
 * involved, so it has to take less time than a wake. */
static void idle_stats(struct bench *b)
{
	double idle[SAMPLES(IDLES)], bare[SAMPLES(IDLES)], early = 0, ratio;

	for (unsigned i = 0; i < ROUNDS; i++) {
		memcpy(idle + i * IDLES, rounds[SHIM][i].idle_us, sizeof rounds[SHIM][i].idle_us);
		memcpy(bare + i * IDLES, rounds[SHIM][i].bare_us, sizeof rounds[SHIM][i].bare_us);
		early += rounds[SHIM][i].idles_early;
	}
	ratio = bench_ratio(idle, bare, SAMPLES(IDLES));
	bench_figure(b, "idle found after a hooked wait's return, median",
		     bench_median(idle, SAMPLES(IDLES)), "us", NULL, 0);
	bench_figure(b, "... of 100 the slowest one", idle[SAMPLES(IDLES) * 99 / 100], "us", NULL,
		     0);
	bench_figure(b, "... a bare wake of a thread, median", bench_median(bare, SAMPLES(IDLES)),
		     "us", NULL, 0);
	bench_figure(b, "... idle found / a bare wake", ratio, "x", "at_most", 1);
	bench_figure(b, "... of 10 the slowest one of each",
		     idle[SAMPLES(IDLES) * 9 / 10] / bare[SAMPLES(IDLES) * 9 / 10], "x", "at_most",
		     2);
	bench_figure(b, "... found before the wait, beside those", early, "", NULL, 0);
}

static void times(struct bench *b)
{
	double bare = MEDIAN(rounds[ALONE], doorbell_ns), ours = MEDIAN(rounds[SHIM], doorbell_ns),
	       calls = 0;

	bench_figure(b, "doorbell, longer by", ours - bare, "ns", NULL, 0);
	bench_figure(b, "doorbell with the shim / the bare call",
		     RATIO_OF(rounds[SHIM], doorbell_ns, rounds[ALONE], doorbell_ns), "x",
		     "at_most", 2);
	for (unsigned i = 0; i < ROUNDS; i++)
		calls += rounds[SHIM][i].system_calls;
	bench_figure(b, "system calls in 900,000 doorbells", calls, "", "at_most", 0);
	dispatch_stats(b);
	idle_stats(b);
}

/* The number of wakes depends on the agent alone: its bound is twice the number that follows from
 * its polling period (16 ms, shim/sampler.c). The cost of a wake depends on the machine, so it is
 * compared with the same number of wakes of a thread that does nothing. */
static void agent_thread(struct bench *b)
{
	bench_figure(b, "agent's wakes a second beside 16 quiet queues",
		     MEDIAN(rounds[SHIM], quiet_wakes), "", "at_most", 125);
	bench_figure(b, "... of a core", MEDIAN(rounds[SHIM], quiet_share), "%", NULL, 0);
	bench_figure(b, "... / as many bare wakes",
		     RATIO_OF(rounds[SHIM], quiet_share, rounds[SHIM], bare_quiet_share), "x",
		     "at_most", 5);
	/* Taken from the run on hold, because the queues of an offline process are never published
	 * as blocked: this is the cost beside running kernels. */
	bench_figure(b, "agent's wakes a second beside 16 busy queues", MEDIAN(held, busy_wakes),
		     "", "at_most", 125);
	bench_figure(b, "... of a core", MEDIAN(held, busy_share), "%", NULL, 0);
	bench_figure(b, "... / as many bare wakes",
		     RATIO_OF(held, busy_share, held, bare_busy_share), "x", "at_most", 5);
	bench_figure(b, "... of a core when 15 stand before a barrier",
		     MEDIAN(rounds[SHIM], busy_share), "%", NULL, 0);
	bench_figure(b, "agent's thread without queues, of a core",
		     MEDIAN(rounds[SHIM], none_share), "%", "at_most", 0);
	bench_figure(b, "agent's wakes a second without queues", MEDIAN(rounds[SHIM], none_wakes),
		     "", "at_most", 0);
}

/* liburcu's registration takes long in a process that has several threads before the shim is
 * initialised (docs/decisions/0013-liburcu-in-the-agent.md). */
static void start_stats(struct bench *b, unsigned arm, const char *name)
{
	double longer[STARTS];
	char text[128];

	for (unsigned i = 0; i < STARTS; i++)
		longer[i] = starts[arm][i].ms - starts[START_ALONE][i].ms;
	snprintf(text, sizeof text, "... %s, longer by", name);
	bench_figure(b, text, bench_median(longer, STARTS), "ms", NULL, 0);
	snprintf(text, sizeof text, "... %s, of 100 the slowest one", name);
	bench_figure(b, text, longer[STARTS * 99 / 100], "ms", NULL, 0);
}

static void the_rest(struct bench *b)
{
	double bare = MEDIAN(starts[START_ALONE], ms);

	bench_figure(b, "hsa_init and first queue, longer by",
		     MEDIAN(starts[START_SHIM], ms) - bare, "ms", NULL, 0);
	bench_figure(b, "hsa_init and first queue with the shim / alone",
		     RATIO_OF(starts[START_SHIM], ms, starts[START_ALONE], ms), "x", "at_most",
		     1.25);
	bench_figure(b, "... CPU time of the calling thread, longer by",
		     MEDIAN(starts[START_SHIM], cpu_ms) - MEDIAN(starts[START_ALONE], cpu_ms), "ms",
		     NULL, 0);
	start_stats(b, START_SHIM, "one thread at the start");
	start_stats(b, START_THREADS, "threads before the shim");
	start_stats(b, START_TOOL, "by HSA_TOOLS_LIB only");
	bench_figure(b, "... offline, without a daemon, with a session on itself, longer by",
		     MEDIAN(starts[START_HELD], ms) - bare, "ms", NULL, 0);
	bench_figure(b, "... the same / alone",
		     RATIO_OF(starts[START_HELD], ms, starts[START_ALONE], ms), "x", "at_most",
		     1.25);
	agent_thread(b);
	bench_figure(b, "memory with 16 queues, more by",
		     MEDIAN(rounds[SHIM], memory_kib) - MEDIAN(rounds[ALONE], memory_kib), "KiB",
		     "at_most", 256);
	bench_figure(b, "... held for a peer at level self",
		     MEDIAN(held, memory_kib) - MEDIAN(rounds[ALONE], memory_kib), "KiB", "at_most",
		     256);
	bench_figure(b, "threads with 16 queues, more by",
		     MEDIAN(rounds[SHIM], threads) - MEDIAN(rounds[ALONE], threads), "", "at_most",
		     1);
	bench_figure(b, "... held for a peer at level self",
		     MEDIAN(held, threads) - MEDIAN(rounds[ALONE], threads), "", "at_most", 1);
}

/* Runs the work program with the shim, offline and without a daemon, so that it holds itself when a
 * peer is more urgent. */
static int run_by_itself(const char *what, void *out, size_t bytes)
{
	char directory[] = "/tmp/kfdshim-bench-XXXXXX", environment[256], path[64];
	int bad;

	if (!mkdtemp(directory))
		return -1;
	snprintf(environment, sizeof environment,
		 "XDG_RUNTIME_DIR=%s KFDSHIM_SOCKET=%s/none KFDSHIM_PRIORITY=offline "
		 "KFDSHIM_LEVEL=self",
		 directory, directory);
	bad = run(SHIM, environment, what, out, bytes);
	snprintf(path, sizeof path, "%s/kfdshim", directory);
	rmdir(path); /* the processes have removed their files from it */
	rmdir(directory);
	return bad;
}

/* Runs all arms alternately. */
static int a_round(unsigned i)
{
	int bad = 0;

	for (enum arm arm = ALONE; arm < ARMS; arm++)
		bad |= run(arm, "", arm == SHIM ? "agent" : "round", &rounds[arm][i],
			   sizeof rounds[arm][i]);
	return bad | run_by_itself("held", &held[i], sizeof held[i]);
}

static int a_start(unsigned i)
{
	char preload[1024], as_tool[1024];

	snprintf(preload, sizeof preload, "LD_PRELOAD='%s %s'", shim, early_thread);
	snprintf(as_tool, sizeof as_tool, "HSA_TOOLS_LIB='%s'", shim);
	return run(ALONE, "", "start", &starts[START_ALONE][i], sizeof starts[0][0]) |
	       run(SHIM, "", "start-agent", &starts[START_SHIM][i], sizeof starts[0][0]) |
	       run(SHIM, preload, "start-agent", &starts[START_THREADS][i], sizeof starts[0][0]) |
	       run(ALONE, as_tool, "start", &starts[START_TOOL][i], sizeof starts[0][0]) |
	       run_by_itself("start", &starts[START_HELD][i], sizeof starts[0][0]);
}

int main(int argc, char **argv)
{
	struct bench b;

	if (argc != 6)
		return 2;
	kfdsim = argv[1];
	shim = argv[2];
	work = argv[3];
	tool = argv[4];
	early_thread = argv[5];
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (a_round(i)) {
			fprintf(stderr, "bench_shim: round %u did not come to its end\n", i);
			return 1;
		}
	}
	for (unsigned i = 0; i < STARTS; i++) {
		if (a_start(i)) {
			fprintf(stderr, "bench_shim: start %u did not come to its end\n", i);
			return 1;
		}
	}
	bench_begin(&b, "shim", "What the shim costs: time of a dispatch");
	if (instructions(&b)) {
		fprintf(stderr, "bench_shim: callgrind did not come to its end\n");
		return 1;
	}
	times(&b);
	the_rest(&b);
	return bench_end(&b);
}
