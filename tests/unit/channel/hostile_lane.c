// SPDX-License-Identifier: MIT
/*
 * Proves that shared memory (`struct client_shm`, `struct daemon_shm`) with a wrong header, size or
 * seals is refused, and that the accessors reject invalid values that a hostile client writes to
 * its shared memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel/client_shm.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* Returns a memfd with this header, size and seals. */
static int make(const void *head, size_t head_size, size_t size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, head, head_size, 0), (ssize_t)head_size);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void refuse_shm(uint64_t magic, uint32_t version, uint32_t size, size_t bytes, int seals)
{
	struct {
		uint64_t magic;
		uint32_t version, size;
	} head = {magic, version, size};
	int fd = make(&head, sizeof(head), bytes, seals);
	struct client_shm *shm = NULL;

	assert_int_equal(client_shm_map(fd, &shm), -EPROTO);
	assert_null(shm);
	close(fd);
}

static void foreign_client_shm(void **state)
{
	const size_t size = sizeof(struct client_shm);
	struct client_shm *shm;
	int fds[2];

	(void)state;
	refuse_shm(CLIENT_SHM_MAGIC, CLIENT_SHM_VERSION, size, size - 1, SEALS);
	refuse_shm(CLIENT_SHM_MAGIC, CLIENT_SHM_VERSION, size, size + 4096, SEALS);
	refuse_shm(CLIENT_SHM_MAGIC, CLIENT_SHM_VERSION, size, size, 0);
	refuse_shm(CLIENT_SHM_MAGIC, CLIENT_SHM_VERSION, size, size, F_SEAL_GROW);
	refuse_shm(CLIENT_SHM_MAGIC, CLIENT_SHM_VERSION, size, size, F_SEAL_SHRINK);
	refuse_shm(CLIENT_SHM_MAGIC + 1, CLIENT_SHM_VERSION, size, size, SEALS);
	refuse_shm(CLIENT_SHM_MAGIC, CLIENT_SHM_VERSION + 1, size, size, SEALS);
	refuse_shm(CLIENT_SHM_MAGIC, CLIENT_SHM_VERSION, size - 1, size, SEALS);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(client_shm_map(fds[0], &shm), -EPROTO);
	close(fds[0]);
	close(fds[1]);
	assert_true(client_shm_map(fds[0], &shm) < 0);
}

static void foreign_daemon_shm(void **state)
{
	struct {
		uint64_t magic;
		uint32_t version, size;
	} head = {DAEMON_SHM_MAGIC, CLIENT_SHM_VERSION, sizeof(struct daemon_shm)};
	const struct daemon_shm *daemon_shm = NULL;
	int fd = make(&head, sizeof(head), sizeof(struct daemon_shm), SEALS);

	(void)state;
	/* Without F_SEAL_FUTURE_WRITE any holder of the fd could still write to this one. */
	assert_int_equal(daemon_shm_map(fd, &daemon_shm), -EPROTO);
	close(fd);
	head.magic = CLIENT_SHM_MAGIC;
	fd = make(&head, sizeof(head), sizeof(struct daemon_shm), SEALS | F_SEAL_FUTURE_WRITE);
	assert_int_equal(daemon_shm_map(fd, &daemon_shm), -EPROTO);
	close(fd);
	assert_null(daemon_shm);
}

static void size_is_sealed(void **state)
{
	struct client_shm *shm;
	int fd = client_shm_create(CLIENT_SHM_VERSION, &shm);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	client_shm_unmap(shm);
	close(fd);
}

static void torn_entries(void **state)
{
	struct client_shm_queue out;
	struct client_shm *shm;
	int fd = client_shm_create(CLIENT_SHM_VERSION, &shm);

	(void)state;
	assert_true(fd >= 0);
	shm->queues[0].used = 1;
	shm->queues[0].gpu_id = 1;
	assert_int_equal(client_shm_queue_read(shm, 0, &out), 0);
	shm->queues[0].seq = 7; /* as of a writer that never finishes */
	assert_int_equal(client_shm_queue_read(shm, 0, &out), -EAGAIN);
	client_shm_unmap(shm);
	close(fd);
}

static void fields_out_of_range(void **state)
{
	const struct client_shm_queue good = {
		.used = 1, .gpu_id = 1, .percent = 100, .priority = 15};
	const size_t fields[] = {
		offsetof(struct client_shm_queue, used),
		offsetof(struct client_shm_queue, queue_id),
		offsetof(struct client_shm_queue, type),
		offsetof(struct client_shm_queue, priority),
		offsetof(struct client_shm_queue, percent),
		offsetof(struct client_shm_queue, hooked),
		offsetof(struct client_shm_queue, state),
		offsetof(struct client_shm_queue, cooperative),
	};
	const uint32_t bad[] = {2, 1024, 5, 16, 101, 2, 3, 2};
	struct client_shm_queue out;
	struct client_shm *shm;
	int fd = client_shm_create(CLIENT_SHM_VERSION, &shm);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		shm->queues[9] = good;
		assert_int_equal(client_shm_queue_read(shm, 9, &out), 0);
		memcpy((char *)&shm->queues[9] + fields[i], &bad[i], sizeof(bad[i]));
		assert_int_equal(client_shm_queue_read(shm, 9, &out), -ERANGE);
		memset((char *)&shm->queues[9] + fields[i], 0xff, sizeof(bad[i]));
		assert_int_equal(client_shm_queue_read(shm, 9, &out), -ERANGE);
	}
	shm->queues[9] = good;
	shm->queues[9].gpu_id = 0;
	assert_int_equal(client_shm_queue_read(shm, 9, &out), -ERANGE);
	client_shm_unmap(shm);
	close(fd);
}

static void foreign_events(void **state)
{
	struct client_shm_event out;
	struct client_shm *shm;
	int fd = client_shm_create(CLIENT_SHM_VERSION, &shm);

	(void)state;
	assert_true(fd >= 0);
	shm->events_number = UINT64_MAX;
	assert_int_equal(client_shm_event_read(shm, UINT64_MAX, &out), -ENOENT);
	shm->events[7].number = 7;
	assert_int_equal(client_shm_event_read(shm, 7, &out), -ERANGE);
	shm->events[7].kind = CLIENT_SHM_EVENT_KINDS;
	assert_int_equal(client_shm_event_read(shm, 7, &out), -ERANGE);
	assert_int_equal(client_shm_event_read(shm, 0, &out), -ENOENT);
	client_shm_unmap(shm);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_client_shm),  cmocka_unit_test(foreign_daemon_shm),
		cmocka_unit_test(size_is_sealed),      cmocka_unit_test(torn_entries),
		cmocka_unit_test(fields_out_of_range), cmocka_unit_test(foreign_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
