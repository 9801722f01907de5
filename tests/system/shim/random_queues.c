// SPDX-License-Identifier: MIT
/*
 * Proves, for a process with libkfdshim.so preloaded whose eight threads create, update and destroy
 * queues at random: at 500 barriers all of these agree: the shim's table (in its shared memory;
 * this process acts as the daemon), the driver's table (kfd/proc in sysfs, and its snapshot for
 * debuggers), the threads' own data, and the events in the shim's log (KFDSHIM_LOG=debug).
 *
 *   random_queues_raw, random_queues_hsa [STEPS [SEED]]
 *
 * Prints its steps as tests/matrix/step.h does. libkfdshim.so is in the same directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kfd/uapi.h"
#include "tests/lib/shim_stub_daemon.h"
#include "tests/matrix/step.h"
#include "tests/system/shim/driver_snapshot.h"
#include "tests/system/shim/random_work.h"

#define STEPS 10000u
#define STEPS_A_BARRIER 20u
#define IDS 1024u
#define MEETINGS 5

/* A queue as the log describes it. */
struct logged {
	bool there;
	uint32_t gpu_id, type;
	uint64_t change; /* percent << 32 | priority; UINT64_MAX: never changed */
};

static struct fake_daemon daemon_;
static struct work_truth *truth;
static struct logged logged[IDS];
static uint64_t log_number, log_changes;
static FILE *log_file;
static pid_t workload;

/* The workload process. */

static pthread_barrier_t barrier;
static unsigned rounds;
static long seed;

/* At a barrier: the other process compares, and answers with a byte. */
static void wait_for_poll(void)
{
	char byte = '.';

	if (write(STDOUT_FILENO, &byte, 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
		_exit(1);
}

static void *work(void *arg)
{
	unsigned thread = (unsigned)(uintptr_t)arg, steps;
	unsigned short random[3] = {(unsigned short)seed, (unsigned short)(seed >> 16),
				    (unsigned short)thread};

	for (unsigned i = 0; i < rounds; i++) {
		steps = STEPS_A_BARRIER / WORK_THREADS + (thread < STEPS_A_BARRIER % WORK_THREADS);
		while (steps-- > 0)
			work_kind.step(truth, thread, random);
		pthread_barrier_wait(&barrier);
		if (thread == 0)
			wait_for_poll();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static int workload_main(int shared)
{
	pthread_t threads[WORK_THREADS];

	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	if (truth == MAP_FAILED)
		return 1;
	pthread_barrier_init(&barrier, NULL, WORK_THREADS);
	work_kind.begin(truth);
	for (uintptr_t i = 0; i < WORK_THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 1;
	for (unsigned i = 0; i < WORK_THREADS; i++)
		pthread_join(threads[i], NULL);
	work_kind.end(truth);
	wait_for_poll();
	_exit(0); /* the rest of a runtime ends with the process */
}

/* The comparing process. */

static void read_line(const char *line)
{
	unsigned long long number, value;
	unsigned context, gpu_id;
	char name[32];
	int id;

	line = strstr(line, "event ");
	if (!line || sscanf(line, "event %llu: %31s queue %u.%d gpu %u value %llx", &number, name,
			    &context, &id, &gpu_id, &value) != 6)
		return;
	if (number != ++log_number)
		step_fail("the log goes on with event %llu, not %llu", number,
			  (unsigned long long)log_number);
	if (id < 0 || (unsigned)id >= IDS)
		return;
	if (strcmp(name, "created") == 0) {
		if (logged[id].there)
			step_fail("by the log queue %d was created twice (event %llu)", id, number);
		logged[id] = (struct logged){true, gpu_id, (uint32_t)value, UINT64_MAX};
	} else if (strcmp(name, "updated") == 0) {
		if (!logged[id].there)
			step_fail("by the log queue %d changed that is not (event %llu)", id,
				  number);
		logged[id].change = value;
	} else if (strcmp(name, "destroyed") == 0) {
		if (!logged[id].there)
			step_fail("by the log queue %d went that is not (event %llu)", id, number);
		logged[id].there = false;
	} else {
		return;
	}
	log_changes++;
}

static void read_log(void)
{
	char line[512];

	clearerr(log_file);
	while (fgets(line, sizeof(line), log_file))
		read_line(line);
}

static bool driver_number(int id, const char *file, uint64_t *out)
{
	unsigned long long n = 0;
	char path[128];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%d/%s", (int)workload, id,
		 file);
	f = fopen(path, "re");
	ok = f && fscanf(f, "%llu", &n) == 1;
	if (f)
		fclose(f);
	*out = n;
	return ok;
}

/* Compares a queue of the driver with the shim's table. */
static void compare_driver(int id)
{
	uint64_t gpu_id, bytes, type;
	struct client_shm_queue q;

	if (fake_daemon_queue(&daemon_, (uint32_t)id, &q) != 0)
		step_fail("the driver has queue %d and the shim does not", id);
	if (!driver_number(id, "gpuid", &gpu_id) || !driver_number(id, "size", &bytes) ||
	    !driver_number(id, "type", &type))
		step_fail("the driver's files of queue %d cannot be read", id);
	if (gpu_id != q.gpu_id || bytes != q.ring_bytes ||
	    (type != 0) != (q.type == KFD_IOC_QUEUE_TYPE_SDMA))
		step_fail("queue %d is on %u with %llu bytes and type %u by the shim, on %u with "
			  "%llu and the driver's type %u by the driver",
			  id, q.gpu_id, (unsigned long long)q.ring_bytes, q.type, (unsigned)gpu_id,
			  (unsigned long long)bytes, (unsigned)type);
}

static int compare_driver_all(void)
{
	struct dirent *entry;
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues", (int)workload);
	dir = opendir(path);
	if (!dir)
		step_fail("%s: %s", path, strerror(errno));
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			compare_driver(atoi(entry->d_name));
			n++;
		}
	closedir(dir);
	return n;
}

/* Compares every queue of the snapshot, with its addresses. */
static uint32_t compare_snapshot(void)
{
	const struct kfdabi_queue_snapshot *all;
	uint32_t n = driver_snapshot(&all);
	struct client_shm_queue q;

	for (uint32_t i = 0; i < n; i++) {
		const struct kfdabi_queue_snapshot *d = &all[i];

		if (fake_daemon_queue(&daemon_, d->queue_id, &q) != 0)
			step_fail("the snapshot has queue %u and the shim does not", d->queue_id);
		if (d->gpu_id != q.gpu_id || d->queue_type != q.type ||
		    d->ring_base_address != q.ring_address || d->ring_size != q.ring_bytes ||
		    d->read_pointer_address != q.rptr_address ||
		    d->write_pointer_address != q.wptr_address ||
		    d->ctx_save_restore_address != q.cwsr_address ||
		    d->ctx_save_restore_area_size != q.cwsr_bytes)
			step_fail("queue %u is another by the snapshot: type %u, ring %#llx, %u "
				  "bytes, not type %u, %#llx, %llu",
				  q.queue_id, d->queue_type,
				  (unsigned long long)d->ring_base_address, d->ring_size, q.type,
				  (unsigned long long)q.ring_address,
				  (unsigned long long)q.ring_bytes);
	}
	return n;
}

static bool same(uint64_t known, uint64_t read_value)
{
	return known == WORK_ANY || known == 0 || known == read_value;
}

static bool is(const struct work_queue *known, const struct client_shm_queue *q)
{
	return known->hsa_queue ? known->hsa_queue == q->hsa_queue : known->id == q->queue_id;
}

/* Checks that one level always has the same number, and a higher level a larger one. */
static void compare_level(enum work_level level, const struct client_shm_queue *q)
{
	static uint32_t numbers[WORK_LEVEL_HIGH + 1];
	static bool met[WORK_LEVEL_HIGH + 1];

	if (level == WORK_LEVEL_NONE)
		return;
	for (unsigned i = WORK_LEVEL_LOW; i <= WORK_LEVEL_HIGH; i++)
		if (met[i] && (i < level   ? numbers[i] >= q->priority
			       : i > level ? numbers[i] <= q->priority
					   : numbers[i] != q->priority))
			step_fail("queue %u has priority %u at level %u, and level %u is %u",
				  q->queue_id, q->priority, level, i, numbers[i]);
	met[level] = true;
	numbers[level] = q->priority;
}

/* Compares a queue with the data of the thread that owns it. */
static void compare_truth(const struct work_queue *known)
{
	struct client_shm_queue q = {0};
	bool found = false;

	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES && !found; i++)
		found = fake_daemon_entry(&daemon_, i, &q) == 0 && is(known, &q);
	if (!found)
		step_fail("queue %d (hsa_queue_t %#llx) is not in the shim's table", (int)known->id,
			  (unsigned long long)known->hsa_queue);
	if (!same(known->gpu_id, q.gpu_id) || !same(known->type, q.type) ||
	    (known->priority != WORK_ANY && known->priority != q.priority) ||
	    !same(known->percent, q.percent) || !same(known->ring, q.ring_address) ||
	    !same(known->ring_bytes, q.ring_bytes) || !same(known->rptr, q.rptr_address) ||
	    !same(known->wptr, q.wptr_address))
		step_fail("queue %u is in the shim's table with type %u, priority %u, %u %%, not "
			  "type %u, priority %u, %u %%",
			  q.queue_id, q.type, q.priority, q.percent, known->type, known->priority,
			  known->percent);
	compare_level(known->level, &q);
}

static void compare_log(void)
{
	struct client_shm_queue q;
	int n = 0;

	for (uint32_t id = 0; id < IDS; id++) {
		if (!logged[id].there)
			continue;
		n++;
		if (fake_daemon_queue(&daemon_, id, &q) != 0)
			step_fail("by the log queue %u is there, the shim's table is without", id);
		if (logged[id].gpu_id != q.gpu_id || logged[id].type != q.type ||
		    (logged[id].change != UINT64_MAX &&
		     logged[id].change != ((uint64_t)q.percent << 32 | q.priority)))
			step_fail("the log does not explain what queue %u is", id);
	}
	if (n != fake_daemon_queue_count(&daemon_))
		step_fail("the log explains %d queues, the shim's table has %d", n,
			  fake_daemon_queue_count(&daemon_));
}

static void sample(void)
{
	int n = compare_driver_all(), known = 0, read_value = fake_daemon_queue_count(&daemon_);

	if (n != read_value)
		step_fail("the driver has %d queues, the shim %d", n, read_value);
	n = (int)compare_snapshot();
	if (n != read_value)
		step_fail("the snapshot has %d queues, the shim %d", n, read_value);
	for (unsigned t = 0; t < WORK_THREADS; t++)
		for (unsigned i = 0; i < WORK_QUEUES; i++)
			if (truth->queues[t][i].there) {
				compare_truth(&truth->queues[t][i]);
				known++;
			}
	if (work_kind.complete && known != read_value)
		step_fail("there are %d queues, and the shim has %d", known, read_value);
	read_log();
	compare_log();
}

/* Waits until the shim has connected: only then is it known which of the threads' queues are in the
 * shared memory. */
static void meet(void)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int error = -EAGAIN;

	/* On a busy machine a shim can give up its first try, and tries again. */
	for (int i = 0; i < MEETINGS && error; i++) {
		if (i)
			fprintf(stderr, "tried again: the shim had given up (%s)\n",
				strerror(-error));
		error = fake_daemon_accept(&daemon_, MEETS_MS);
	}
	if (error)
		step_fail("the shim does not come to the daemon: %s", strerror(-error));
	fake_daemon_remove(&daemon_);
	for (int i = 0; i < 5000 && !__atomic_load_n(&daemon_.shm->runtime, __ATOMIC_ACQUIRE); i++)
		/* `runtime` is the last field that the shim writes into new shared memory */
		nanosleep(&pause, NULL);
}

static void start(char **argv, int shared, int *to, int *from)
{
	char preload[PATH_MAX], number[16], log_path[sizeof(daemon_.directory) + 8];
	int in[2], out[2], log_fd;
	ssize_t n;

	n = readlink("/proc/self/exe", preload, sizeof(preload) - 32);
	if (n < 0 || pipe(in) != 0 || pipe(out) != 0)
		step_fail("cannot start: %s", strerror(errno));
	preload[n] = '\0';
	strcpy(strrchr(preload, '/') + 1, "libkfdshim.so");
	fake_daemon_open(&daemon_);
	snprintf(log_path, sizeof(log_path), "%s/log", daemon_.directory);
	log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	/* opened again, so that it has a file position of its own */
	log_file = fopen(log_path, "re");
	if (log_fd < 0 || !log_file)
		step_fail("%s: %s", log_path, strerror(errno));
	unlink(log_path);
	snprintf(number, sizeof(number), "%d", shared);
	fflush(stdout);
	workload = fork();
	if (workload == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(log_fd, STDERR_FILENO);
		close(in[1]);
		close(out[0]);
		setenv("LD_PRELOAD", preload, 1);
		setenv("KFDSHIM_LOG", "debug", 1);
		setenv("RANDOM_QUEUES_SHARED", number, 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*to = in[1];
	*from = out[0];
}

static int watch(char **argv)
{
	int shared = memfd_create("random_queues", 0), to, from, status;
	char byte;

	step("random queues");
	if (shared < 0 || ftruncate(shared, sizeof(*truth)) != 0)
		step_fail("no shared memory: %s", strerror(errno));
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	if (truth == MAP_FAILED)
		step_fail("no shared memory: %s", strerror(errno));
	start(argv, shared, &to, &from);
	/* in the last round all queues have been destroyed */
	for (unsigned i = 0; i <= rounds; i++) {
		if (read(from, &byte, 1) != 1)
			step_fail("the workload ended at barrier %u", i);
		if (i == 0) {
			meet();
			driver_snapshot_open(workload);
		}
		sample();
		if (write(to, &byte, 1) != 1)
			step_fail("the workload ended at barrier %u", i);
	}
	if (waitpid(workload, &status, 0) != workload || status != 0)
		step_fail("the workload ended with status %#x", status);
	if (log_changes < truth->creates + truth->updates + truth->destroys)
		step_fail("the log has %llu changes of %llu", (unsigned long long)log_changes,
			  (unsigned long long)(truth->creates + truth->updates + truth->destroys));
	fprintf(stderr, "%llu creates, %llu updates, %llu destroys, %llu refused, %u barriers\n",
		(unsigned long long)truth->creates, (unsigned long long)truth->updates,
		(unsigned long long)truth->destroys, (unsigned long long)truth->refused, rounds);
	return step_end();
}

int main(int argc, char **argv)
{
	const char *shared = getenv("RANDOM_QUEUES_SHARED");
	unsigned steps;

	if (argc > 3) {
		fprintf(stderr, "usage: %s [STEPS [SEED]]\n", argv[0]);
		return 2;
	}
	steps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : STEPS;
	seed = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	rounds = (steps + STEPS_A_BARRIER - 1) / STEPS_A_BARRIER;
	return shared ? workload_main(atoi(shared)) : watch(argv);
}
