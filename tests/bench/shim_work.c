// SPDX-License-Identifier: MIT
/*
 * One process with AMD's runtime that measures itself. bench_shim starts it with libkfdshim.so,
 * without it, or with another tool. It writes the structs of shim_work.h to stdout.
 *
 *     bench_shim_work round               struct shim_round, without the agent
 *     bench_shim_work agent               the same with the agent, and a stub of the daemon
 *     bench_shim_work held                the same with the agent and without a daemon; memory and
 *                                         threads are counted while it is on hold for a peer
 *     bench_shim_work start|start-agent   struct shim_start, without and with a stub of the daemon
 *     bench_shim_work doorbells|dispatches     what callgrind counts, and nothing else
 *     bench_shim_work peer                has an open request for as long as it lives
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/gpu.h"
#include "tests/bench/shim_work.h"
#include "tests/bench/stub_daemon.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH /* since Linux 5.11 */
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

#define QUEUES 14 /* with the two that exist before, the runtime's and this program's: 16 */
#define HOLD_TRIES 40
#define RING 1024u
#define SIGNAL_VALUE 8 /* offset of the value in an amd_signal_t */
#define EARLY_MOST (20 * IDLES)
#define IDLE_NS 5000000000ull /* time limit within which a node without work becomes idle */

static hsa_agent_t gpu;
static hsa_queue_t *queue;
static hsa_signal_t gate, done;
static const hsa_signal_t none;
static bool agent_expected;

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "bench_shim: %s\n", what);
	exit(1);
}

static double thread_cpu_ms(void)
{
	return (double)clock_of(CLOCK_THREAD_CPUTIME_ID) / 1e6;
}

/* Initialises the runtime and creates the queue. Returns the duration. */
static struct shim_start begin(void)
{
	struct shim_start took;

	double cpu_ms = thread_cpu_ms();
	uint64_t start = clock_ns();

	gpu_must(hsa_init(), "hsa_init");
	gpu = gpu_first();
	queue = gpu_queue(gpu, RING);
	took.ms = (double)(clock_ns() - start) / 1e6;
	took.cpu_ms = thread_cpu_ms() - cpu_ms;
	gpu_must(hsa_signal_create(1, 0, NULL, &gate), "hsa_signal_create");
	gpu_must(hsa_signal_create(1, 0, NULL, &done), "hsa_signal_create");
	return took;
}

/* Submits a barrier packet: slot, packet and doorbell. */
static void submit(hsa_signal_t wait_for, hsa_signal_t completion)
{
	uint64_t at = hsa_queue_add_write_index_screlease(queue, 1);

	gpu_barrier(queue, at, wait_for, completion);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)at);
}

/* Submits a packet that waits, so that work is pending until finish(). */
static void stand(void)
{
	hsa_signal_store_relaxed(gate, 1);
	submit(gate, none);
}

/* Lets the packet of stand() complete, and waits until the queue is drained. */
static void finish(void)
{
	hsa_signal_store_relaxed(done, 1);
	submit(none, done);
	hsa_signal_store_relaxed(gate, 0);
	hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_ACTIVE);
}

void counted_doorbells(uint64_t value, unsigned n);
void counted_dispatches(unsigned n);

__attribute__((noinline)) void counted_doorbells(uint64_t value, unsigned n)
{
	while (n-- > 0)
		hsa_signal_store_relaxed(queue->doorbell_signal, (hsa_signal_value_t)value);
}

__attribute__((noinline)) void counted_dispatches(unsigned n)
{
	while (n-- > 0)
		submit(none, none);
}

/* Returns the shortest of many batches: the time that a doorbell takes without interruptions. */
static double doorbell_ns(void)
{
	uint64_t at = hsa_queue_load_write_index_relaxed(queue) - 1, start, ns, least = UINT64_MAX;

	for (unsigned b = 0; b < 200; b++) {
		start = clock_ns();
		counted_doorbells(at, COUNTED_N);
		ns = clock_ns() - start;
		least = ns < least ? ns : least;
	}
	return (double)least / COUNTED_N;
}

static void dispatches(double *ns)
{
	uint64_t start;

	for (unsigned b = 0; b < BATCHES; b++) {
		stand();
		start = clock_ns();
		counted_dispatches(BATCH);
		ns[b] = (double)(clock_ns() - start) / BATCH;
		finish();
	}
}

static volatile sig_atomic_t calls;
static volatile char selector;

static void count_call(int number)
{
	(void)number;
	calls++;
	selector = 0; /* allow system calls, of which sigreturn is the next */
}

/* Returns the number of system calls in SILENT_N doorbells. Each system call of this thread becomes
 * a signal (syscall user dispatch). A system call at the end proves that the counter works. */
static double system_calls(void)
{
	struct sigaction action = {.sa_handler = count_call};
	uint64_t at = hsa_queue_load_write_index_relaxed(queue) - 1;
	int found;

	sigaction(SIGSYS, &action, NULL);
	calls = 0;
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector)) {
		perror("bench_shim: PR_SET_SYSCALL_USER_DISPATCH");
		exit(1);
	}
	selector = 1;
	counted_doorbells(at, SILENT_N);
	found = calls;
	selector = 1;
	syscall(SYS_getppid);
	selector = 0;
	prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0);
	if (calls != found + 1)
		fail("system calls are not counted");
	return found;
}

/* Returns whether all queues are idle. The agent publishes a queue that waited at a barrier as
 * blocked, and its node as idle, until the agent's next poll. A burst of work before that poll
 * would not change the node's activity. */
static bool all_drained(const struct client_shm *shm)
{
	struct client_shm_queue q;
	int rc;

	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++) {
		rc = client_shm_queue_read(shm, i, &q);
		if (rc != -ENOENT && (rc || q.state != CLIENT_SHM_QUEUE_IDLE))
			return false;
	}
	return true;
}

/* Waits until the node is idle and its activity has changed at least `changes` times. Returns the
 * number of changes so far; *idle_ns: when the node became idle. */
static uint64_t await_idle(const struct client_shm *shm, uint64_t changes, uint64_t *idle_ns)
{
	uint64_t until = clock_ns() + IDLE_NS;
	struct client_shm_node node;

	do {
		if (clock_ns() > until)
			fail("work began and ended, but the lane does not say so");
		if (client_shm_node_read(shm, 0, &node))
			fail("the lane has no node");
	} while (node.activity & 1 || node.activity >> 1 < changes);
	*idle_ns = node.idle_ns;
	return node.activity >> 1;
}

static struct {
	pthread_t thread;
	int fd; /* an eventfd */
	uint64_t awake_ns;
} sleeper;

/* The thread that is woken. */
static void *sleep_and_wake(void *arg)
{
	uint64_t count;

	while (read(sleeper.fd, &count, sizeof count) == sizeof count)
		__atomic_store_n(&sleeper.awake_ns, clock_ns(), __ATOMIC_RELEASE);
	return arg;
}

/* Returns the time in us from a write() to the return of a sleeping thread's read(). */
static double bare_wake_us(void)
{
	uint64_t one = 1, before, awake_ns;

	usleep(1000); /* until the thread sleeps */
	__atomic_store_n(&sleeper.awake_ns, 0, __ATOMIC_RELEASE);
	before = clock_ns();
	if (write(sleeper.fd, &one, sizeof one) != sizeof one)
		fail("a thread cannot be woken");
	while (!(awake_ns = __atomic_load_n(&sleeper.awake_ns, __ATOMIC_ACQUIRE)))
		sched_yield();
	return (double)(awake_ns - before) / 1e3;
}

static void start_sleeper(void)
{
	sleeper.fd = eventfd(0, EFD_CLOEXEC);
	if (sleeper.fd < 0 || pthread_create(&sleeper.thread, NULL, sleep_and_wake, NULL))
		fail("no thread can be started");
}

static void end_sleeper(void)
{
	pthread_cancel(sleeper.thread); /* interrupts its read() */
	pthread_join(sleeper.thread, NULL);
	close(sleeper.fd);
}

/* Measures IDLES ends of work. Each burst has completed before the wait, so that the runtime's wait
 * returns at once and only the agent's work after it is measured. If this thread had to wait for a
 * CPU in between, the sampler may have found the end first, which is a different path. Such a burst
 * is counted in idles_early and repeated. */
static void idles(const struct client_shm *shm, struct shim_round *round)
{
	const int64_t *value = (const int64_t *)(uintptr_t)(done.handle + SIGNAL_VALUE);
	uint64_t changes, before, idle_ns;
	unsigned n = 0;

	for (uint64_t until = clock_ns() + IDLE_NS; !all_drained(shm);)
		if (clock_ns() > until)
			fail("all work is over, but a queue is not idle in the lane");
	changes = await_idle(shm, 0, &idle_ns);
	start_sleeper();
	while (n < IDLES) {
		hsa_signal_store_relaxed(done, 1);
		submit(none, done);
		while (__atomic_load_n(value, __ATOMIC_ACQUIRE) > 0)
			sched_yield();
		before = clock_ns();
		hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
					  HSA_WAIT_STATE_ACTIVE);
		/* Two changes: active, and idle again. */
		changes = await_idle(shm, changes + 2, &idle_ns);
		if (idle_ns >= before) {
			round->idle_us[n] = (double)(idle_ns - before) / 1e3;
			round->bare_us[n++] = bare_wake_us();
		} else if (++round->idles_early > EARLY_MOST) {
			fail("idleness is found before the wait, again and again");
		}
	}
	end_sleeper();
}

/* Returns the memory in KiB that the process has written to, private and shared. */
static double memory_kib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	char line[128];
	double kib = 0, part;

	if (!f)
		fail("/proc/self/smaps_rollup cannot be opened");
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "Private_Dirty: %lf", &part) == 1 ||
		    sscanf(line, "Shared_Dirty: %lf", &part) == 1)
			kib += part;
	fclose(f);
	if (kib <= 0)
		fail("/proc/self/smaps_rollup says that nothing was written to");
	return kib;
}

/* The resources that a thread has used: CPU time, and voluntary context switches. */
struct spent {
	double cpu_ns, wakes;
};

static struct spent spent_by(const char *task)
{
	struct spent s = {0, -1};
	char path[320], line[128];
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%lf", &s.cpu_ns) != 1 || s.cpu_ns <= 0)
		fail("schedstat does not say what CPU time the agent's thread had");
	fclose(f);
	snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
	f = fopen(path, "re");
	while (f && s.wakes < 0 && fgets(line, sizeof line, f))
		sscanf(line, "voluntary_ctxt_switches: %lf", &s.wakes);
	if (!f || s.wakes < 0)
		fail("status does not say how often the agent's thread slept");
	fclose(f);
	return s;
}

/* Returns the number of threads. *agent: the resources of the agent's thread. It must exist exactly
 * if libkfdshim.so is there, because otherwise 0 would be taken for the agent's costs. */
static double threads(struct spent *agent)
{
	DIR *dir = opendir("/proc/self/task");
	char path[320], name[32];
	struct dirent *entry;
	bool found = false;
	double n = 0;
	FILE *f;

	*agent = (struct spent){0};
	if (!dir)
		fail("/proc/self/task cannot be opened");
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		n++;
		snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
		f = fopen(path, "re");
		if (f && fgets(name, sizeof name, f) && !strcmp(name, "kfdshim\n")) {
			*agent = spent_by(entry->d_name);
			found = true;
		}
		if (f)
			fclose(f);
	}
	closedir(dir);
	if (found != agent_expected)
		fail(found ? "a thread is named kfdshim, in a process without the shim"
			   : "no thread is named kfdshim, in a process with the shim");
	return n;
}

/* Measures the agent's thread for `us` microseconds: % of a core, and wakes per second. */
static void share(unsigned us, double *percent, double *wakes)
{
	uint64_t start = clock_ns();
	struct spent before, after;
	double ns;

	threads(&before);
	usleep(us);
	threads(&after);
	ns = (double)(clock_ns() - start);
	*percent = 100 * (after.cpu_ns - before.cpu_ns) / ns;
	*wakes = (after.wakes - before.wakes) * 1e9 / ns;
}

/* Returns the share, in % of a core, of a thread that wakes as often and does nothing. Measured
 * with the calling thread in half a second. */
static double bare_share(double wakes_a_second)
{
	unsigned n = (unsigned)(wakes_a_second / 2 + 0.5);
	double cpu_ms;

	if (!n)
		return 0;
	cpu_ms = thread_cpu_ms();
	for (unsigned i = 0; i < n; i++)
		usleep((useconds_t)(1e6 / wakes_a_second));
	return 100 * (thread_cpu_ms() - cpu_ms) / n * wakes_a_second / 1e3;
}

/* A second thread, as most programs have one, because some system calls are slower then. */
static void *other_thread(void *arg)
{
	pause();
	return arg;
}

/* Work is pending in all queues but the runtime's own, until finish(). */
static void stand_all(hsa_queue_t *const *queues)
{
	hsa_queue_t *first = queue;

	stand();
	for (int i = 0; i < QUEUES; i++) {
		queue = queues[i];
		submit(gate, none);
	}
	queue = first;
}

/* Starts a peer of higher priority, which lives until it is killed. From then on this process holds
 * itself, which shows in that a packet without a dependency is not executed. Returns the peer's
 * pid. */
static pid_t hold(hsa_queue_t *const *queues)
{
	char *command[] = {"/proc/self/exe", "peer", NULL};
	extern char **environ;
	pid_t pid;

	setenv("KFDSHIM_PRIORITY", "online", 1);
	if (posix_spawn(&pid, command[0], NULL, NULL, command, environ))
		fail("no peer can be started");
	for (int i = 0; i < HOLD_TRIES; i++) {
		usleep(50000);
		hsa_signal_store_relaxed(done, 1);
		submit(none, done);
		hsa_signal_store_relaxed(gate, 0);
		usleep(50000);
		if (hsa_signal_load_scacquire(done) == 1)
			return pid;
		stand_all(queues);
	}
	kill(pid, SIGKILL);
	fail("it does not hold itself for a peer");
}

/* Ends the peer, and waits until this process has released itself. */
static void release(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_BLOCKED);
}

static int be_peer(void)
{
	void (*request_begin)(void);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	*(void **)&request_begin = dlsym(RTLD_DEFAULT, "kfdshim_request_begin");
	if (!request_begin)
		return 1;
	begin();
	request_begin();
	pause();
	return 0;
}

static int start(bool agent)
{
	struct shim_start took;
	pthread_t thread;

	if (pthread_create(&thread, NULL, other_thread, NULL))
		return 1;
	if (agent)
		stub_daemon_open();
	took = begin();
	return fwrite(&took, sizeof took, 1, stdout) != 1;
}

static int measure(bool agent, bool held)
{
	struct shim_round round = {0};
	const struct client_shm *shm = NULL;
	hsa_queue_t *queues[QUEUES];
	pthread_t thread;
	pid_t peer = 0;
	struct spent unused;

	agent_expected = agent || held;
	if (pthread_create(&thread, NULL, other_thread, NULL))
		return 1;
	if (agent)
		stub_daemon_open();
	begin();
	if (agent)
		shm = stub_daemon_accept();
	usleep(20000); /* until the agent's thread has started */
	stand();
	round.doorbell_ns = doorbell_ns();
	round.system_calls = system_calls();
	finish();
	dispatches(round.dispatch_ns);
	if (agent)
		idles(shm, &round);
	for (int i = 0; i < QUEUES; i++)
		queues[i] = gpu_queue(gpu, RING);
	usleep(200000);
	share(500000, &round.quiet_share, &round.quiet_wakes);
	round.bare_quiet_share = bare_share(round.quiet_wakes);
	stand_all(queues);
	usleep(200000);
	share(500000, &round.busy_share, &round.busy_wakes);
	if (agent_expected && (round.quiet_wakes <= 0 || round.busy_wakes <= 0))
		fail("the agent's thread does not wake beside 16 queues");
	round.bare_busy_share = bare_share(round.busy_wakes);
	if (held)
		peer = hold(queues);
	round.memory_kib = memory_kib();
	round.threads = threads(&unused);
	if (held)
		release(peer);
	else
		finish();
	/* hsa_shut_down() of ROCr 5.2.3 does not destroy the program's queues, but leaves them to
	 * the driver. */
	for (int i = 0; i < QUEUES; i++)
		gpu_must(hsa_queue_destroy(queues[i]), "hsa_queue_destroy");
	gpu_must(hsa_queue_destroy(queue), "hsa_queue_destroy");
	gpu_must(hsa_signal_destroy(gate), "hsa_signal_destroy");
	gpu_must(hsa_signal_destroy(done), "hsa_signal_destroy");
	gpu_must(hsa_shut_down(), "hsa_shut_down");
	usleep(300000); /* until the agent's thread has found no queue left, and sleeps */
	share(200000, &round.none_share, &round.none_wakes);
	return fwrite(&round, sizeof round, 1, stdout) != 1;
}

static int count(bool doorbells)
{
	begin();
	stand();
	if (doorbells) {
		uint64_t at = hsa_queue_load_write_index_relaxed(queue) - 1;

		hsa_signal_store_relaxed(queue->doorbell_signal, (hsa_signal_value_t)at);
		counted_doorbells(at, COUNTED_N);
	} else {
		submit(none, none);
		counted_dispatches(BATCH);
	}
	finish();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "doorbells") || !strcmp(argv[1], "dispatches"))
		return count(!strcmp(argv[1], "doorbells"));
	if (!strcmp(argv[1], "peer"))
		return be_peer();
	if (!strcmp(argv[1], "start") || !strcmp(argv[1], "start-agent"))
		return start(!strcmp(argv[1], "start-agent"));
	return measure(!strcmp(argv[1], "agent"), !strcmp(argv[1], "held"));
}
