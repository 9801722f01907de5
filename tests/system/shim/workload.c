// SPDX-License-Identifier: MIT
/*
 * A small HSA program that executes orders from standard input, a word and perhaps a number a line
 * (orders[] below), and answers each with one line. Its argument is a directory to change to first.
 * Its work is mostly barrier packets: a barrier that waits for a signal keeps its queue busy as
 * long as the test needs. Of libkfdshim.so it uses kfdshim.h only.
 */
#include <dirent.h>
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/proc.h"
#include "include/kfdshim.h"
#include "sim/host/time/page.h"
#include "tests/system/shim/workload.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

hsa_agent_t gpu;
hsa_queue_t *queue;
hsa_signal_t last;
static hsa_signal_t gate;
static void *buffers[16];
static unsigned buffers_end;

void must(hsa_status_t status, const char *what)
{
	if (status == HSA_STATUS_SUCCESS)
		return;
	printf("failed %s %#x\n", what, status);
	exit(1);
}

static hsa_status_t find_gpu(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	(void)data;
	if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS ||
	    type != HSA_DEVICE_TYPE_GPU)
		return HSA_STATUS_SUCCESS;
	gpu = agent;
	return HSA_STATUS_INFO_BREAK;
}

static void begin(void)
{
	must(hsa_init(), "hsa_init");
	hsa_iterate_agents(find_gpu, NULL);
	must(hsa_signal_create(1, 0, NULL, &gate), "signal");
	must(hsa_signal_create(1, 0, NULL, &last), "signal");
}

static uint64_t submit(hsa_signal_t wait_for, hsa_signal_t completion)
{
	uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;

	memset((char *)packet + sizeof(packet->header), 0,
	       sizeof(*packet) - sizeof(packet->header));
	packet->dep_signal[0] = wait_for;
	packet->completion_signal = completion;
	__atomic_store_n(&packet->header,
			 HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
				 1 << HSA_PACKET_HEADER_BARRIER,
			 __ATOMIC_RELEASE);
	return index;
}

/* Makes the queue wait until "finish". */
static void block(int relaxed)
{
	const hsa_signal_t none = {0};

	hsa_signal_store_relaxed(gate, 1);
	hsa_signal_store_relaxed(last, 1);
	submit(gate, none);
	(relaxed ? hsa_signal_store_relaxed : hsa_signal_store_screlease)(
		queue->doorbell_signal, (hsa_signal_value_t)submit(none, last));
	puts("ok");
}

static void finish(int relaxed)
{
	hsa_signal_store_relaxed(gate, 0);
	way_await(relaxed);
}

static long handler_ms; /* atomic; -1: not yet known */

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Runs on a thread of the runtime. */
static bool submit_in_handler(hsa_signal_value_t value, void *arg)
{
	const hsa_signal_t none = {0};
	long begun = now_ms();

	(void)value;
	(void)arg;
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)submit(none, none));
	__atomic_store_n(&handler_ms, now_ms() - begun, __ATOMIC_RELEASE);
	return false;
}

/* Prints how long a submission takes on that thread. */
static void async(int n)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	(void)n;
	__atomic_store_n(&handler_ms, -1, __ATOMIC_RELEASE);
	hsa_signal_store_relaxed(gate, 1);
	must(hsa_amd_signal_async_handler(gate, HSA_SIGNAL_CONDITION_EQ, 0, submit_in_handler,
					  NULL),
	     "handler");
	hsa_signal_store_relaxed(gate, 0);
	for (int i = 0; i < 5000 && __atomic_load_n(&handler_ms, __ATOMIC_ACQUIRE) < 0; i++)
		nanosleep(&pause, NULL);
	printf("%ld\n", handler_ms);
}

static volatile sig_atomic_t calls;
static volatile char selector;

static void count_call(int number)
{
	(void)number;
	calls++;
	selector = 0; /* allow system calls again, because sigreturn is one, too */
}

/* Rings `n` doorbells while every system call of this thread is diverted into a signal. Returns the
 * number of system calls. `probe`: makes one more call, which must be counted. */
static int ring_counted(int n, int probe)
{
	struct sigaction action = {.sa_handler = count_call};
	uint64_t index = hsa_queue_load_write_index_relaxed(queue) - 1;

	sigaction(SIGSYS, &action, NULL);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) != 0)
		return -1;
	calls = 0;
	selector = 1;
	for (int i = 0; i < n; i++) {
		hsa_signal_store_screlease(queue->doorbell_signal, (int64_t)index);
		hsa_signal_store_relaxed(queue->doorbell_signal, (int64_t)index);
	}
	if (probe)
		syscall(SYS_getppid); /* proves that a call would be counted */
	selector = 0;
	prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0);
	return calls;
}

/* Waits until all threads have their names: a new thread has the name of its creator until it first
 * runs. The other threads sleep once they have done their work. */
static void wait_for_threads(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct proc_stat thread;
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/task");
	pid_t tid;

	while (dir && (entry = readdir(dir))) {
		tid = (pid_t)atoi(entry->d_name);
		if (tid == 0 || tid == getpid())
			continue;
		for (int i = 0; i < 10000 && proc_stat(tid, &thread) && thread.state == 'R'; i++)
			nanosleep(&pause, NULL);
	}
	if (dir)
		closedir(dir);
}

/* Returns whether this is the descriptor by which the clock of a virtual simulation ends a wait. */
static bool is_testbeds(int fd)
{
	return fcntl(fd, F_GETSIG) == TIME_EVENT_SIGNAL;
}

static void list(const char *directory, int comm)
{
	DIR *dir = opendir(directory);
	char path[512], text[256];
	struct dirent *entry;
	ssize_t n;
	FILE *f;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", directory, entry->d_name,
			 comm ? "/comm" : "");
		if (comm) {
			f = fopen(path, "r");
			if (f && fgets(text, sizeof(text), f))
				printf(" %s", strtok(text, "\n"));
			if (f)
				fclose(f);
		} else {
			n = readlink(path, text, sizeof(text) - 1);
			text[n > 0 ? n : 0] = '\0';
			if (strncmp(text, "/dev/kfd", 8) != 0 && !is_testbeds(atoi(entry->d_name)))
				printf(" %s", text);
		}
	}
	if (dir)
		closedir(dir);
}

/* Prints the threads and descriptors of a forked child. */
static void fork_and_report(int n)
{
	int status = 0;
	pid_t pid;

	(void)n;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		printf("threads");
		list("/proc/self/task", 1);
		printf(" descriptors");
		list("/proc/self/fd", 0);
		printf("\n");
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status != 0) {
		printf("child ended with %d\n", status);
		fflush(stdout);
	}
}

static hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void *data)
{
	hsa_amd_segment_t segment;

	if (hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) !=
		    HSA_STATUS_SUCCESS ||
	    segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	*(hsa_amd_memory_pool_t *)data = pool;
	return HSA_STATUS_INFO_BREAK;
}

/* Allocates one more buffer in device memory. */
static void vram(int mib)
{
	hsa_amd_memory_pool_t pool;
	void *buffer;
	hsa_status_t status;

	hsa_amd_agent_iterate_memory_pools(gpu, find_pool, &pool);
	status = hsa_amd_memory_pool_allocate(pool, (size_t)mib << 20, 0, &buffer);
	if (status == HSA_STATUS_SUCCESS && buffers_end < sizeof(buffers) / sizeof(buffers[0]))
		buffers[buffers_end++] = buffer;
	puts(status == HSA_STATUS_SUCCESS		   ? "ok"
	     : status == HSA_STATUS_ERROR_OUT_OF_RESOURCES ? "out of resources"
							   : "another error");
}

static void make_queue(int cooperative)
{
	must(hsa_queue_create(gpu, 1024,
			      cooperative ? HSA_QUEUE_TYPE_COOPERATIVE : HSA_QUEUE_TYPE_MULTI, NULL,
			      NULL, UINT32_MAX, UINT32_MAX, &queue),
	     "hsa_queue_create");
	printf("%p\n", (void *)queue);
}

static void destroy_queue(int n)
{
	(void)n;
	must(hsa_queue_destroy(queue), "hsa_queue_destroy");
	puts("ok");
}

/* Sets a mask of the first `n` compute units. */
static void set_cu_mask(int n)
{
	uint32_t mask[4];

	for (int i = 0; i < 4; i++, n -= 32)
		mask[i] = n <= 0 ? 0 : n >= 32 ? UINT32_MAX : (1u << n) - 1;
	must(hsa_amd_queue_cu_set_mask(queue, 128, mask), "hsa_amd_queue_cu_set_mask");
	puts("ok");
}

/* `n`: 0: low, 1: normal, 2: high. */
static void set_queue_priority(int n)
{
	must(hsa_amd_queue_set_priority(queue, (hsa_amd_queue_priority_t)n),
	     "hsa_amd_queue_set_priority");
	puts("ok");
}

static void ring(int n)
{
	printf("%d %d\n", ring_counted(n, 0), ring_counted(n, 1));
}

static void shut_down_and_begin(int n)
{
	(void)n;
	hsa_signal_destroy(gate);
	hsa_signal_destroy(last);
	must(hsa_shut_down(), "hsa_shut_down");
	begin();
	puts("ok");
}

static void become_sleep(int n)
{
	(void)n;
	puts("ok");
	fflush(stdout);
	execl("/bin/sleep", "sleep", "60", (char *)NULL);
	_exit(127);
}

static void free_vram(int n)
{
	(void)n;
	while (buffers_end > 0)
		must(hsa_amd_memory_pool_free(buffers[--buffers_end]), "free");
	puts("ok");
}

static void request_begins(int n)
{
	(void)n;
	kfdshim_request_begin();
	puts("ok");
}

static void request_ends(int n)
{
	(void)n;
	kfdshim_request_end();
	puts("ok");
}

static void set_priority(int n)
{
	printf("%d\n", kfdshim_set_priority(n));
}

static void set_slo(int n)
{
	printf("%d\n", kfdshim_set_slo(n));
}

static void list_threads(int n)
{
	(void)n;
	wait_for_threads();
	list("/proc/self/task", 1);
	puts("");
}

static const struct {
	const char *word;
	void (*obey)(int n);
} commands[] = {
	{"queue", make_queue},
	{"destroy", destroy_queue},
	{"cumask", set_cu_mask},
	{"reserve", way_reserve},
	{"publish", way_publish},
	{"bell", way_bell},
	{"work", way_work},
	{"jump", way_jump},
	{"copy", way_copy},
	{"await", way_await},
	{"block", block},
	{"finish", finish},
	{"ring", ring},
	{"again", shut_down_and_begin},
	{"async", async},
	{"fork", fork_and_report},
	{"exec", become_sleep},
	{"vram", vram},
	{"vramfree", free_vram},
	{"begin", request_begins},
	{"end", request_ends},
	{"priority", set_priority},
	{"slo", set_slo},
	{"threads", list_threads},
	{"urgency", set_queue_priority},
};

static void obey(const char *word, int n)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(word, commands[i].word) == 0) {
			commands[i].obey(n);
			return;
		}
	}
	puts("what?");
}

int main(int argc, char **argv)
{
	char line[64], word[32];
	int n;

	if (argc > 1 && chdir(argv[1]) != 0)
		return 2;
	begin();
	while (fgets(line, sizeof(line), stdin)) {
		n = 0;
		if (sscanf(line, "%31s %d", word, &n) < 1 || strcmp(word, "quit") == 0)
			break;
		obey(word, n);
		fflush(stdout);
	}
	return 0;
}
