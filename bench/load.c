// SPDX-License-Identifier: MIT
/*
 * What kfdschedd takes with 1,000 clients of 8 queues each on 8 nodes, each beginning
 * and ending work ten times a second: 125 clients a node, one of them online. The clients
 * are real to the daemon, a process with a socket and a lane each; what they do with
 * their lanes one program does for all of them. Nobody has a GPU or a runtime.
 *
 *   seen   as shims have it whose processes cannot be held: the daemon sees and decides
 *   held   the others are held by orders (level gate), which are obeyed at once
 *
 *     bench_load KFDSCHEDD
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/figures.h"
#include "channel/protocol.h"
#include "common/clock.h"
#include "common/hist_json.h"
#include "scheduler/kfd/device.h"

#define CLIENTS 1000u
#define QUEUES 8u
#define NODES 8u
#define PER_NODE (CLIENTS / NODES)
#define PERIOD_NS 100000000u
#define WARM_S 2
#define SECONDS 10
#define ASKS 9
#define WAIT_MS 10000

struct one {
	pid_t pid;
	struct lane *lane;
	const struct board *board;
	int wake_fd, socket; /* the daemon wakes it by the latter */
	uint32_t node;
	bool active;
};

static struct one clients[CLIENTS];
static uint32_t order_of[2 * CLIENTS]; /* who changes in turn, in one period */
static uint64_t at[2 * CLIENTS];       /* when, in the period */
static char folder[] = "/tmp/kfdshim-load-XXXXXX";
static char path[64];
static uint32_t gpu_ids[NODES];
static pid_t daemon_pid, worker_pid;
static volatile bool ending;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s failed: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- clients ---- */

static void wake(const struct one *one)
{
	uint64_t count = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&one->board->asleep, __ATOMIC_RELAXED))
		(void)!write(one->wake_fd, &count, sizeof(count));
}

/* The process that the daemon sees: it hands on what it gets, and stays. */
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
		     nfds == PROTOCOL_WELCOME_FDS && !lane_map(fds[0], &one->lane) &&
		     !board_map(fds[1], &one->board) &&
		     !protocol_receive(ends[0], &welcome, sizeof(welcome), &one->socket, &sockets,
				       WAIT_MS),
	     "a client's lane");
	close(ends[0]);
	close(fds[0]);
	close(fds[1]);
	one->wake_fd = fds[2];
	one->active = false;
	for (uint32_t q = 0; q < QUEUES; q++)
		lane_queue_write(one->lane, q,
				 &(struct lane_queue){.used = 1,
						      .queue_id = q,
						      .gpu_id = gpu_ids[i % NODES],
						      .type = 2,
						      .priority = 7,
						      .percent = 100});
	one->node = (uint32_t)lane_node_slot(one->lane, gpu_ids[i % NODES]);
	wake(one);
}

static void end_clients(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		kill(clients[i].pid, SIGKILL);
		waitpid(clients[i].pid, NULL, 0);
		lane_unmap(clients[i].lane);
		board_unmap(clients[i].board);
		close(clients[i].wake_fd);
		close(clients[i].socket);
	}
}

/* ---- what they do ---- */

static int by_time(const void *a, const void *b)
{
	uint64_t x = at[*(const uint32_t *)a], y = at[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

/* A change of each client at a random time of the period, and back half a period later. */
static void plan(void)
{
	srandom(5);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		at[i] = (uint64_t)random() % PERIOD_NS;
		at[CLIENTS + i] = (at[i] + PERIOD_NS / 2) % PERIOD_NS;
	}
	for (uint32_t i = 0; i < 2 * CLIENTS; i++)
		order_of[i] = i;
	qsort(order_of, 2 * CLIENTS, sizeof(*order_of), by_time);
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
			struct one *one = &clients[order_of[i] % CLIENTS];
			uint64_t due = begin + period * PERIOD_NS + at[order_of[i]];

			if (due > clock_ns())
				sleep_until(due);
			one->active = !one->active;
			lane_node_set(one->lane, one->node, one->active, clock_ns());
			wake(one);
			__atomic_add_fetch(changes, 1, __ATOMIC_RELAXED);
		}
	return NULL;
}

/* Carries out every order at once. */
static void *obey_all(void *count)
{
	struct epoll_event events[64];
	int epoll = epoll_create1(EPOLL_CLOEXEC), n;
	uint64_t *orders = count;
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
			__atomic_store_n(&one->lane->order_done,
					 __atomic_load_n(&one->lane->order, __ATOMIC_ACQUIRE),
					 __ATOMIC_RELEASE);
			wake(one);
			__atomic_add_fetch(orders, 1, __ATOMIC_RELAXED);
		}
	}
	close(epoll);
	return NULL;
}

/* ---- the daemon ---- */

/* Its state; the caller owns it. */
static json_t *ask(void)
{
	const struct protocol_hello hello = {.magic = PROTOCOL_MAGIC,
					     .version = PROTOCOL_VERSION,
					     .kind = PROTOCOL_ASK,
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

static void start_daemon(const char *program)
{
	json_t *state;

	daemon_pid = fork();
	must(daemon_pid >= 0, "fork");
	if (daemon_pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, STDERR_FILENO);
		execl(program, program, "--foreground", "--socket", path, (char *)NULL);
		_exit(127);
	}
	state = ask();
	worker_pid = (pid_t)json_integer_value(
		json_object_get(json_object_get(state, "daemon"), "worker_pid"));
	json_decref(state);
	must(worker_pid > 0, "finding the worker");
}

static uint64_t cpu_ns(pid_t pid)
{
	uint64_t ns = 0;
	clockid_t id;

	must(clock_getcpuclockid(pid, &id) == 0 && (ns = clock_of(id)) != 0, "its CPU time");
	return ns;
}

/* The most it ever had, shared pages and all. */
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

static void take_turns(json_t *state, struct hist *out)
{
	must(!hist_from_json(json_object_get(json_object_get(state, "totals"), "turn_ns"), out),
	     "reading turn_ns");
	json_decref(state);
}

/* The longest turn of the loop while the daemon tells all that it knows. What an answer
 * says of turns is how it was when it was begun; so the next tells of its making. */
static void measure_asks(struct bench *bench)
{
	struct hist before, after, meanwhile;
	double ms[ASKS], longest[ASKS];

	take_turns(ask(), &before);
	for (int i = 0; i < ASKS; i++) {
		uint64_t begin = clock_ns();
		json_t *state = ask();

		ms[i] = (double)(clock_ns() - begin) / 1e6;
		take_turns(state, &after);
		meanwhile = after;
		hist_subtract(&meanwhile, &before);
		before = after;
		longest[i] = (double)meanwhile.max / 1e6;
	}
	bench_figure(bench, "status of all: the loop's longest turn meanwhile, median of 9",
		     bench_median(longest, ASKS), "ms", "at_most", 1);
	bench_figure(bench, "status of all: until it is answered", bench_median(ms, ASKS), "ms",
		     NULL, 0);
}

static void measure(struct bench *bench, const char *name, double bound, const uint64_t *changes,
		    const uint64_t *orders)
{
	double share[SECONDS];
	uint64_t before, now, begin, changed, ordered;
	char title[128];

	sleep(WARM_S);
	changed = __atomic_load_n(changes, __ATOMIC_RELAXED);
	ordered = __atomic_load_n(orders, __ATOMIC_RELAXED);
	begin = clock_ns();
	before = cpu_ns(worker_pid) + cpu_ns(daemon_pid);
	for (int i = 0; i < SECONDS; i++) {
		uint64_t from = clock_ns();

		sleep(1);
		now = cpu_ns(worker_pid) + cpu_ns(daemon_pid);
		share[i] = 100.0 * (double)(now - before) / (double)(clock_ns() - from);
		before = now;
	}
	snprintf(title, sizeof(title), "%s: the daemon, median of %d seconds", name, SECONDS);
	bench_figure(bench, title, bench_median(share, SECONDS), "% of a core",
		     bound > 0 ? "at_most" : NULL, bound);
	snprintf(title, sizeof(title), "%s: changes a second", name);
	bench_figure(bench, title,
		     (double)(*changes - changed) * 1e9 / (double)(clock_ns() - begin), "/s", NULL,
		     0);
	snprintf(title, sizeof(title), "%s: orders a second", name);
	bench_figure(bench, title, (double)(*orders - ordered) * 1e9 / (double)(clock_ns() - begin),
		     "/s", NULL, 0);
	bench_series(bench, name, "% of a core", share, SECONDS);
}

static void with_clients(struct bench *bench, const char *name, enum protocol_level level,
			 double bound)
{
	static uint64_t changes, orders;
	pthread_t toggler, obeyer;

	for (uint32_t i = 0; i < CLIENTS; i++)
		start_client(i, level);
	ending = false;
	must(!pthread_create(&toggler, NULL, toggle_all, &changes) &&
		     !pthread_create(&obeyer, NULL, obey_all, &orders),
	     "a thread");
	measure(bench, name, bound, &changes, &orders);
	if (level == PROTOCOL_LEVEL_AUTO)
		measure_asks(bench);
	ending = true;
	pthread_join(toggler, NULL);
	pthread_join(obeyer, NULL);
	end_clients();
}

int main(int argc, char **argv)
{
	struct rlimit files;
	struct bench bench;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_load KFDSCHEDD\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	must(mkdtemp(folder) != NULL, "mkdtemp");
	snprintf(path, sizeof(path), "%s/socket", folder);
	if (kfd_device_nodes(gpu_ids, NODES) != NODES)
		for (uint32_t i = 0; i < NODES; i++)
			gpu_ids[i] = 100 + i;
	plan();
	bench_begin(&bench, "load", "kfdschedd with 1,000 clients");
	start_daemon(argv[1]);
	with_clients(&bench, "seen", PROTOCOL_LEVEL_AUTO, 10);
	with_clients(&bench, "held", PROTOCOL_LEVEL_GATE, 0);
	bench_figure(&bench, "memory at its peak, watchdog and worker",
		     peak_mib(daemon_pid) + peak_mib(worker_pid), "MiB", "at_most", 64);
	kill(daemon_pid, SIGTERM);
	waitpid(daemon_pid, NULL, 0);
	rmdir(folder);
	return bench_end(&bench);
}
