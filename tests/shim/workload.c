// SPDX-License-Identifier: MIT
/*
 * A small HSA program that does what it is told on stdin, a word a line, and
 * answers with one line: queue, block, ring N, sleepless N, finish, destroy,
 * again, fork, threads, quit. An argument is a folder to go to first. Its work is barrier packets: they need no code
 * object, and one that waits for a signal keeps its queue busy for as long as
 * the test likes. It knows nothing of libkfdshim.so.
 */
#include <dirent.h>
#include <hsa/hsa.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static hsa_agent_t gpu;
static hsa_queue_t *queue;
static hsa_signal_t gate, last;

static void must(hsa_status_t status, const char *what)
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

/* A queue that stands until "finish". */
static void block(void)
{
	const hsa_signal_t none = {0};

	hsa_signal_store_relaxed(gate, 1);
	hsa_signal_store_relaxed(last, 1);
	submit(gate, none);
	hsa_signal_store_screlease(queue->doorbell_signal, submit(none, last));
}

static void finish(void)
{
	hsa_signal_store_relaxed(gate, 0);
	hsa_signal_wait_scacquire(last, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_BLOCKED);
}

static volatile sig_atomic_t calls;
static volatile char selector;

static void count_call(int number)
{
	(void)number;
	calls++;
	selector = 0; /* allow; sigreturn is one too */
}

/* Rings `n` doorbells with every system call of this thread diverted into a
 * signal; says how many there were. */
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
		syscall(SYS_getppid); /* shows that one would be counted */
	selector = 0;
	prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0);
	return calls;
}

static void list(const char *folder, int comm)
{
	DIR *dir = opendir(folder);
	char path[512], text[256];
	struct dirent *entry;
	ssize_t n;
	FILE *f;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", folder, entry->d_name, comm ? "/comm" : "");
		if (comm) {
			f = fopen(path, "r");
			if (f && fgets(text, sizeof(text), f))
				printf(" %s", strtok(text, "\n"));
			if (f)
				fclose(f);
		} else {
			n = readlink(path, text, sizeof(text) - 1);
			text[n > 0 ? n : 0] = '\0';
			if (strncmp(text, "/dev/kfd", 8) != 0)
				printf(" %s", text);
		}
	}
	if (dir)
		closedir(dir);
}

/* What a forked child has: its threads and descriptors. */
static void fork_and_tell(void)
{
	int status = 0;
	pid_t pid;

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

static void obey(const char *word, int n)
{
	if (strcmp(word, "queue") == 0) {
		must(hsa_queue_create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
				      UINT32_MAX, &queue),
		     "hsa_queue_create");
		printf("%p\n", (void *)queue);
	} else if (strcmp(word, "block") == 0) {
		block();
		puts("ok");
	} else if (strcmp(word, "ring") == 0) {
		printf("%d %d\n", ring_counted(n, 0), ring_counted(n, 1));
	} else if (strcmp(word, "finish") == 0) {
		finish();
		puts("ok");
	} else if (strcmp(word, "destroy") == 0) {
		must(hsa_queue_destroy(queue), "hsa_queue_destroy");
		puts("ok");
	} else if (strcmp(word, "again") == 0) {
		hsa_signal_destroy(gate);
		hsa_signal_destroy(last);
		must(hsa_shut_down(), "hsa_shut_down");
		begin();
		puts("ok");
	} else if (strcmp(word, "fork") == 0) {
		fork_and_tell();
	} else if (strcmp(word, "threads") == 0) {
		list("/proc/self/task", 1);
		puts("");
	} else {
		puts("what?");
	}
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
