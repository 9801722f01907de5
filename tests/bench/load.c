// SPDX-License-Identifier: MIT
/*
 * Measures the costs of kfdschedd with 1,000 clients of 8 queues each on 8 nodes. Each client
 * starts and finishes work ten times a second; of the 125 clients of a node, one is online. For the
 * daemon the clients are real: each is a process with a socket and shared memory (`struct
 * client_shm`). This program makes all their changes in that memory. There is no GPU and no
 * runtime.
 *
 *   seen   the shim of no client can hold its process: the daemon scans and decides
 *   held   the daemon holds the offline clients by hold commands (level gate), which are carried
 *          out at once
 *
 * Measures also what a reload of the configuration (SIGHUP) costs the daemon's loop with 10, 100
 * and 1,000 quiet clients, if the file is the same.
 *
 * Every other second the clients' wakes go to another process, the floor: it waits for all of them
 * by epoll, reads each eventfd, and does nothing else.
 *
 *     bench_load KFDSCHEDD [seen|held|reload]    one part alone; without it: all
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/clock.h"
#include "common/json_util.h"
#include "kfd/topology.h"
#include "tests/bench/report.h"
#include "tests/bench/spent.h"

#define CLIENTS 1000u
#define QUEUES 8u
#define NODES 8u
#define PER_NODE (CLIENTS / NODES)
#define PERIOD_NS 100000000u
#define WARM_S 2
#define TURNS 10 /* of the daemon and of the bare process, for one second each */
#define QUERIES 15
#define RELOADS 20 /* in one second */
#define RELOAD_TURNS 5
#define GROWTH 3
#define WAIT_MS 10000

struct one {
	pid_t pid;
	struct client_shm *shm;
	const struct daemon_shm *daemon_shm;
	int wake_fd, socket; /* `socket`: the daemon wakes the client by it */
	int bare_fd;	     /* an eventfd that wakes the bare process */
	uint32_t node;
	bool active;
};

static struct one clients[CLIENTS];
/* the changes of a period, sorted by time; client: modulo CLIENTS */
static uint32_t due_of[2 * CLIENTS];
static uint64_t at[2 * CLIENTS]; /* time of a change in the period, ns */
static char directory[] = "/tmp/kfdshim-load-XXXXXX";
static char path[64], config[64];
static uint32_t started; /* clients that run */
static uint32_t gpu_ids[NODES];
static pid_t daemon_pid, worker_pid;
static pid_t bare_pid;
static volatile bool ending, to_bare; /* to_bare: wakes go to the bare process */

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s failed: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- clients ---- */

/* Wakes the daemon if it sleeps, as the agent does. */
static void wake(const struct one *one)
{
	uint64_t count = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&one->daemon_shm->asleep, __ATOMIC_RELAXED))
		(void)!write(one->wake_fd, &count, sizeof(count));
}

/* Changes the client's activity and wakes the daemon, or only wakes the bare process. */
static void change(struct one *one)
{
	const uint64_t count = 1;

	if (to_bare) {
		(void)!write(one->bare_fd, &count, sizeof(count));
		return;
	}
	one->active = !one->active;
	client_shm_node_set(one->shm, one->node, one->active, clock_ns());
	wake(one);
}

/* The client's process: registers with the daemon, passes the file descriptors on to this program,
 * and waits to be killed. */
static void be_client(const struct protocol_hello *hello, int parent)
{
	struct protocol_welcome welcome;
	int fds[PROTOCOL_WELCOME_FDS], fd = -EAGAIN;
	size_t nfds = PROTOCOL_WELCOME_FDS;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 1000 && (fd = protocol_connect(path)) < 0; i++)
		usleep(10000);
	must(fd >= 0 && !protocol_send(fd, hello, sizeof(*hello), NULL, 0) &&
		     !protocol_receive(fd, &welcome, sizeof(welcome), fds, &nfds, WAIT_MS) &&
		     welcome.status == 0 && nfds == PROTOCOL_WELCOME_FDS &&
		     !protocol_send(parent, &welcome, sizeof(welcome), fds, nfds) &&
		     !protocol_send(parent, &welcome, sizeof(welcome), &fd, 1),
	     "registering a client");
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	for (;;)
		pause();
}

static void start_client(uint32_t i, enum protocol_level level)
{
	struct one *one = &clients[i];
	struct protocol_hello hello = {.magic = PROTOCOL_MAGIC,
				       .version = PROTOCOL_VERSION,
				       .kind = PROTOCOL_SHIM,
				       .priority = i < NODES ? PRIORITY_ONLINE : PRIORITY_OFFLINE,
				       .level = level};
	struct protocol_welcome welcome;
	int ends[2], fds[PROTOCOL_WELCOME_FDS];
	size_t nfds = PROTOCOL_WELCOME_FDS, sockets = 1;

	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
	one->pid = fork();
	must(one->pid >= 0, "fork");
	if (one->pid == 0)
		be_client(&hello, ends[1]);
	close(ends[1]);
	must(!protocol_receive(ends[0], &welcome, sizeof(welcome), fds, &nfds, WAIT_MS) &&
		     nfds == PROTOCOL_WELCOME_FDS && !client_shm_map(fds[0], &one->shm) &&
		     !daemon_shm_map(fds[1], &one->daemon_shm) &&
		     !protocol_receive(ends[0], &welcome, sizeof(welcome), &one->socket, &sockets,
				       WAIT_MS),
	     "a client's lane");
	close(ends[0]);
	close(fds[0]);
	close(fds[1]);
	one->wake_fd = fds[2];
	one->active = false;
	for (uint32_t q = 0; q < QUEUES; q++)
		client_shm_queue_write(one->shm, q,
				       &(struct client_shm_queue){.used = 1,
								  .queue_id = q,
								  .gpu_id = gpu_ids[i % NODES],
								  .type = 2,
								  .priority = 7,
								  .percent = 100});
	one->node = (uint32_t)client_shm_node_slot(one->shm, gpu_ids[i % NODES]);
	wake(one);
	started = i + 1;
}

static void end_clients(void)
{
	for (uint32_t i = 0; i < started; i++) {
		kill(clients[i].pid, SIGKILL);
		waitpid(clients[i].pid, NULL, 0);
		client_shm_unmap(clients[i].shm);
		daemon_shm_unmap(clients[i].daemon_shm);
		close(clients[i].wake_fd);
		close(clients[i].socket);
	}
}

/* ---- their work ---- */

static int by_time(const void *a, const void *b)
{
	uint64_t x = at[*(const uint32_t *)a], y = at[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

/* Plans one change of each client at a random time of the period, and the opposite one half a
 * period later. */
static void plan(void)
{
	srandom(5);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		at[i] = (uint64_t)random() % PERIOD_NS;
		at[CLIENTS + i] = (at[i] + PERIOD_NS / 2) % PERIOD_NS;
	}
	for (uint32_t i = 0; i < 2 * CLIENTS; i++)
		due_of[i] = i;
	qsort(due_of, 2 * CLIENTS, sizeof(*due_of), by_time);
}

static void sleep_until(uint64_t ns)
{
	const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
				   .tv_nsec = (long)(ns % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *toggle_all(void *count)
{
	uint64_t begin = clock_ns(), *changes = count;

	for (uint64_t period = 0; !ending; period++)
		for (uint32_t i = 0; i < 2 * CLIENTS && !ending; i++) {
			struct one *one = &clients[due_of[i] % CLIENTS];
			uint64_t due = begin + period * PERIOD_NS + at[due_of[i]];

			if (due > clock_ns())
				sleep_until(due);
			change(one);
			__atomic_add_fetch(changes, 1, __ATOMIC_RELAXED);
		}
	return NULL;
}

/* Carries out every hold command at once. */
static void *obey_all(void *count)
{
	struct epoll_event events[64];
	int epoll = epoll_create1(EPOLL_CLOEXEC), n;
	uint64_t *hold_cmds = count;
	char bytes[64];

	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

		must(!epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].socket, &event), "epoll");
	}
	while (!ending) {
		n = epoll_wait(epoll, events, 64, 100);
		for (int i = 0; i < n; i++) {
			struct one *one = &clients[events[i].data.u32];

			while (recv(one->socket, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
				continue;
			__atomic_store_n(&one->shm->hold_cmd_done,
					 __atomic_load_n(&one->shm->hold_cmd, __ATOMIC_ACQUIRE),
					 __ATOMIC_RELEASE);
			wake(one);
			__atomic_add_fetch(hold_cmds, 1, __ATOMIC_RELAXED);
		}
	}
	close(epoll);
	return NULL;
}

/* ---- the floor of the wakes ---- */

static void be_bare(void)
{
	struct epoll_event events[64];
	int epoll = epoll_create1(EPOLL_CLOEXEC), n;
	uint64_t count;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = clients[i].bare_fd};

		must(!epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].bare_fd, &event), "epoll");
	}
	for (;;) {
		n = epoll_wait(epoll, events, 64, -1);
		for (int i = 0; i < n; i++)
			(void)!read(events[i].data.fd, &count, sizeof(count));
	}
}

static void start_bare(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i].bare_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		must(clients[i].bare_fd >= 0, "eventfd");
	}
	bare_pid = fork();
	must(bare_pid >= 0, "fork");
	if (bare_pid == 0)
		be_bare();
}

/* ---- the daemon ---- */

/* Returns the daemon's state. The caller owns it. */
static json_t *query(void)
{
	const struct protocol_hello hello = {.magic = PROTOCOL_MAGIC,
					     .version = PROTOCOL_VERSION,
					     .kind = PROTOCOL_QUERY,
					     .priority = PRIORITY_UNSET};
	json_t *state;
	char *text = NULL;
	int fd = -1;

	for (int i = 0; i < 1000 && (fd = protocol_connect(path)) < 0; i++)
		usleep(10000);
	must(fd >= 0 && !protocol_send(fd, &hello, sizeof(hello), NULL, 0) &&
		     !protocol_receive_text(fd, &text, SIZE_MAX / 4, WAIT_MS) && text,
	     "asking the daemon");
	close(fd);
	state = json_loads(text, 0, NULL);
	free(text);
	must(state != NULL, "reading the daemon's answer");
	return state;
}

static void write_config(void)
{
	FILE *file;

	snprintf(config, sizeof(config), "%s/kfdschedd.ini", directory);
	file = fopen(config, "we");
	must(file && fputs("[scheduler]\nslow_suspend = 50ms\n", file) >= 0 && fclose(file) == 0,
	     "writing the configuration");
}

static void start_daemon(const char *program)
{
	json_t *state;

	daemon_pid = fork();
	must(daemon_pid >= 0, "fork");
	if (daemon_pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, STDERR_FILENO);
		execl(program, program, "--foreground", "--socket", path, "--config", config,
		      (char *)NULL);
		_exit(127);
	}
	state = query();
	worker_pid = (pid_t)json_integer_value(
		json_object_get(json_object_get(state, "daemon"), "worker_pid"));
	json_decref(state);
	must(worker_pid > 0, "finding the worker");
}

/* Returns the peak of the resident memory, including shared pages. */
static double peak_mib(pid_t pid)
{
	char name[64], line[128];
	double kib = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lf", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib / 1024;
}

/* Reads the histogram of the durations of the daemon's loop iterations. Takes ownership of
 * `state`. */
static void take_turns(json_t *state, struct hist *out)
{
	must(!hist_from_json(json_object_get(json_object_get(state, "totals"), "loop_ns"), out),
	     "reading loop_ns");
	json_decref(state);
}

/* Returns the ms that it takes to write the same reply in one go. */
static double dump_ms(const json_t *state)
{
	uint64_t begin = clock_ns();
	char *text = json_dumps(state, JSON_COMPACT);

	must(text != NULL, "writing the daemon's state");
	free(text);
	return (double)(clock_ns() - begin) / 1e6;
}

/* Measures the longest iteration of the daemon's loop while the daemon writes the status of all
 * clients, alternately with the time to write the same reply in one go. A reply contains the
 * iterations before it was begun; those in which it was made are in the next reply. */
static void measure_queries(struct bench *bench)
{
	double ms[QUERIES], longest[QUERIES], at_once[QUERIES];
	struct hist before, after, meanwhile;

	take_turns(query(), &before);
	for (int i = 0; i < QUERIES; i++) {
		uint64_t begin = clock_ns();
		json_t *state = query();

		ms[i] = (double)(clock_ns() - begin) / 1e6;
		at_once[i] = dump_ms(state);
		take_turns(state, &after);
		meanwhile = after;
		hist_subtract(&meanwhile, &before);
		before = after;
		longest[i] = (double)meanwhile.max / 1e6;
	}
	bench_figure(bench, "status of all: the loop's longest turn meanwhile, median of 15",
		     bench_median(longest, QUERIES), "ms", NULL, 0);
	bench_figure(bench, "... to write the same at once", bench_median(at_once, QUERIES), "ms",
		     NULL, 0);
	/* The loop limits an iteration to one millisecond of wall time, so an iteration in which
	 * the daemon had to wait for a core is meaningless. Compare the minima; bench_median() has
	 * sorted both arrays. */
	bench_figure(bench, "... longest turn / writing it at once, the least of each",
		     longest[0] / at_once[0], "x", "at_most", 0.75);
	bench_figure(bench, "status of all: until it is answered", bench_median(ms, QUERIES), "ms",
		     NULL, 0);
}

static double daemon_cpu_ns(void)
{
	return spent_cpu_ns(worker_pid) + spent_cpu_ns(daemon_pid);
}

/* Returns the CPU time of the worker in a second, in which the configuration is read again
 * `reloads` times; ns. */
static double reloading(unsigned reloads)
{
	uint64_t begin = clock_ns();
	double before = spent_cpu_ns(worker_pid);

	for (unsigned i = 1; i <= RELOADS; i++) {
		if (i <= reloads)
			must(!kill(daemon_pid, SIGHUP), "SIGHUP");
		sleep_until(begin + i * (UINT64_C(1000000000) / RELOADS));
	}
	return spent_cpu_ns(worker_pid) - before;
}

/* Returns the CPU time of one reload with this number of clients, us, without what the worker takes
 * meanwhile for other reasons. */
static double reload_us(struct bench *bench, uint32_t number)
{
	double us[RELOAD_TURNS], idle;
	char title[96];

	for (uint32_t i = 0; i < number; i++)
		start_client(i, PROTOCOL_LEVEL_AUTO);
	sleep(WARM_S);
	for (int i = 0; i < RELOAD_TURNS; i++) {
		idle = reloading(0);
		us[i] = (reloading(RELOADS) - idle) / 1e3 / RELOADS;
	}
	end_clients();
	snprintf(title, sizeof(title), "a reload with %u clients: CPU time of the loop", number);
	bench_figure(bench, title, bench_median(us, RELOAD_TURNS), "us", NULL, 0);
	return us[RELOAD_TURNS / 2];
}

static void measure_reloads(struct bench *bench)
{
	double few = reload_us(bench, 10), many;

	reload_us(bench, 100);
	many = reload_us(bench, CLIENTS);
	bench_figure(bench, "a reload: the growth from 10 clients to 1,000", many / few, "x",
		     "at_most", GROWTH);
}

/* Wakes the daemon or the bare process for one second. Returns its share of a core in percent. */
static double run_round(bool bare)
{
	double before;
	uint64_t from;

	to_bare = bare;
	from = clock_ns();
	before = bare ? spent_cpu_ns(bare_pid) : daemon_cpu_ns();
	sleep(1);
	return 100 * ((bare ? spent_cpu_ns(bare_pid) : daemon_cpu_ns()) - before) /
	       (double)(clock_ns() - from);
}

static void measure(struct bench *bench, const char *name, double most, const uint64_t *changes,
		    const uint64_t *hold_cmds)
{
	double share[TURNS], bare[TURNS], ratio, seconds;
	uint64_t begin, changed, hold_cmds_before;
	char title[128];

	sleep(WARM_S);
	changed = __atomic_load_n(changes, __ATOMIC_RELAXED);
	hold_cmds_before = __atomic_load_n(hold_cmds, __ATOMIC_RELAXED);
	begin = clock_ns();
	for (int i = 0; i < TURNS; i++) {
		share[i] = run_round(false);
		bare[i] = run_round(true);
	}
	to_bare = false;
	seconds = (double)(clock_ns() - begin) / 1e9;
	ratio = bench_ratio(share, bare, TURNS);
	snprintf(title, sizeof(title), "%s: the daemon, median of %d seconds", name, TURNS);
	bench_figure(bench, title, bench_median(share, TURNS), "% of a core", NULL, 0);
	snprintf(title, sizeof(title), "%s: a process that only takes the wakes", name);
	bench_figure(bench, title, bench_median(bare, TURNS), "% of a core", NULL, 0);
	snprintf(title, sizeof(title), "%s: the daemon / that process", name);
	bench_figure(bench, title, ratio, "x", most > 0 ? "at_most" : NULL, most);
	snprintf(title, sizeof(title), "%s: changes a second", name);
	bench_figure(bench, title, (double)(*changes - changed) / seconds, "/s", NULL, 0);
	snprintf(title, sizeof(title), "%s: orders a second of the daemon's", name);
	bench_figure(bench, title, (double)(*hold_cmds - hold_cmds_before) * 2 / seconds, "/s",
		     NULL, 0);
	bench_series(bench, name, "% of a core", share, TURNS);
}

static void with_clients(struct bench *bench, const char *name, enum protocol_level level,
			 double most)
{
	static uint64_t changes, hold_cmds;
	pthread_t toggler, obeyer;

	for (uint32_t i = 0; i < CLIENTS; i++)
		start_client(i, level);
	ending = false;
	must(!pthread_create(&toggler, NULL, toggle_all, &changes) &&
		     !pthread_create(&obeyer, NULL, obey_all, &hold_cmds),
	     "a thread");
	measure(bench, name, most, &changes, &hold_cmds);
	if (level == PROTOCOL_LEVEL_AUTO)
		measure_queries(bench);
	ending = true;
	pthread_join(toggler, NULL);
	pthread_join(obeyer, NULL);
	end_clients();
}

static bool is_wanted(const char *only, const char *part)
{
	return !only || strcmp(only, part) == 0;
}

int main(int argc, char **argv)
{
	struct topology_gpu gpus[NODES];
	struct rlimit files;
	struct bench bench;
	bool real;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: bench_load KFDSCHEDD [seen|held|reload]\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	must(mkdtemp(directory) != NULL, "mkdtemp");
	snprintf(path, sizeof(path), "%s/socket", directory);
	real = topology_gpus(gpus, NODES) == NODES;
	for (uint32_t i = 0; i < NODES; i++)
		gpu_ids[i] = real ? gpus[i].gpu_id : 100 + i;
	plan();
	bench_begin(&bench, "load", "kfdschedd with 1,000 clients");
	start_bare();
	write_config();
	start_daemon(argv[1]);
	if (is_wanted(argv[2], "reload"))
		measure_reloads(&bench);
	if (is_wanted(argv[2], "seen"))
		with_clients(&bench, "seen", PROTOCOL_LEVEL_AUTO, 3);
	if (is_wanted(argv[2], "held"))
		with_clients(&bench, "held", PROTOCOL_LEVEL_GATE, 0);
	bench_figure(&bench, "memory at its peak, watchdog and worker",
		     peak_mib(daemon_pid) + peak_mib(worker_pid), "MiB", "at_most", 64);
	kill(daemon_pid, SIGTERM);
	waitpid(daemon_pid, NULL, 0);
	kill(bare_pid, SIGKILL);
	waitpid(bare_pid, NULL, 0);
	unlink(config);
	rmdir(directory);
	return bench_end(&bench);
}
