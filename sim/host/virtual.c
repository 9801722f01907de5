// SPDX-License-Identifier: MIT
/*
 * The main loop of a simulation in virtual time: one thread that serves the calls of the
 * simulation's processes, and advances the clock when none of their threads can run.
 *
 * One round:
 *  1. serve the pending calls;
 *  2. prove that all threads are idle (idle.h); if they are not, go to 1;
 *  3. read the doorbells, and let everything happen that is due now; if that has woken a thread,
 *     go to 1;
 *  4. wake the first thread whose wait has ended; if there is one, go to 1;
 *  5. advance the clock to the next GPU event or the next end of a wait, and let it happen.
 *
 * A process that runs for a long time without a driver call (it computes, or polls memory or the
 * processor's own counter) does not stop the clock: the next event happens all the same. This also
 * applies to many processes that together keep the simulation busy, such as a fork storm. Such a
 * round is called forced. It is counted, and the process is named in the report, because what
 * happens then depends on the speed of the machine.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/clock.h"
#include "sim/driver/process.h"
#include "sim/host/idle.h"
#include "sim/host/kernel_wait.h"
#include "sim/host/sim.h"
#include "sim/host/time_slots.h"
#include "sim/host/timers.h"

/* The pause between two attempts to prove that no thread can run: 1/SETTLE_SHARE of the real time
 * of the round so far, at least SETTLE_NS and at most SETTLE_MAX_NS. */
#define SETTLE_NS 5000
#define SETTLE_SHARE 8u
#define SETTLE_MAX_NS 500000u
#define CALL_NS 20000000 /* longest time that a call waits while other threads run (--seed) */
/* The interval between two checks of a simulation that waits for an event outside of it. It doubles
 * with each check. */
#define OUTSIDE_MIN_NS 1000000
#define OUTSIDE_MAX_NS 16000000

/* The CPU time for which a process may run before the clock advances all the same (a forced round).
 * Each forced round for the process halves it, down to the minimum. Only CPU time is counted,
 * because it does not depend on other load of the machine. */
#define COMPUTE_NS 1000000000ull
#define COMPUTE_MIN_NS 10000000ull
#define SPIN_NS 20000000ull /* the limit for a process that may spin until its GPU is done */
#define SPIN_MIN_NS 1000000ull
#define HALVINGS 10
/* CPU time after which a running process ends the charge of another thread (a delay, time/page.h),
 * because it may spin until that thread acts. It is longer than any charge. */
#define CHARGE_NS 100000ull

/* Limits of the CPU time of all processes together, after which the clock advances (a forced
 * round). TOGETHER_NS applies if no single process runs for long, STORM_NS if STORM_PROCESSES were
 * created. */
#define TOGETHER_NS 10000000000ull
#define STORM_NS COMPUTE_NS
#define STORM_PROCESSES 1000
/* After this many created processes the clock advances (a forced round), however little CPU time
 * was counted, because the kernel may not account the CPU time of such processes. */
#define STORM_UNCOUNTED 32000
#define STORM_CHECK_NS 200000000ull /* real time between two checks for a storm */
#define STORM_HALVINGS 5
#define JUMP_NS 100000000000ull	    /* larger advances of the clock are reported */
#define JUMPS 8			    /* number of jumps that are reported in detail */
#define STANDSTILL_NS 3000000000ull /* real time without any event before a deadlock is reported */
/* Real time after which a process counts as stuck, for example on a slow disk. */
#define STUCK_NS 60000000000ull

enum { FD_LISTENER, FD_STOP, FD_PROCESSES, FDS };
enum round { ENDED, IDLE, FORCED };

/* A process that kept the simulation from being idle. */
struct spinner {
	pid_t pid;
	bool has_work;
	bool excused;	 /* excluded from idle_check() in this round */
	unsigned halved; /* number of times its time limit was halved */
};

struct loop {
	struct sim *sim;
	struct idle *idle;
	struct bypass *bypass;
	struct pollfd fds[FDS];
	struct virtual_counts *counts;
	struct spinner spinners[VIRTUAL_NAMED];
	pid_t busy;	   /* the process that the loop waits for; 0: unknown */
	uint64_t busy_ns;  /* CPU time of that process when the wait began */
	uint64_t since_ns; /* real time when the wait began */
	/* Real time of the last served call, or of the start of the round. */
	uint64_t round_ns;
	uint64_t patience_ns; /* time limit that led to the last forced round */
	/* CPU time of all processes when a storm may have begun; 0: unknown. */
	uint64_t storm_cpu_ns;
	uint64_t storm_check_ns; /* real time of the next check for a storm */
	int storm_created;	 /* processes created since then, on the whole machine */
	pid_t storm_newest;	 /* id of the newest of them */
	unsigned storms;	 /* consecutive rounds that were forced by storms */
};

/* Returns the machine's clock, which measures how long the simulation has not been idle. */
static uint64_t real_ns(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

/* Returns 1 if a call or the end of a process is to be served, -1 if the simulation has ended. */
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

/* Pauses before the next attempt to prove that no thread can run. The pause grows with the duration
 * of the main loop's round, because each attempt takes CPU time from the simulation. */
static void settle(struct loop *loop, bool called)
{
	uint64_t share = (real_ns() - loop->round_ns) / SETTLE_SHARE;
	struct timespec t = {0, SETTLE_NS};

	if (share > SETTLE_NS)
		t.tv_nsec = share < SETTLE_MAX_NS ? (long)share : SETTLE_MAX_NS;
	/* A call that waits (is_next()) keeps the listener readable, but must not end the pause. */
	ppoll(loop->fds + (called ? FD_STOP : 0), called ? 1 : FDS, &t, NULL);
}

/* Returns the index of the process's entry in loop->spinners. If the process has no entry, returns
 * a free one, or the last one, which all further processes share. */
static unsigned spinner_of(const struct loop *loop, pid_t pid)
{
	unsigned i = 0;

	while (i < VIRTUAL_NAMED - 1 && loop->spinners[i].pid && loop->spinners[i].pid != pid)
		i++;
	return i;
}

/* Returns the CPU time for which a process may run before the clock advances (a forced round).
 * @has_work: its GPU has work, for which it may spin. */
static uint64_t patience(bool has_work, unsigned halved)
{
	uint64_t least = has_work ? SPIN_MIN_NS : COMPUTE_MIN_NS;
	uint64_t ns = (has_work ? SPIN_NS : COMPUTE_NS) >> halved;

	return ns > least ? ns : least;
}

/* Excludes from idle_check() the process that the loop waits for: it runs on while the loop waits
 * for all other processes. The last entry of loop->spinners always keeps its full time limit,
 * because it stands for several processes. */
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

/* Counts a forced round, in the total and for each process that excuse() has marked. If none is
 * marked, the round only ended a charge early (outruns_charge(); charges: time/page.h). */
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

/* Starts to wait for process @pid, which has used @cpu_ns of CPU time so far. */
static void wait_for(struct loop *loop, pid_t pid, uint64_t cpu_ns)
{
	loop->busy = pid;
	loop->busy_ns = cpu_ns;
	loop->since_ns = real_ns();
}

/* Excludes a process that has run for CHARGE_NS of CPU time from idle_check(), if the thread that
 * continues next only waits for the end of a charge (a delay, time/page.h). The process probably
 * spins until that thread acts, and once it is excluded the clock can advance to the end of the
 * charge. Returns true if the process was excluded. */
static bool outruns_charge(struct loop *loop, pid_t pid, uint64_t ns)
{
	if (!pid || ns < CHARGE_NS || !time_slots_charged_first(loop->sim->time))
		return false;
	loop->patience_ns = CHARGE_NS;
	idle_excuse(loop->idle, pid);
	wait_for(loop, 0, 0);
	return true;
}

/* Excludes a process that has run for too long from idle_check() in this round. Each time, this
 * halves the time limit of the process, because a process that does this repeatedly probably spins.
 * Returns true if the process that keeps the simulation busy is unknown and has been busy for too
 * long. */
static bool lose_patience(struct loop *loop)
{
	uint64_t cpu_ns;
	pid_t pid = idle_busy(loop->idle, &cpu_ns);
	bool has_work = pid && engine_has_work(loop->sim, pid);
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
	loop->storm_check_ns = real_ns() + STORM_CHECK_NS;
	loop->storm_cpu_ns = 0;
	loop->storm_created = 0;
}

/* Returns true if all processes together exceed the limits for a storm (many processes that
 * together keep the simulation busy). Each storm in a row halves these limits. */
static bool is_too_long(const struct loop *loop, uint64_t cpu_ns)
{
	int many = STORM_PROCESSES >> loop->storms;
	uint64_t most = loop->storm_created < many ? TOGETHER_NS : STORM_NS;

	return cpu_ns - loop->storm_cpu_ns >= most >> loop->storms ||
	       loop->storm_created > STORM_UNCOUNTED >> loop->storms;
}

/* Returns true if the simulation has been busy for long although no single process exceeds its
 * limit. The process with the most CPU time is named in the report. */
static bool is_storm(struct loop *loop)
{
	uint64_t now = real_ns(), cpu_ns;
	pid_t newest, culprit = 0;

	if (now < loop->storm_check_ns)
		return false;
	newest = idle_newest(loop->idle);
	loop->storm_check_ns = now + STORM_CHECK_NS;
	cpu_ns = idle_cpu(loop->idle, &culprit);
	/* The CPU time of a process that has ended is missing until its parent has waited for it,
	 * so the sum can decrease. */
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

/* Restores the full CPU-time limits: those of single processes without GPU work, and those of all
 * processes together. */
static void be_patient(struct loop *loop)
{
	for (unsigned i = 0; i < VIRTUAL_NAMED; i++)
		if (!loop->spinners[i].has_work)
			loop->spinners[i].halved = 0;
	loop->storms = 0;
}

/* Tries to prove that no thread can run (idle.h), and counts whether that succeeds. */
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

/* Returns true if a waiting call may be served now. With --seed, it must wait while threads run (at
 * most CALL_NS), so that only one thread, and those that it wakes, run at a time. */
static bool is_next(const struct loop *loop, bool idle)
{
	return idle || !loop->sim->config.seed || real_ns() - loop->since_ns > CALL_NS;
}

static void begin_round(struct loop *loop)
{
	wait_for(loop, 0, 0);
	loop->round_ns = loop->since_ns;
	expect_storm(loop);
}

/* Serves calls until no thread can run, except those of processes that have run for too long. */
static enum round wait_for_round(struct loop *loop)
{
	int called;

	begin_round(loop);
	excuse_none(loop);
	while ((called = is_called(loop)) >= 0) {
		bool idle = (!called || loop->sim->config.seed) && prove_idle(loop);

		if (called && is_next(loop, idle)) {
			if (loop->fds[FD_PROCESSES].revents)
				process_reap(loop->sim);
			else
				notify_serve(loop->sim);
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

/* Returns how far the clock may advance towards the first end of a wait. In a forced round it
 * advances no further than the process has run, as it would on a real machine. */
static uint64_t limit(const struct loop *loop, enum round round, uint64_t first)
{
	uint64_t most = clock_ns() + loop->patience_ns;

	return round == FORCED && first > most ? most : first;
}

/* Fires the first timer or ends the first wait, if that is due. Otherwise runs the clock to the
 * next event. Returns false if no event is left in the simulation. */
static bool let_happen(struct loop *loop, enum round round)
{
	struct sim *sim = loop->sim;
	uint64_t wait, timer;

	if (!engine_settle(sim))
		return true;
	wait = time_slots_first(sim->time);
	timer = timers_first(sim->timers);
	if (timer <= wait ? timers_fire(sim->timers) : time_slots_wake(sim->time)) {
		loop->counts->wakes++;
		return true;
	}
	return engine_until(sim, limit(loop, round, timer < wait ? timer : wait), round == FORCED);
}

/* Waits for @ns, or until the simulation makes a call. */
static void wait_for_outside(struct loop *loop, long ns)
{
	const struct timespec t = {0, ns};

	loop->counts->waits++;
	ppoll(loop->fds, FDS, &t, NULL);
}

/* Records that a process is stopped while time passes for the others. */
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

/* Records in the report an advance of the clock since @before_ns, if it is large, with the waits of
 * all threads. If the record lacks a thread's wait, the clock may have advanced too far. */
static void note_jump(struct loop *loop, uint64_t before_ns)
{
	struct virtual_counts *counts = loop->counts;
	uint64_t now = clock_ns(), start = loop->sim->start_ns;

	if (now - before_ns <= JUMP_NS)
		return;
	if (!counts->first_jumps)
		counts->first_jumps = json_array();
	if (counts->jumps++ < JUMPS)
		json_array_append_new(counts->first_jumps,
				      json_pack("{s:f, s:f, s:o}", "from_s",
						(double)(before_ns - start) / 1e9, "to_s",
						(double)(now - start) / 1e9, "threads",
						where_threads_wait(loop->sim, loop->idle)));
}

/* Reports a deadlock the first time that one is found: only an event from outside can wake a
 * thread. */
static void note_standstill(struct loop *loop)
{
	json_t *threads;

	if (loop->counts->standstill || !where_is_deadlock(loop->sim, loop->idle))
		return;
	threads = loop->counts->standstill = where_threads_wait(loop->sim, loop->idle);
	sim_log("the simulation is blocked: none of its %zu threads can run, and none waits for a "
		"time, so it continues only after an event from outside. The threads wait here:",
		json_array_size(threads));
	where_log(threads);
}

static void run(struct loop *loop)
{
	long outside_ns = OUTSIDE_MIN_NS;
	uint64_t before, since = 0;
	enum round round;

	while ((round = wait_for_round(loop)) != ENDED) {
		if (round == IDLE)
			bypass_check(loop->bypass, loop->idle);
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

/* Frees the slot and the timers of a thread that has ended. Called by idle.c. */
static void thread_ended(void *context, pid_t tid)
{
	const struct loop *loop = context;

	time_slots_end(loop->sim->time, tid);
	timers_end(loop->sim->timers, tid);
	bypass_end(loop->bypass, tid);
}

/*
 * CPU placement for a simulation whose threads take turns (kfdsim --seed). All of them share one
 * core, and each runs until it sleeps, so that threads that are runnable at the same instant run in
 * the order in which they were woken. A thread that runs for 100 ms without a sleep goes behind the
 * others (sched_rr_timeslice_ms). This needs the privilege to set a real-time priority. Without it
 * the threads are only not preempted by each other's wake-ups (SCHED_BATCH). The supervisor uses
 * the other cores. Failures are ignored.
 */

/* Returns the core with the highest number that the caller may use; -1 if it is unknown. */
static int core_of_sim(const cpu_set_t *allowed)
{
	for (int core = CPU_SETSIZE - 1; core >= 0; core--)
		if (CPU_ISSET(core, allowed))
			return core;
	return -1;
}

void cores_of_sim(void)
{
	const struct sched_param none = {0}, lowest = {.sched_priority = 1};
	cpu_set_t cores;
	int core = sched_getaffinity(0, sizeof(cores), &cores) ? -1 : core_of_sim(&cores);

	if (core >= 0) {
		CPU_ZERO(&cores);
		CPU_SET(core, &cores);
		sched_setaffinity(0, sizeof(cores), &cores);
	}
	/* Use round robin, not FIFO: a thread that spins until another thread acts would otherwise
	 * keep that thread from the core forever. */
	if (sched_setscheduler(0, SCHED_RR, &lowest))
		sched_setscheduler(0, SCHED_BATCH, &none);
}

/* Excludes the simulation's core from the calling thread's affinity, if there is another core. */
static void cores_of_supervisor(void)
{
	cpu_set_t cores;
	int core = sched_getaffinity(0, sizeof(cores), &cores) ? -1 : core_of_sim(&cores);

	if (core < 0 || CPU_COUNT(&cores) == 1)
		return;
	CPU_CLR(core, &cores);
	sched_setaffinity(0, sizeof(cores), &cores);
}

int virtual_loop(struct sim *sim, int stop_fd)
{
	struct loop loop = {
		.sim = sim,
		.idle = sim->idle,
		.counts = &sim->virtual,
		.fds = {[FD_LISTENER] = {.fd = sim->listener, .events = POLLIN},
			[FD_STOP] = {.fd = stop_fd, .events = POLLIN},
			[FD_PROCESSES] = {.fd = sim->poll_fd, .events = POLLIN}},
	};
	int r;

	idle_on_end(loop.idle, thread_ended, &loop);
	loop.bypass = bypass_new(sim->init);
	if (loop.bypass) {
		prctl(PR_SET_TIMERSLACK, 1000);
		if (sim->config.seed)
			cores_of_supervisor();
		run(&loop);
		bypass_log(loop.bypass);
		loop.counts->bypasses = bypass_json(loop.bypass);
	}
	r = loop.bypass ? 0 : -ENOMEM;
	bypass_free(loop.bypass);
	/* The report needs file descriptors. Free those of idle.c, because the limit may be low. */
	idle_close(sim->idle);
	sim->idle = NULL;
	return r;
}

void virtual_counts_free(struct virtual_counts *counts)
{
	json_decref(counts->first_jumps);
	json_decref(counts->standstill);
	json_decref(counts->bypasses);
}
