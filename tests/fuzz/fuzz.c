// SPDX-License-Identifier: MIT
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/words.h"

#define AT_ONCE 2u
#define ROUND_NS 400000000u
#define DEATH_NS 10000000000u /* ns; a killed process has to end within this time */
#define WORK_MS 20000u	      /* ms; the neighbour's work has to complete within this time */
#define COPY_DWORDS 4096u
#define SEEDS_APART 0x9e3779b97f4a7c15ull

uint64_t roll(struct dice *dice)
{
	uint64_t x = dice->state += SEEDS_APART;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint32_t below(struct dice *dice, uint32_t n)
{
	return (uint32_t)((roll(dice) >> 32) * n >> 32);
}

bool once_in(struct dice *dice, uint32_t n)
{
	return !below(dice, n);
}

void noise(struct dice *dice, void *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = roll(dice);

		memcpy((char *)to + i, &word, bytes - i < 8 ? bytes - i : 8);
	}
}

/* Adds a new buffer to the pool. */
static void place_new(struct pool *pool, uint64_t bytes, uint32_t flags)
{
	if (!buffer_new(&pool->gpu, bytes, flags, &pool->buffers[pool->n_buffers]))
		pool->n_buffers++;
}

/* Adds an existing buffer, for example of a queue, to the pool. */
static void put_known(struct pool *pool, const struct buffer *buffer)
{
	if (buffer->cpu && pool->n_buffers < BUFFERS_MAX)
		pool->buffers[pool->n_buffers++] = *buffer;
}

static void event_new(struct pool *pool)
{
	struct kfd_ioctl_create_event_args a = {.event_page_offset = pool->buffers[0].handle,
						.event_type = KFD_IOC_EVENT_SIGNAL,
						.auto_reset = 1};

	harness_ioctl(pool->gpu.kfd, KFDABI_CREATE_EVENT, &a, sizeof a);
	pool->event = a.event_id;
}

void pool_new(struct pool *pool, uint64_t seed)
{
	static const uint32_t types[] = {KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, KFD_IOC_QUEUE_TYPE_COMPUTE,
					 KFD_IOC_QUEUE_TYPE_SDMA, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL};
	struct kfdabi_create_queue args;

	pool->dice.state = seed;
	gpu_open(&pool->gpu);
	CHECK(!pipe2(pool->fds, O_CLOEXEC | O_NONBLOCK));
	place_new(pool, 32768, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
	for (unsigned i = 0; i < 4; i++)
		place_new(pool, 4096u << 2 * i,
			  i & 1 ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC
				: KFD_IOC_ALLOC_MEM_FLAGS_GTT);
	event_new(pool);
	if (once_in(&pool->dice, 2))
		runtime_enable(&pool->gpu, 1);
	for (unsigned i = 0; i < 4; i++) {
		struct raw_queue *queue = &pool->queues[i];

		queue_args(&pool->gpu, queue, &args);
		args.queue_type = types[i];
		args.queue_priority = below(&pool->dice, 11); /* below the neighbour's */
		if (queue_create(&pool->gpu, queue, &args))
			break;
		pool->n_queues++;
		put_known(pool, &queue->ring);
		put_known(pool, &queue->pointers[0]);
		put_known(pool, &queue->pointers[1]);
		put_known(pool, &queue->eop);
	}
	put_known(pool, &pool->queues[0].save);
}

uint64_t any_address(struct pool *pool)
{
	struct dice *dice = &pool->dice;
	const struct buffer *area = &pool->buffers[below(dice, pool->n_buffers)];
	uint64_t at = (uint64_t)(uintptr_t)area->cpu;

	switch (below(dice, 16)) {
	case 0:
		return 0;
	case 1:
		return roll(dice);
	case 2:
		return roll(dice) >> 17; /* in user space */
	case 3:
		return at + area->size - below(dice, 16); /* across the end of the buffer */
	case 4:
		return (uint64_t)(uintptr_t)&pool->event; /* memory that is not the GPU's */
	case 5:
		return (uint64_t)(uintptr_t)pool->queues[0].doorbell;
	case 6:
		return at;
	default:
		return at + below(dice, (uint32_t)area->size) / 8 * 8;
	}
}

uint64_t any_value(struct pool *pool)
{
	struct dice *dice = &pool->dice;

	switch (below(dice, 14)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return (1ull << below(dice, 64)) - below(dice, 2);
	case 3:
		return roll(dice);
	case 4:
		return pool->gpu.gpu_id;
	case 5:
		return pool->queues[below(dice, 4)].id;
	case 6:
		return pool->buffers[below(dice, pool->n_buffers)].handle;
	case 7:
		return pool->event;
	case 8:
		return (uint64_t)pool->others[below(dice, 3)];
	case 9:
		return (uint64_t)(below(dice, 2) ? pool->gpu.render : pool->fds[below(dice, 2)]);
	case 10:
		return below(dice, 16);
	case 11:
		return 4096ull << below(dice, 12);
	default:
		return any_address(pool);
	}
}

/* ---- the neighbour ---- */

/* Copies random data by SDMA and checks the result. */
static void copy_right(struct word_queue *sdma, struct dice *dice, const struct buffer *from,
		       const struct buffer *to, struct signal *signal)
{
	noise(dice, from->cpu, 4ull * COPY_DWORDS);
	signal->value = 1;
	while (4 * sdma->written - *queue_rptr(&sdma->raw) > RING_PACKETS * 32)
		sleep_ms(1);
	PUT(sdma, 1, 4 * COPY_DWORDS - 1, 0, LO(from->cpu), HI(from->cpu), LO(to->cpu),
	    HI(to->cpu));
	PUT(sdma, 5, LO(&signal->value), HI(&signal->value), 0);
	words_ring(sdma);
	CHECK(comes(&signal->value, 0, WORK_MS));
	CHECK(!memcmp(from->cpu, to->cpu, 4ull * COPY_DWORDS));
}

/* Executes dispatches and barriers, and checks their completion signals, timestamps and order. */
static void compute_right(struct raw_queue *queue, struct signal *signals)
{
	for (unsigned i = 0; i < 4; i++)
		signals[i].value = 1;
	queue_dispatch(queue, 16, &signals[0]);
	queue_barrier(queue, &signals[0], &signals[1]);
	queue_dispatch(queue, 1, &signals[2]);
	queue_barrier(queue, NULL, &signals[3]);
	queue_ring(queue);
	CHECK(comes(&signals[3].value, 0, WORK_MS));
	CHECK(!signals[0].value && !signals[1].value && !signals[2].value);
	CHECK(signals[0].start_ts && signals[0].start_ts <= signals[0].end_ts);
	CHECK(signals[0].end_ts <= signals[2].start_ts && signals[2].start_ts <= signals[2].end_ts);
	CHECK_IS(*queue_rptr(queue), queue->written);
}

static void neighbour(int from, int to)
{
	struct dice dice = {1};
	struct kfdabi_create_queue args;
	struct buffer source, target;
	struct word_queue sdma;
	struct signal *signals;
	struct raw_queue queue;
	struct gpu_file gpu;
	unsigned rounds = 0;

	gpu_open(&gpu);
	signals = signals_new(&gpu);
	/* The priority is above that of all queues of the rounds, because starvation is not tested
	 * here. */
	queue_args(&gpu, &queue, &args);
	args.queue_priority = 15;
	CHECK_IS(queue_create(&gpu, &queue, &args), 0);
	words_new(&gpu, &sdma, KFD_IOC_QUEUE_TYPE_SDMA);
	gtt_new(&gpu, 4 * COPY_DWORDS, &source);
	vram_new(&gpu, 4 * COPY_DWORDS, &target);
	notify(to);
	while (!hears(from, 0)) {
		compute_right(&queue, signals);
		copy_right(&sdma, &dice, &source, &target, &signals[4]);
		rounds++;
	}
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	CHECK_IS(queue_destroy(&gpu, sdma.raw.id), 0);
	CHECK(rounds > 3);
	printf("neighbour: %u rounds of work, all right\n", rounds);
	fflush(stdout);
}

/* ---- rounds ---- */

struct running {
	pid_t pid; /* 0: none */
	uint64_t until_ns;
	bool killed;
};

/* Starts a round in a child process. `beside`: the neighbour's pid, one of the pids that the round
 * may use. */
static pid_t start(uint64_t seed, void (*round)(struct pool *), pid_t beside,
		   const struct running *running)
{
	static struct pool pool;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	CHECK(freopen("/dev/null", "w", stderr)); /* messages about bad input are of no interest */
	pool.others[0] = beside;
	pool.others[1] = running[0].pid;
	pool.others[2] = getpid();
	pool_new(&pool, seed);
	round(&pool);
	_exit(0);
}

/* Returns whether the round has ended. Kills it when its time is over. */
static bool over(struct running *one)
{
	uint64_t now = clock_ns();
	pid_t r = waitpid(one->pid, NULL, WNOHANG);

	CHECK(r >= 0);
	if (r)
		return true;
	if (now < one->until_ns)
		return false;
	CHECK(!one->killed); /* otherwise the process cannot be killed */
	kill(one->pid, SIGKILL);
	one->killed = true;
	one->until_ns = now + DEATH_NS;
	return false;
}

int fuzz(int argc, char **argv, void (*round)(struct pool *pool))
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, n = 0;
	uint64_t end = clock_ns() + 1000000000ull * (argc > 2 ? strtoul(argv[2], NULL, 10) : 3);
	struct running running[AT_ONCE] = {0};
	struct child beside;
	bool some = true;

	signal(SIGPIPE, SIG_IGN);
	child_begin(&beside, neighbour);
	hear(beside.from);
	while (some) {
		some = false;
		for (unsigned i = 0; i < AT_ONCE; i++) {
			struct running *one = &running[i];

			if (one->pid && over(one))
				one->pid = 0;
			if (!one->pid && clock_ns() < end)
				*one = (struct running){.pid = start(seed + n++ * SEEDS_APART,
								     round, beside.pid, running),
							.until_ns = clock_ns() + ROUND_NS};
			some |= one->pid != 0;
		}
		sleep_ms(2);
	}
	notify(beside.to);
	CHECK_IS(child_end(&beside), 0);
	printf("seed %llu: %llu rounds\n", (unsigned long long)seed, (unsigned long long)n);
	return 0;
}
