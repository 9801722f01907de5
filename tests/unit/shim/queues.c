// SPDX-License-Identifier: MIT
/* Proves that the queue table follows the ioctls, and that the agent never uses memory of a
 * destroyed queue. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "shim/activity.h"
#include "shim/queue_table.h"
#include "shim/readers.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define SDMA KFD_IOC_QUEUE_TYPE_SDMA

static struct fake_daemon daemon_;

/* Starts the agent with one queue and a daemon that has been informed of it. */
static void begin(struct fake_queue *q)
{
	fake_begin(&daemon_, q);
	fake_daemon_remove(&daemon_);
}

static void listed(void)
{
	struct fake_queue q, sdma;
	struct client_shm_queue entry;

	begin(&q);
	CHECK(fake_daemon_queue(&daemon_, 0, &entry) == 0);
	CHECK(entry.gpu_id == FAKE_GPU && entry.type == AQL && entry.priority == 7);
	CHECK(entry.hsa_queue == q.hsa_queue);
	CHECK(entry.wptr_address == (uint64_t)(uintptr_t)q.wptr);
	CHECK(entry.rptr_address == (uint64_t)(uintptr_t)q.rptr);
	CHECK(entry.ring_bytes == 4096 && entry.percent == 100);
	CHECK(entry.cwsr_address == 0x123000 && entry.cwsr_bytes == 0x2000);
	CHECK(fake_queue_create(&sdma, SDMA) == 0);
	CHECK(fake_daemon_queue(&daemon_, 1, &entry) == 0);
	CHECK(entry.type == SDMA && entry.hsa_queue == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 2);
}

static void update_is_tracked(void)
{
	struct client_shm_queue entry;
	struct fake_queue q;
	uint32_t generation;

	begin(&q);
	generation = daemon_.shm->queue_generation;
	CHECK(fake_queue_update(&q, 15, 50) == 0);
	CHECK(fake_daemon_queue(&daemon_, 0, &entry) == 0);
	CHECK(entry.priority == 15 && entry.percent == 50);
	CHECK(daemon_.shm->queue_generation == generation + 1);
}

static bool moved;

static void *move_ring(void *arg)
{
	struct fake_queue *q = arg;
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = (uint64_t)(uintptr_t)q->memory,
		.queue_id = q->id,
		.ring_size = 4096,
		.queue_percentage = 100,
	};

	CHECK(fake_ioctl(fake.fd, AMDKFD_IOC_UPDATE_QUEUE, &args) == 0);
	__atomic_store_n(&moved, true, __ATOMIC_SEQ_CST);
	return NULL;
}

/* UPDATE_QUEUE changes the ring: when the call returns, no reader that has found the old ring is
 * left. */
static void an_old_ring_has_no_readers(void)
{
	struct fake_queue q;
	pthread_t thread;

	begin(&q);
	CHECK(readers_begin());
	CHECK(pthread_create(&thread, NULL, move_ring, &q) == 0);
	EVENTUALLY(fake.updates == 1, 1000);
	fake_sleep_us(30000);
	CHECK(!__atomic_load_n(&moved, __ATOMIC_SEQ_CST));
	readers_end();
	CHECK(pthread_join(thread, NULL) == 0);
}

/* A smaller ring at the same address counts as another ring: packets of the old ring are not
 * searched in it. */
static void a_smaller_ring_is_another(void)
{
	struct fake_signal last = {.kind = 1};
	struct fake_queue q;
	struct kfd_ioctl_update_queue_args args = {.ring_size = 2048, .queue_percentage = 100};

	begin(&q);
	fake_ring(&q, &last);
	args.ring_base_address = (uint64_t)(uintptr_t)q.memory + 4096;
	args.queue_id = q.id;
	CHECK(fake_ioctl(fake.fd, AMDKFD_IOC_UPDATE_QUEUE, &args) == 0);
	fake_waited(&last);
	fake_settle();
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) == 1);
}

static struct fake_queue *destroyed;

static void gone_already(void)
{
	struct client_shm_queue entry;

	CHECK(fake_daemon_queue(&daemon_, destroyed->id, &entry) == -ENOENT);
	/* If the agent still read this memory, the test would crash. */
	fake_queue_unmap(destroyed);
	fake_sleep_us(20000);
	fake.agent->doorbell((uint64_t)(uintptr_t)destroyed->doorbell);
}

static void gone_before_destroy(void)
{
	struct fake_queue q, other;

	begin(&q);
	CHECK(fake_queue_create(&other, AQL) == 0);
	fake_ring(&q, NULL);
	fake_ring(&other, NULL); /* keeps the sampler polling */
	fake_sleep_us(5000);
	destroyed = &q;
	fake.on_destroy = gone_already;
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake.active_doorbells[kfdshim_doorbell_slot((uint64_t)(uintptr_t)q.doorbell)] !=
	      (uint64_t)(uintptr_t)q.doorbell);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
}

static void back_if_destroy_fails(void)
{
	struct client_shm_queue entry;
	struct fake_queue q;

	begin(&q);
	fake.destroy_errno = EBUSY;
	errno = 0;
	CHECK(fake_queue_destroy(&q) == -1 && errno == EBUSY);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.hsa_queue == q.hsa_queue);
	/* The queue works as before. */
	fake_ring(&q, NULL);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	fake_drain(&q);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	fake.destroy_errno = 0;
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 0);
}

/* ROCr frees the memory of a queue even if its DESTROY_QUEUE has failed. */
static void back_but_freed(void)
{
	struct fake_queue q;

	begin(&q);
	fake_ring(&q, NULL);
	fake.destroy_errno = EBUSY;
	CHECK(fake_queue_destroy(&q) == -1);
	fake_ring(&q, NULL);
	fake_queue_unmap(&q);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
}

/* The next queue is made in that memory. */
static void back_but_replaced(bool noticed)
{
	struct fake_signal last = {.kind = 1};
	struct kfdabi_create_queue args;
	struct fake_queue first, q;
	struct client_shm_queue entry;
	uint32_t old;

	begin(&first);
	fake_queue_memory(&q, AQL, &args);
	CHECK(fake_ioctl(FAKE_FD, _IOWR('K', 2, struct kfdabi_create_queue), &args) == 0);
	q.id = old = args.queue_id;
	fake_ring(&q, NULL);
	fake.destroy_errno = EBUSY;
	CHECK(fake_queue_destroy(&q) == -1);
	if (noticed) {
		CHECK(mprotect(q.memory, 8192, PROT_NONE) == 0);
		EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
		CHECK(mprotect(q.memory, 8192, PROT_READ | PROT_WRITE) == 0);
	}
	*q.wptr = *q.rptr = 0;
	CHECK(fake_ioctl(FAKE_FD, _IOWR('K', 2, struct kfdabi_create_queue), &args) == 0);
	q.id = args.queue_id;
	CHECK(q.id != old);
	CHECK(fake_daemon_queue(&daemon_, old, &entry) == 0 && entry.hsa_queue == 0);
	for (int i = 0; i < 3; i++) {
		fake_ring(&q, &last);
		EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
		CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0);
		CHECK(entry.hsa_queue == q.hsa_queue && entry.hooked == 1);
		fake_drain(&q);
		fake_waited(&last);
		fake_settle();
		CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 0);
	}
}

static void back_but_replaced_at_once(void)
{
	back_but_replaced(false);
}

static void back_but_replaced_later(void)
{
	back_but_replaced(true);
}

/* The doorbell was seen, and then the queue's memory was gone. */
static void no_bell_of_a_lost_queue(void)
{
	struct fake_queue q;

	begin(&q);
	agent_lock();
	fake.agent->doorbell((uint64_t)(uintptr_t)q.doorbell);
	queue_lost(shim_queue_by_id(0, q.id));
	agent_unlock();
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 0);
	fake_ring(&q, NULL);
	fake_settle();
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 0);
}

static void gone_with_eio(void)
{
	struct fake_queue q;

	begin(&q);
	fake.destroy_errno = EIO;
	CHECK(fake_queue_destroy(&q) == -1 && errno == EIO);
	CHECK(fake_daemon_queue_count(&daemon_) == 0);
}

static void ids_come_again(void)
{
	struct fake_queue q, next;
	struct client_shm_queue entry;

	begin(&q);
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_queue_create(&next, SDMA) == 0 && next.id == q.id);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.type == SDMA);
	/* The same holds if a DESTROY_QUEUE by a bare system call was not seen. */
	memset(fake.ids, 0, sizeof(fake.ids));
	CHECK(fake_queue_create(&q, AQL) == 0 && q.id == next.id);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.type == AQL);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
}

static void failed_create_is_no_queue(void)
{
	struct fake_queue q, other;

	begin(&q);
	fake.create_errno = ENOSPC;
	errno = 0;
	CHECK(fake_queue_create(&other, AQL) == -1 && errno == ENOSPC);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
}

/* KFD 1.17 made the struct of CREATE_QUEUE longer; the older one has 88 bytes. */
static void structs_of_any_size(void)
{
	union {
		struct kfd_ioctl_update_queue_args args;
		uint8_t bytes[200];
	} longer = {.bytes = {0}};
	struct client_shm_queue entry;
	struct fake_queue q;

	begin(&q);
	longer.args = (struct kfd_ioctl_update_queue_args){
		.queue_id = q.id, .queue_priority = 11, .queue_percentage = 30};
	longer.bytes[199] = 0x5a;
	CHECK(fake_ioctl(fake.fd, _IOC(_IOC_WRITE, 'K', KFDABI_UPDATE_QUEUE, 200), &longer) == 0);
	CHECK(fake_daemon_queue(&daemon_, 0, &entry) == 0 && entry.priority == 11);
	CHECK(fake.priorities[q.id] == 11 && fake.percents[q.id] == 30 && fake.update_end == 0x5a);
	fake.args_bytes = 88;
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_queue(&daemon_, 1, &entry) == 0 && entry.cwsr_bytes == 0x2000);
	fake.args_bytes = 48; /* too short to contain the id */
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 2);
	fake.args_bytes = 200;
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.hsa_queue == q.hsa_queue);
}

static struct shim_queue *reads;

static void *read_for_ever(void *hsa_queue)
{
	CHECK(readers_begin());
	__atomic_store_n(&reads, queue_by_hsa(*(const uint64_t *)hsa_queue), __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

/* A thread never finishes its read of the table: it stands in a debugger, or a signal handler has
 * jumped out of it. The program's DESTROY_QUEUE still returns, and the memory that the thread may
 * read is never freed. */
static void reader_that_never_ends(void)
{
	struct fake_queue q;
	pthread_t thread;
	uint64_t begun;

	begin(&q);
	alarm(20);
	CHECK(pthread_create(&thread, NULL, read_for_ever, &q.hsa_queue) == 0);
	EVENTUALLY(__atomic_load_n(&reads, __ATOMIC_SEQ_CST) != NULL, 1000);
	begun = clock_ns();
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(clock_ns() - begun < 1000000000u);
	CHECK(reads->id == q.id); /* a sanitizer reports if it was freed */
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
}

/* Does what libkfdshim.so does with a signal, which need not be a doorbell. Returns whether the
 * agent was called. */
static bool store_by_the_program(const struct fake_signal *signal)
{
	uint64_t handle = (uint64_t)(uintptr_t)signal;

	if (__atomic_load_n(&fake.active_doorbells[kfdshim_doorbell_slot(handle)],
			    __ATOMIC_RELAXED) == handle)
		return false;
	fake.agent->doorbell(handle);
	return true;
}

/* A profiler puts an intercept queue before the real one. While the real queue is known to be
 * active, the intercept queue's doorbell costs as little as any other. Its slot in the table of
 * active doorbells is freed with it. */
static void intercept_queue_enters_the_cache(void)
{
	static struct fake_signal bell = {.kind = 1}, last = {.kind = 1};
	static uint64_t
		intercept_queue[8]; /* a fake hsa_queue_t: doorbell at offset 16, id at 32 */
	struct fake_queue q;

	begin(&q);
	intercept_queue[2] = (uint64_t)(uintptr_t)&bell;
	intercept_queue[4] = ((uint64_t *)q.memory)[4] = 77;
	fake.agent->handle_made((uint64_t)(uintptr_t)intercept_queue);
	CHECK(fake.n_intercept_queues == 1);
	for (int i = 0; i < 3; i++) {
		CHECK(store_by_the_program(&bell));
		EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
		CHECK(!store_by_the_program(&bell));
		fake_submit(&q, &last);
		fake_drain(&q);
		fake_waited(&last);
		EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	}
	CHECK(store_by_the_program(&bell));
	EVENTUALLY(!store_by_the_program(&bell), 1000);
	fake.agent->handle_gone((uint64_t)(uintptr_t)intercept_queue);
	CHECK(fake.n_intercept_queues == 0 && store_by_the_program(&bell));
}

/* An AQL queue that no HSA runtime made: the agent reports no hsa_queue_t for it, and the search
 * for one before the page of the read pointer does not crash. */
static void raw_queue(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kfdabi_create_queue args = {
		.queue_type = AQL, .gpu_id = FAKE_GPU, .ring_size = 4096, .queue_percentage = 100};
	struct client_shm_queue entry;
	struct fake_queue q;

	begin(&q);
	args.ring_base_address = (uint64_t)(uintptr_t)page;
	CHECK(page != MAP_FAILED && munmap(page, 4096) == 0);
	args.read_pointer_address = (uint64_t)(uintptr_t)(page + 4096);
	args.write_pointer_address = (uint64_t)(uintptr_t)(page + 4096 + 8);
	CHECK(fake_ioctl(FAKE_FD, _IOWR('K', 2, struct kfdabi_create_queue), &args) == 0);
	CHECK(fake_daemon_queue(&daemon_, args.queue_id, &entry) == 0 && entry.hsa_queue == 0);
	/* The sampler still sees its work. */
	__atomic_store_n((uint64_t *)(page + 4096 + 8), 5, __ATOMIC_SEQ_CST);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
}

static void bad_pointers_go_to_the_driver(void)
{
	struct fake_queue q;

	begin(&q);
	fake.destroy_errno = EFAULT; /* the driver's error */
	memset(fake.calls, 0, sizeof(fake.calls));
	CHECK(fake_ioctl(FAKE_FD, AMDKFD_IOC_DESTROY_QUEUE, (void *)8) == -1 && errno == EFAULT);
	CHECK(strcmp(fake.calls, "D") == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
}

static void more_queues_than_shm_has_room_for(void)
{
	struct kfdabi_create_queue args = {.queue_type = SDMA, .gpu_id = FAKE_GPU};
	static uint64_t words[2];
	struct fake_queue q;

	begin(&q);
	args.read_pointer_address = (uint64_t)(uintptr_t)&words[0];
	args.write_pointer_address = (uint64_t)(uintptr_t)&words[1];
	for (uint32_t i = 1; i < CLIENT_SHM_QUEUES + 100; i++)
		CHECK(fake_ioctl(FAKE_FD, _IOWR('K', 2, struct kfdabi_create_queue), &args) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == (int)CLIENT_SHM_QUEUES);
	/* Queues beyond the table still count as work of their node. */
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 0);
	fake_ring(&q, NULL);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
}

IN_CHILD(listed)
IN_CHILD(update_is_tracked)
IN_CHILD(an_old_ring_has_no_readers)
IN_CHILD(a_smaller_ring_is_another)
IN_CHILD(gone_before_destroy)
IN_CHILD(back_if_destroy_fails)
IN_CHILD(back_but_freed)
IN_CHILD(back_but_replaced_at_once)
IN_CHILD(back_but_replaced_later)
IN_CHILD(no_bell_of_a_lost_queue)
IN_CHILD(gone_with_eio)
IN_CHILD(ids_come_again)
IN_CHILD(failed_create_is_no_queue)
IN_CHILD(structs_of_any_size)
IN_CHILD(reader_that_never_ends)
IN_CHILD(intercept_queue_enters_the_cache)
IN_CHILD(raw_queue)
IN_CHILD(bad_pointers_go_to_the_driver)
IN_CHILD(more_queues_than_shm_has_room_for)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_update_is_tracked),
		cmocka_unit_test(test_an_old_ring_has_no_readers),
		cmocka_unit_test(test_a_smaller_ring_is_another),
		cmocka_unit_test(test_gone_before_destroy),
		cmocka_unit_test(test_back_if_destroy_fails),
		cmocka_unit_test(test_back_but_freed),
		cmocka_unit_test(test_back_but_replaced_at_once),
		cmocka_unit_test(test_back_but_replaced_later),
		cmocka_unit_test(test_no_bell_of_a_lost_queue),
		cmocka_unit_test(test_gone_with_eio),
		cmocka_unit_test(test_ids_come_again),
		cmocka_unit_test(test_failed_create_is_no_queue),
		cmocka_unit_test(test_structs_of_any_size),
		cmocka_unit_test(test_reader_that_never_ends),
		cmocka_unit_test(test_intercept_queue_enters_the_cache),
		cmocka_unit_test(test_raw_queue),
		cmocka_unit_test(test_bad_pointers_go_to_the_driver),
		cmocka_unit_test(test_more_queues_than_shm_has_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
