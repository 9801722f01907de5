// SPDX-License-Identifier: MIT
#include "sim/host/virtual.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/clock.h"
#include "sim/host/bypass.h"
#include "sim/host/cores.h"
#include "sim/host/idle.h"
#include "sim/host/time_slots.h"
#include "sim/host/timers.h"
#include "sim/host/where.h"
#include "sim/kfd/files.h"

#define SETTLE_NS 5000		/* between two proofs, while the world runs: at least, */
#define SETTLE_SHARE 8u		/* of the time for which it has run, */
#define SETTLE_MAX_NS 500000u	/* and at most */
#define CALL_NS 20000000	/* what a call waits for threads that run */
#define OUTSIDE_MIN_NS 1000000	/* between two looks at a world that waits for the outside: */
#define OUTSIDE_MAX_NS 16000000 /* the longer it does, the fewer */

/* What a process may run for, before a round is forced: CPU time, which does not depend on what
 * else this machine does. */
#define COMPUTE_NS 1000000000ull
#define COMPUTE_MIN_NS 10000000ull
#define SPIN_NS 20000000ull /* the same if its GPU has work, for which it may spin */
#define SPIN_MIN_NS 1000000ull
#define HALVINGS 10
#define CHARGE_NS 100000ull /* longer than what others are charged, for which it may spin */

/* What several processes may run for together, of which none runs for long; and those of which many
 * come and go. */
#define TOGETHER_NS 10000000000ull
#define STORM_NS COMPUTE_NS
#define STORM_PROCESSES 1000
#define STORM_UNCOUNTED 32000	   /* the same, of whose CPU time the kernel keeps no account */
#define STORM_LOOK_NS 200000000ull /* real time between two looks at it */
#define STORM_HALVINGS 5
#define JUMP_NS 100000000000ull	    /* time that goes further at once is named: */
#define JUMPS 8			    /* the first of such jumps */
#define STANDSTILL_NS 3000000000ull /* real time for which a world waits unnamed */
#define STUCK_NS 60000000000ull	    /* real time: a process that waits, as for a slow disk */

enum { FD_LISTENER, FD_STOP, FD_PROCESSES, FDS };
enum round { ENDED, IDLE, FORCED };

/* A process that kept the world from being idle. */
struct spinner {
	pid_t pid;
	bool has_work;
	bool excused;	 /* in this round */
	unsigned halved; /* how often its patience was */
};

struct loop {
	struct world *world;
	struct idle *idle;
	struct bypass *bypass;
	struct pollfd fds[FDS];
	struct virtual_counts *counts;
	struct spinner spinners[VIRTUAL_NAMED];
	pid_t busy;		/* the process that is waited for, */
	uint64_t busy_ns;	/* and its CPU time when that began */
	uint64_t since_ns;	/* the same, in real time */
	uint64_t round_ns;	/* since when no call has been served, real time */
	uint64_t patience_ns;	/* that the last forced round took */
	uint64_t storm_cpu_ns;	/* the world's CPU time when a storm may have begun; 0: not known */
	uint64_t storm_look_ns; /* when to look at it again, real time */
	int storm_created;	/* processes since then, of the whole machine, */
	pid_t storm_newest;	/* and the last of them */
	unsigned storms;	/* forced rounds in a row, because of storms */
};

/* Of the machine: how long the world has not been idle. */
static uint64_t real_ns(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

/* Does a call, or a death, wait to be served? -1: the world has ended. */
static int is_called(struct loop *loop)
{
	int n;

	do
		n = poll(loop->fds, FDS, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 || loop->fds[FD_STOP].revents || loop->fds[FD_LISTENER].revents & ~POLLIN)
		return -1;
	return n > 0;
}

static void serve_one(struct loop *loop)
{
	if (loop->fds[FD_PROCESSES].revents)
		process_reap(loop->world);
	else
		notify_serve(loop->world);
}

/* The longer the world has run, the less often a proof is tried: each takes time away from it. */
static void settle(struct loop *loop, bool called)
{
	uint64_t share = (real_ns() - loop->round_ns) / SETTLE_SHARE;
	struct timespec t = {0, SETTLE_NS};

	if (share > SETTLE_NS)
		t.tv_nsec = share < SETTLE_MAX_NS ? (long)share : SETTLE_MAX_NS;
	/* A call that waits for its turn must not end the pause. */
	ppoll(loop->fds + (called ? FD_STOP : 0), called ? 1 : FDS, &t, NULL);
}

/* The entry of a process, or the last one for all others. */
static unsigned spinner_of(const struct loop *loop, pid_t pid)
{
	unsigned i = 0;

	while (i < VIRTUAL_NAMED - 1 && loop->spinners[i].pid && loop->spinners[i].pid != pid)
		i++;
	return i;
}

static uint64_t patience(bool has_work, unsigned halved)
{
	uint64_t least = has_work ? SPIN_MIN_NS : COMPUTE_MIN_NS;
	uint64_t ns = (has_work ? SPIN_NS : COMPUTE_NS) >> halved;

	return ns > least ? ns : least;
}

/* The process that is waited for runs on while the others are waited for. The last entry has all
 * of its time each time, because it is of several processes. */
static void excuse(struct loop *loop, unsigned i, bool has_work)
{
	struct virtual_named *named = &loop->counts->spinners[i];
	struct spinner *spinner = &loop->spinners[i];

	if (i < VIRTUAL_NAMED - 1 && spinner->halved < HALVINGS)
		spinner->halved++;
	spinner->pid = loop->busy;
	spinner->has_work = has_work;
	spinner->excused = true;
	if (!named->command[0])
		idle_name(loop->busy, named->command, sizeof(named->command));
	idle_excuse(loop->idle, loop->busy);
}

static void excuse_none(struct loop *loop)
{
	idle_excuse_none(loop->idle);
	for (unsigned i = 0; i < VIRTUAL_NAMED; i++)
		loop->spinners[i].excused = false;
}

static void count_forced(struct loop *loop)
{
	bool any = false;

	for (unsigned i = 0; i < VIRTUAL_NAMED; i++) {
		loop->counts->spinners[i].rounds += loop->spinners[i].excused;
		any |= loop->spinners[i].excused;
	}
	loop->counts->forced += any;
	loop->counts->outrun += !any;
}

/* Begins to wait for that process, which has used so much CPU time. */
static void wait_for(struct loop *loop, pid_t pid, uint64_t cpu_ns)
{
	loop->busy = pid;
	loop->busy_ns = cpu_ns;
	loop->since_ns = real_ns();
}

/* A thread that spins until another has done something must not wait for long if that one is only
 * charged. */
static bool outruns_charge(struct loop *loop, pid_t pid, uint64_t ns)
{
	if (!pid || ns < CHARGE_NS || !time_slots_charged_first(loop->world->time))
		return false;
	loop->patience_ns = CHARGE_NS;
	idle_excuse(loop->idle, pid);
	wait_for(loop, 0, 0);
	return true;
}

/* A process that has run for too long goes on to do so while the others are waited for. If it
 * was so before, it has half of the time that it had, because it spins. True: what keeps the
 * world busy is not known, and it has for long. */
static bool lose_patience(struct loop *loop)
{
	uint64_t cpu_ns;
	pid_t pid = idle_busy(loop->idle, &cpu_ns);
	bool has_work = pid && drive_has_work(loop->world, pid);
	unsigned i = spinner_of(loop, pid);
	uint64_t patience_ns = patience(has_work, loop->spinners[i].halved);

	if ((pid && pid != loop->busy) || cpu_ns < loop->busy_ns)
		wait_for(loop, pid, cpu_ns);
	if (outruns_charge(loop, pid, cpu_ns - loop->busy_ns))
		return false;
	if (cpu_ns - loop->busy_ns < patience_ns && real_ns() - loop->since_ns < STUCK_NS)
		return false;
	loop->patience_ns = patience_ns;
	excuse(loop, i, has_work);
	wait_for(loop, 0, 0);
	return !pid;
}

static void expect_storm(struct loop *loop)
{
	loop->storm_look_ns = real_ns() + STORM_LOOK_NS;
	loop->storm_cpu_ns = 0;
	loop->storm_created = 0;
}

static bool is_too_long(const struct loop *loop, uint64_t cpu_ns)
{
	int many = STORM_PROCESSES >> loop->storms;
	uint64_t most = loop->storm_created < many ? TOGETHER_NS : STORM_NS;

	return cpu_ns - loop->storm_cpu_ns >= most >> loop->storms ||
	       loop->storm_created > STORM_UNCOUNTED >> loop->storms;
}

/* No process has lost its time, and yet the world is busy for long: the process that has used most is
 * named. */
static bool is_storm(struct loop *loop)
{
	uint64_t now = real_ns(), cpu_ns;
	pid_t newest, culprit = 0;

	if (now < loop->storm_look_ns)
		return false;
	newest = idle_newest(loop->idle);
	loop->storm_look_ns = now + STORM_LOOK_NS;
	cpu_ns = idle_cpu(loop->idle, &culprit);
	/* The CPU time of a process is missing once it has ended and nothing has waited for it. */
	if (!loop->storm_cpu_ns || cpu_ns < loop->storm_cpu_ns)
		loop->storm_cpu_ns = cpu_ns;
	else if (newest > loop->storm_newest)
		loop->storm_created += newest - loop->storm_newest;
	loop->storm_newest = newest;
	if (!is_too_long(loop, cpu_ns))
		return false;
	if (loop->storms < STORM_HALVINGS)
		loop->storms++;
	loop->patience_ns = COMPUTE_NS;
	loop->busy = culprit;
	excuse(loop, spinner_of(loop, culprit), false);
	return true;
}

/* Those that compute have all of their time again. */
static void be_patient(struct loop *loop)
{
	for (unsigned i = 0; i < VIRTUAL_NAMED; i++)
		if (!loop->spinners[i].has_work)
			loop->spinners[i].halved = 0;
	loop->storms = 0;
}

static bool prove_idle(struct loop *loop)
{
	uint64_t begin = real_ns();

	if (!idle_check(loop->idle)) {
		loop->counts->busy++;
		return false;
	}
	loop->counts->proof_ns += real_ns() - begin;
	return true;
}

/* May a call be served that waits? Where threads take turns, not while others run: so one
 * thread, and those that it wakes, run at a time. */
static bool is_its_turn(const struct loop *loop, bool idle)
{
	return idle || !loop->world->config.seed || real_ns() - loop->since_ns > CALL_NS;
}

static void begin_round(struct loop *loop)
{
	wait_for(loop, 0, 0);
	loop->round_ns = loop->since_ns;
	expect_storm(loop);
}

/* Until no thread can run, those of processes that have run for too long left out. */
static enum round wait_for_round(struct loop *loop)
{
	int called;

	begin_round(loop);
	excuse_none(loop);
	while ((called = is_called(loop)) >= 0) {
		bool idle = (!called || loop->world->config.seed) && prove_idle(loop);

		if (called && is_its_turn(loop, idle)) {
			serve_one(loop);
			begin_round(loop);
		} else if (idle && !called && is_called(loop)) {
			continue;
		} else if (idle && !idle_excused(loop->idle)) {
			loop->counts->rounds++;
			be_patient(loop);
			return IDLE;
		} else if (idle || lose_patience(loop) || is_storm(loop)) {
			count_forced(loop);
			return FORCED;
		} else {
			settle(loop, called);
		}
	}
	return ENDED;
}

/* How far the clock may go towards the first end of a wait. In a forced round no further than the
 * process has run for: then it is a machine on which time passes. */
static uint64_t limit(const struct loop *loop, enum round round, uint64_t first)
{
	uint64_t most = clock_ns() + loop->patience_ns;

	return round == FORCED && first > most ? most : first;
}

/* False: nothing is going to happen in this world by itself. */
static bool let_happen(struct loop *loop, enum round round)
{
	struct world *world = loop->world;
	uint64_t wait, timer;

	if (!drive_settle(world))
		return true;
	wait = time_slots_first(world->time);
	timer = timers_first(world->timers);
	if (timer <= wait ? timers_fire(world->timers) : time_slots_wake(world->time)) {
		loop->counts->wakes++;
		return true;
	}
	return drive_until(world, limit(loop, round, timer < wait ? timer : wait), round == FORCED);
}

/* Until the world calls, or @ns are over. */
static void wait_for_outside(struct loop *loop, long ns)
{
	const struct timespec t = {0, ns};

	loop->counts->waits++;
	ppoll(loop->fds, FDS, &t, NULL);
}

/* Time passes for the others. */
static void note_stopped(struct loop *loop)
{
	struct virtual_named *named = loop->counts->stopped, *last = named + VIRTUAL_NAMED - 1;
	pid_t pid = idle_stopped(loop->idle);
	char command[sizeof(named->command)];

	if (!pid)
		return;
	idle_name(pid, command, sizeof(command));
	while (named < last && named->command[0] && strcmp(named->command, command) != 0)
		named++;
	if (!named->command[0])
		strcpy(named->command, command);
	named->rounds++;
}

/* Since @before_ns of the world's clock. A wait that is missing in the list is one that should have
 * ended before. */
static void note_jump(struct loop *loop, uint64_t before_ns)
{
	struct virtual_counts *counts = loop->counts;
	uint64_t now = clock_ns(), start = loop->world->start_ns;

	if (now - before_ns <= JUMP_NS)
		return;
	if (!counts->first_jumps)
		counts->first_jumps = json_array();
	if (counts->jumps++ < JUMPS)
		json_array_append_new(counts->first_jumps,
				      json_pack("{s:f, s:f, s:o}", "from_s",
						(double)(before_ns - start) / 1e9, "to_s",
						(double)(now - start) / 1e9, "threads",
						where_threads_wait(loop->world, loop->idle)));
}

/* Nothing has a time, and that for long. */
static void note_standstill(struct loop *loop)
{
	json_t *threads;

	if (loop->counts->standstill || !where_is_deadlock(loop->world, loop->idle))
		return;
	threads = loop->counts->standstill = where_threads_wait(loop->world, loop->idle);
	say("the world stands still: none of its %zu threads can run, and none waits for a time, "
	    "so it goes on only if something outside of it happens. They wait here:",
	    json_array_size(threads));
	where_say(threads);
}

static void run(struct loop *loop)
{
	long outside_ns = OUTSIDE_MIN_NS;
	uint64_t before, since = 0;
	enum round round;

	while ((round = wait_for_round(loop)) != ENDED) {
		if (round == IDLE)
			bypass_look(loop->bypass, loop->idle);
		before = clock_ns();
		if (let_happen(loop, round)) {
			if (round == IDLE && clock_ns() != before)
				note_stopped(loop);
			note_jump(loop, before);
			outside_ns = OUTSIDE_MIN_NS;
			since = 0;
			continue;
		}
		if (!since)
			since = real_ns();
		if (round == IDLE && real_ns() - since > STANDSTILL_NS)
			note_standstill(loop);
		wait_for_outside(loop, outside_ns);
		if (outside_ns < OUTSIDE_MAX_NS)
			outside_ns *= 2;
	}
}

static void thread_ended(void *context, pid_t tid)
{
	const struct loop *loop = context;

	time_slots_end(loop->world->time, tid);
	timers_end(loop->world->timers, tid);
	bypass_end(loop->bypass, tid);
}

static int open_loop(struct loop *loop)
{
	idle_on_end(loop->idle, thread_ended, loop);
	loop->bypass = bypass_new(loop->world->init);
	return loop->bypass ? 0 : -ENOMEM;
}

static void finish(const struct loop *loop)
{
	bypass_say(loop->bypass);
	loop->counts->bypasses = bypass_json(loop->bypass);
}

int virtual_loop(struct world *world, int stop_fd)
{
	struct loop loop = {
		.world = world,
		.idle = world->idle,
		.counts = &world->virtual,
		.fds = {[FD_LISTENER] = {.fd = world->listener, .events = POLLIN},
			[FD_STOP] = {.fd = stop_fd, .events = POLLIN},
			[FD_PROCESSES] = {.fd = world->poll_fd, .events = POLLIN}},
	};
	int r = open_loop(&loop);

	if (!r) {
		prctl(PR_SET_TIMERSLACK, 1000);
		if (world->config.seed)
			cores_of_supervisor();
		run(&loop);
		finish(&loop);
	}
	bypass_free(loop.bypass);
	/* Where descriptors are few, the report wants those of the proof. */
	idle_close(world->idle);
	world->idle = NULL;
	return r;
}

void virtual_counts_free(struct virtual_counts *counts)
{
	json_decref(counts->first_jumps);
	json_decref(counts->standstill);
	json_decref(counts->bypasses);
}
