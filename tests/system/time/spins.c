// SPDX-License-Identifier: MIT
/* Programs that do not wait but compute, or read memory repeatedly; and one that waits for its
 * standard input. Used by spins.sh and input.sh. */
#include <sys/mman.h>

#include "tests/lib/time_check.h"

/* CPU time of more than twice what a process may run before the clock advances. */
static void computes(void)
{
	uint64_t begin = mono(), until = clock_now(CLOCK_PROCESS_CPUTIME_ID) + STEP_NS * 5 / 2;

	while (clock_now(CLOCK_PROCESS_CPUTIME_ID) < until)
		for (volatile unsigned i = 0; i < 1000000; i++)
			;
	CHECK(mono() > begin);
	CHECK(!is_virtual || mono() - begin < 20 * STEP_NS);
}

static void *write_later(void *flag)
{
	sleep_steps(0.5);
	*(_Atomic bool *)flag = true;
	return NULL;
}

static void memory(void)
{
	static _Atomic bool flag;
	uint64_t begin = mono();
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, write_later, (void *)&flag));
	while (!flag)
		;
	took_within(begin, 0.5, STEP_NS, __LINE__);
	CHECK(!pthread_join(thread, NULL));
}

static void write_in_process(void *flag)
{
	write_later(flag);
}

static void shared_memory(void)
{
	_Atomic bool *flag =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t begin = mono();
	pid_t pid = start_process(write_in_process, (void *)flag);

	while (!*flag)
		;
	took_within(begin, 0.5, STEP_NS, __LINE__);
	CHECK(!ended(pid));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool wanted;
static _Atomic bool replied;

static void *reply(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (!wanted)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	replied = true;
	return arg;
}

/* Spins for a thread that is able to run: where threads share a core, that thread must get it. */
static void handover(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, reply, NULL));
	sleep_steps(1);
	pthread_mutex_lock(&mutex);
	wanted = true;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	while (!replied)
		;
	CHECK(!pthread_join(thread, NULL));
}

static void quiet(void)
{
	sleep_steps(5);
}

/* Prints that it begins to wait, and reads. */
static void reads(void)
{
	uint64_t begin = mono();
	char byte = 0;

	CHECK(write(1, "waits\n", 6) == 6);
	CHECK(read(0, &byte, 1) == 1 && byte == 'x');
	CHECK(!is_virtual || mono() == begin);
	begin = mono();
	sleep_steps(2);
	TOOK(begin, 2);
}

static const struct time_case cases[] = {
	{"computes", computes}, {"memory", memory}, {"shared_memory", shared_memory},
	{"handover", handover}, {"quiet", quiet},   {"reads", reads},
};

TIME_MAIN(cases)
