// SPDX-License-Identifier: MIT
/*
 * Proves what the agent learns from ioctls on several descriptors: KFD contexts, CU masks and GWS,
 * and the order of the events.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "shim/descriptor.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define SDMA KFD_IOC_QUEUE_TYPE_SDMA
#define CREATE_PROCESS _IO('K', KFDABI_CREATE_PROCESS)

static struct fake_daemon daemon_;

static void begin(struct fake_queue *q)
{
	fake_begin(&daemon_, q);
	fake_daemon_remove(&daemon_);
}

/* Returns an open file that stands for one of the driver. */
static int open_file(void)
{
	int fd = memfd_create("kfd", MFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static int listed(uint32_t context, uint32_t id)
{
	struct client_shm_queue q;
	int n = 0;

	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		if (fake_daemon_entry(&daemon_, i, &q) == 0 && q.context == context &&
		    q.queue_id == id)
			n++;
	return n;
}

/* The driver numbers the queues of each context from 0. */
static void new_context(int fd)
{
	fake.fd = fd;
	CHECK(fake_ioctl(fd, CREATE_PROCESS, NULL) == 0);
	memset(fake.ids, 0, sizeof(fake.ids));
}

static void descriptors_share_a_context(void)
{
	struct fake_queue q, other;

	begin(&q);
	fake.fd = open_file();
	CHECK(fake_queue_create(&other, SDMA) == 0 && other.id == 1);
	CHECK(listed(0, 0) == 1 && listed(0, 1) == 1);
	fake.fd = open_file();
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(listed(0, 0) == 0 && listed(0, 1) == 1);
}

static void contexts_have_own_ids(void)
{
	struct fake_queue q, one, two;
	int first = open_file(), second = open_file();

	begin(&q);
	new_context(first);
	CHECK(fake_queue_create(&one, AQL) == 0 && one.id == q.id);
	new_context(second);
	CHECK(fake_queue_create(&two, AQL) == 0 && two.id == q.id);
	CHECK(listed(0, 0) == 1 && listed(1, 0) == 1 && listed(2, 0) == 1);
	fake.fd = first;
	CHECK(fake_queue_update(&one, 11, 60) == 0);
	fake.fd = dup(second); /* the same open file */
	CHECK(fake_queue_destroy(&two) == 0);
	CHECK(listed(0, 0) == 1 && listed(1, 0) == 1 && listed(2, 0) == 0);
	fake.ids[0] = 1;
	fake.fd = open_file();
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(listed(0, 0) == 0 && listed(1, 0) == 1);
}

static void numbers_are_used_again(void)
{
	int file = open_file(), copy;
	struct fake_queue q, other;

	begin(&q);
	new_context(file);
	CHECK(close(file) == 0);
	copy = open_file();
	CHECK(copy == file);
	fake.fd = copy;
	fake.ids[0] = 1;
	CHECK(fake_queue_create(&other, SDMA) == 0);
	CHECK(listed(0, 1) == 1 && listed(1, 1) == 0);
}

/* A context ends without a DESTROY_QUEUE, and its memory is freed. */
static void context_gone_with_its_memory(void)
{
	struct fake_queue q, other;
	int file = open_file();

	begin(&q);
	new_context(file);
	CHECK(fake_queue_create(&other, AQL) == 0);
	fake_ring(&other, NULL);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	CHECK(close(file) == 0);
	fake_queue_unmap(&other);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
}

/* The last descriptor of a context is closed and nothing else happens. The entries of its queues
 * must be removed. */
static void an_ended_context_is_forgotten(void)
{
	struct fake_queue q, other, more;
	struct client_shm_event event = {0};
	int file = open_file(), copy = dup(file);
	uint64_t n;

	begin(&q);
	new_context(file);
	CHECK(fake_queue_create(&other, AQL) == 0 && fake_queue_create(&more, SDMA) == 0);
	CHECK(listed(1, other.id) == 1 && listed(1, more.id) == 1);
	CHECK(close(file) == 0);
	fake_sleep_us(3500000);
	CHECK(listed(1, other.id) == 1 && listed(1, more.id) == 1); /* the copy is still open */
	n = daemon_.shm->events_number;
	CHECK(close(copy) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 5000);
	CHECK(listed(0, q.id) == 1);
	while (n < daemon_.shm->events_number)
		CHECK(client_shm_event_read(daemon_.shm, ++n, &event) == 0);
	CHECK(event.kind == CLIENT_SHM_EVENT_QUEUE_DESTROYED && event.context == 1);
	/* The number of the context is free for another one. */
	file = open_file();
	new_context(file);
	CHECK(fake_queue_create(&other, AQL) == 0 && listed(1, other.id) == 1);
}

/* Memory handles belong to one context. The memory of a context that has ended is not counted any
 * more. */
static void memory_is_a_contexts_own(void)
{
	const uint64_t page = 4096;
	struct fake_queue q;
	int file = open_file(), primary;
	uint64_t handle;

	begin(&q);
	primary = fake.fd;
	fake_handles_begin(1);
	CHECK(fake_alloc(FAKE_GPU, page, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &handle) == 0);
	new_context(file);
	fake_handles_begin(1);
	CHECK(fake_alloc(FAKE_GPU, 2 * page, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &handle) == 0);
	CHECK(daemon_.shm->nodes[0].vram_bytes == 3 * page);
	fake.fd = primary;
	CHECK(fake_free(handle) == 0);
	CHECK(daemon_.shm->nodes[0].vram_bytes == 2 * page);
	CHECK(close(file) == 0);
	EVENTUALLY(daemon_.shm->nodes[0].vram_bytes == 0, 5000);
}

/* RUNTIME_ENABLE of another context does not change the state of the process's own runtime. */
static void the_runtime_is_the_primarys(void)
{
	struct fake_queue q;
	int primary;

	begin(&q);
	primary = fake.fd;
	new_context(open_file());
	CHECK(fake_runtime(1) == 0);
	CHECK(daemon_.shm->runtime != CLIENT_SHM_RUNTIME_ENABLED);
	fake.fd = primary;
	CHECK(fake_runtime(1) == 0);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED);
	new_context(open_file());
	CHECK(fake_runtime(0) == 0);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED);
}

/* With more contexts than marks, those with a mark are seen. When some contexts have ended, others
 * can be seen. */
static void more_contexts_than_marks(void)
{
	struct fake_queue q, other;
	int first = -1, last = -1;

	begin(&q);
	for (int i = 0; i < 70; i++) {
		last = open_file();
		if (i == 0)
			first = last;
		new_context(last);
	}
	/* the mark of a context is never taken for the mark of the agent's own files */
	CHECK(!descriptor_is_ours(last));
	CHECK(fake_queue_create(&other, SDMA) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 1 && listed(0, 0) == 1);
	CHECK(close(first) == 0);
	fake_sleep_us(3500000);
	new_context(open_file());
	CHECK(fake_queue_create(&other, SDMA) == 0);
	CHECK(listed(1, other.id) == 1);
}

static void gws_makes_cooperative(void)
{
	struct kfd_ioctl_alloc_queue_gws_args args = {.num_gws = 64};
	struct client_shm_queue entry;
	struct fake_queue q;

	begin(&q);
	args.queue_id = q.id;
	CHECK(fake_ioctl(FAKE_FD, AMDKFD_IOC_ALLOC_QUEUE_GWS, &args) == 0);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.cooperative == 1);
	args.num_gws = 0;
	CHECK(fake_ioctl(FAKE_FD, AMDKFD_IOC_ALLOC_QUEUE_GWS, &args) == 0);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.cooperative == 0);
	fake.other_errno = EBUSY;
	args.num_gws = 64;
	errno = 0;
	CHECK(fake_ioctl(FAKE_FD, AMDKFD_IOC_ALLOC_QUEUE_GWS, &args) == -1 && errno == EBUSY);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.cooperative == 0);
}

static void mask_is_counted(void)
{
	const uint32_t mask[] = {0xff, 0x1, 0};
	struct kfd_ioctl_set_cu_mask_args args = {.num_cu_mask = 96,
						  .cu_mask_ptr = (uint64_t)(uintptr_t)mask};
	struct client_shm_queue entry;
	struct fake_queue q;

	begin(&q);
	args.queue_id = q.id;
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.cu_bits == 0);
	CHECK(fake_ioctl(FAKE_FD, AMDKFD_IOC_SET_CU_MASK, &args) == 0);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.cu_bits == 9);
	args.cu_mask_ptr = 8;
	CHECK(fake_ioctl(FAKE_FD, AMDKFD_IOC_SET_CU_MASK, &args) == 0);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.cu_bits == 9);
}

/* Returns the next event of a queue's life after number *n. */
static struct client_shm_event next_life(uint64_t *n)
{
	struct client_shm_event event;

	for (;;) {
		CHECK(client_shm_event_read(daemon_.shm, ++*n, &event) == 0);
		if (event.kind <= CLIENT_SHM_EVENT_QUEUE_DESTROYED ||
		    event.kind == CLIENT_SHM_EVENT_FAILED)
			return event;
	}
}

static void events_in_order(void)
{
	struct fake_queue q, other;
	struct client_shm_event event;
	uint64_t n;

	begin(&q);
	n = daemon_.shm->events_number;
	CHECK(fake_queue_create(&other, SDMA) == 0);
	CHECK(fake_queue_update(&other, 11, 60) == 0);
	fake.destroy_errno = EBUSY;
	CHECK(fake_queue_destroy(&other) == -1);
	fake.destroy_errno = 0;
	CHECK(fake_queue_destroy(&other) == 0);
	event = next_life(&n);
	CHECK(event.kind == CLIENT_SHM_EVENT_QUEUE_CREATED && event.queue_id == other.id &&
	      event.gpu_id == FAKE_GPU && event.context == 0);
	event = next_life(&n);
	CHECK(event.kind == CLIENT_SHM_EVENT_QUEUE_UPDATED && event.value == (60ull << 32 | 11));
	CHECK(next_life(&n).kind == CLIENT_SHM_EVENT_QUEUE_DESTROYED);
	event = next_life(&n);
	CHECK(event.kind == CLIENT_SHM_EVENT_FAILED && event.value == EBUSY);
	CHECK(next_life(&n).kind == CLIENT_SHM_EVENT_QUEUE_CREATED);
	CHECK(next_life(&n).kind == CLIENT_SHM_EVENT_QUEUE_DESTROYED);
	CHECK(n <= daemon_.shm->events_number);
}

static void unknown_to_the_driver_is_gone(void)
{
	struct fake_queue q;

	begin(&q);
	fake.destroy_errno = EINVAL;
	CHECK(fake_queue_destroy(&q) == -1 && errno == EINVAL);
	CHECK(fake_daemon_queue_count(&daemon_) == 0);
}

IN_CHILD(descriptors_share_a_context)
IN_CHILD(contexts_have_own_ids)
IN_CHILD(numbers_are_used_again)
IN_CHILD(context_gone_with_its_memory)
IN_CHILD(gws_makes_cooperative)
IN_CHILD(mask_is_counted)
IN_CHILD(events_in_order)
IN_CHILD(unknown_to_the_driver_is_gone)
IN_CHILD(the_runtime_is_the_primarys)

#ifndef __SANITIZE_THREAD__
IN_CHILD(an_ended_context_is_forgotten)
IN_CHILD(memory_is_a_contexts_own)
IN_CHILD(more_contexts_than_marks)
#else
/* The tests are compiled but not run. */
__attribute__((used)) static void (*const not_under_tsan[])(void) = {
	an_ended_context_is_forgotten, memory_is_a_contexts_own, more_contexts_than_marks};
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors_share_a_context),
		cmocka_unit_test(test_contexts_have_own_ids),
		cmocka_unit_test(test_numbers_are_used_again),
		cmocka_unit_test(test_context_gone_with_its_memory),
		cmocka_unit_test(test_gws_makes_cooperative),
		cmocka_unit_test(test_mask_is_counted),
		cmocka_unit_test(test_events_in_order),
		cmocka_unit_test(test_unknown_to_the_driver_is_gone),
		cmocka_unit_test(test_the_runtime_is_the_primarys),
#ifndef __SANITIZE_THREAD__
		/* These tests close descriptors while other threads use them, and the mock driver
		 * has no locks: ThreadSanitizer would report races that are not the agent's. */
		cmocka_unit_test(test_an_ended_context_is_forgotten),
		cmocka_unit_test(test_memory_is_a_contexts_own),
		cmocka_unit_test(test_more_contexts_than_marks),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
