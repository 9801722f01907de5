// SPDX-License-Identifier: MIT
/*
 * Proves, for memory evictions and suspensions: each has its own flag, and a queue runs only if
 * neither is set.
 *
 * Two GPUs. evict_at is the runlist update of the first GPU at which the process suspends a queue
 * (argument "suspended") or creates its last queue ("running").
 */
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/kfdconform/harness/self_debug.h"

#define LATE_MS 10000u
#define RESTORE_MS 100u
#define EVICTION_AND_RESTORE ((1ull << 8) | (1ull << 9))

static struct gpu_file second;
static struct raw_queue far;
static int smi;

static int smi_open(void)
{
	struct kfd_ioctl_smi_events_args a = {.gpuid = self.gpu.gpu_id};
	uint64_t mask = EVICTION_AND_RESTORE;

	CHECK_IS(harness_ioctl(self.gpu.kfd, KFDABI_SMI_EVENTS, &a, sizeof a), 0);
	CHECK_IS(write((int)a.anon_fd, &mask, sizeof mask), sizeof mask);
	return (int)a.anon_fd;
}

/* Waits for the next event. `number`: '9' for an eviction by TTM, 'a' for a restore. */
static void event_comes(char number)
{
	char line[128];
	ssize_t n;

	for (unsigned i = 0; (n = read(smi, line, sizeof line - 1)) < 0; i++) {
		CHECK(i < LATE_MS);
		sleep_ms(1);
	}
	line[n] = '\0';
	CHECK_IS(line[0], number);
	CHECK(strstr(line, number == '9' ? " 2\n" : " 0\n"));
}

static unsigned evicted_ms(const struct gpu_file *gpu)
{
	char path[96], text[16] = "";
	FILE *file;

	snprintf(path, sizeof path, "/sys/class/kfd/kfd/proc/%d/stats_%u/evicted_ms", getpid(),
		 gpu->gpu_id);
	file = fopen(path, "r");
	CHECK(file && fgets(text, sizeof text, file));
	fclose(file);
	return (unsigned)atoi(text);
}

static struct signal *send_far(struct signal *signal)
{
	signal->value = 1;
	queue_barrier(&far, NULL, signal);
	queue_ring(&far);
	return signal;
}

static void restored(void)
{
	event_comes('a');
	CHECK(evicted_ms(&self.gpu) >= RESTORE_MS);
	CHECK(evicted_ms(&second) >= RESTORE_MS);
}

/* The driver evicts right after the suspension: RESUME does not bring the queue back, but the
 * restore does, and the interrupted work continues. Nothing runs on the other GPU meanwhile
 * either. */
static void while_suspended(void)
{
	struct signal *work, *other = signals_new(&second), *young;
	double left;

	work = self_debug_suspend_at_work(&self.queues[0], &left);
	event_comes('9');
	CHECK_IS(evicted_ms(&self.gpu), 0);
	self_debug_resume_one(&self.queues[0]);
	send_far(other);
	queue_new(&self.gpu, &self.queues[1]);
	young = self_debug_send(&self.queues[1]);
	CHECK(self_debug_stopped(young));
	CHECK(work->value == 1 && other->value == 1);
	restored();
	CHECK(self_debug_done(work) && self_debug_done(young));
	CHECK(comes(&other->value, 0, LATE_MS));
}

/* First evicted, then suspended: the suspension takes effect, and the restore does not bring the
 * queue back. */
static void while_running(void)
{
	struct signal *work, *other;

	event_comes('9');
	work = self_debug_send(&self.queues[0]);
	self_debug_suspend_one(&self.queues[0]);
	other = send_far(signals_new(&second));
	restored();
	CHECK(comes(&other->value, 0, LATE_MS)); /* the other GPU's queue was not suspended */
	CHECK(self_debug_stopped(work));
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_done(work));
	/* the time of the suspension is not counted as evicted */
	CHECK(evicted_ms(&self.gpu) < 2 * RESTORE_MS);
}

int main(int argc, char **argv)
{
	bool suspended = argc > 1 && !strcmp(argv[1], "suspended");

	self_debug_prepare();
	smi = smi_open();
	gpu_open_too(&second, &self.gpu, 1);
	self_debug_enable(0);
	queue_new(&self.gpu, &self.queues[0]);
	queue_new(&second, &far);
	self_debug_collect();
	if (suspended)
		while_suspended();
	else
		while_running();
	return 0;
}
