// SPDX-License-Identifier: MIT
/*
 * Proves that shared memory (`struct lane`, `struct board`) with a wrong header, size or seals is
 * refused, and that the accessors reject invalid values that a hostile client writes to its shared
 * memory.
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

static void refuse_lane(uint64_t magic, uint32_t version, uint32_t size, size_t bytes, int seals)
{
	struct {
		uint64_t magic;
		uint32_t version, size;
	} head = {magic, version, size};
	int fd = make(&head, sizeof(head), bytes, seals);
	struct lane *lane = NULL;

	assert_int_equal(lane_map(fd, &lane), -EPROTO);
	assert_null(lane);
	close(fd);
}

static void foreign_lanes(void **state)
{
	const size_t size = sizeof(struct lane);
	struct lane *lane;
	int fds[2];

	(void)state;
	refuse_lane(LANE_MAGIC, LANE_VERSION, size, size - 1, SEALS);
	refuse_lane(LANE_MAGIC, LANE_VERSION, size, size + 4096, SEALS);
	refuse_lane(LANE_MAGIC, LANE_VERSION, size, size, 0);
	refuse_lane(LANE_MAGIC, LANE_VERSION, size, size, F_SEAL_GROW);
	refuse_lane(LANE_MAGIC, LANE_VERSION, size, size, F_SEAL_SHRINK);
	refuse_lane(LANE_MAGIC + 1, LANE_VERSION, size, size, SEALS);
	refuse_lane(LANE_MAGIC, LANE_VERSION + 1, size, size, SEALS);
	refuse_lane(LANE_MAGIC, LANE_VERSION, size - 1, size, SEALS);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(lane_map(fds[0], &lane), -EPROTO);
	close(fds[0]);
	close(fds[1]);
	assert_true(lane_map(fds[0], &lane) < 0);
}

static void foreign_boards(void **state)
{
	struct {
		uint64_t magic;
		uint32_t version, size;
	} head = {BOARD_MAGIC, LANE_VERSION, sizeof(struct board)};
	const struct board *board = NULL;
	int fd = make(&head, sizeof(head), sizeof(struct board), SEALS);

	(void)state;
	/* Without F_SEAL_FUTURE_WRITE any holder of the fd could still write to this one. */
	assert_int_equal(board_map(fd, &board), -EPROTO);
	close(fd);
	head.magic = LANE_MAGIC;
	fd = make(&head, sizeof(head), sizeof(struct board), SEALS | F_SEAL_FUTURE_WRITE);
	assert_int_equal(board_map(fd, &board), -EPROTO);
	close(fd);
	assert_null(board);
}

static void size_is_sealed(void **state)
{
	struct lane *lane;
	int fd = lane_create(LANE_VERSION, &lane);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	lane_unmap(lane);
	close(fd);
}

static void torn_entries(void **state)
{
	struct lane_queue out;
	struct lane *lane;
	int fd = lane_create(LANE_VERSION, &lane);

	(void)state;
	assert_true(fd >= 0);
	lane->queues[0].used = 1;
	lane->queues[0].gpu_id = 1;
	assert_int_equal(lane_queue_read(lane, 0, &out), 0);
	lane->queues[0].seq = 7; /* as of a writer that never finishes */
	assert_int_equal(lane_queue_read(lane, 0, &out), -EAGAIN);
	lane_unmap(lane);
	close(fd);
}

static void fields_out_of_range(void **state)
{
	const struct lane_queue good = {.used = 1, .gpu_id = 1, .percent = 100, .priority = 15};
	const size_t fields[] = {
		offsetof(struct lane_queue, used),    offsetof(struct lane_queue, queue_id),
		offsetof(struct lane_queue, type),    offsetof(struct lane_queue, priority),
		offsetof(struct lane_queue, percent), offsetof(struct lane_queue, hooked),
		offsetof(struct lane_queue, state),   offsetof(struct lane_queue, cooperative),
	};
	const uint32_t bad[] = {2, 1024, 5, 16, 101, 2, 3, 2};
	struct lane_queue out;
	struct lane *lane;
	int fd = lane_create(LANE_VERSION, &lane);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		lane->queues[9] = good;
		assert_int_equal(lane_queue_read(lane, 9, &out), 0);
		memcpy((char *)&lane->queues[9] + fields[i], &bad[i], sizeof(bad[i]));
		assert_int_equal(lane_queue_read(lane, 9, &out), -ERANGE);
		memset((char *)&lane->queues[9] + fields[i], 0xff, sizeof(bad[i]));
		assert_int_equal(lane_queue_read(lane, 9, &out), -ERANGE);
	}
	lane->queues[9] = good;
	lane->queues[9].gpu_id = 0;
	assert_int_equal(lane_queue_read(lane, 9, &out), -ERANGE);
	lane_unmap(lane);
	close(fd);
}

static void foreign_events(void **state)
{
	struct lane_event out;
	struct lane *lane;
	int fd = lane_create(LANE_VERSION, &lane);

	(void)state;
	assert_true(fd >= 0);
	lane->events_number = UINT64_MAX;
	assert_int_equal(lane_event_read(lane, UINT64_MAX, &out), -ENOENT);
	lane->events[7].number = 7;
	assert_int_equal(lane_event_read(lane, 7, &out), -ERANGE);
	lane->events[7].kind = LANE_EVENT_KINDS;
	assert_int_equal(lane_event_read(lane, 7, &out), -ERANGE);
	assert_int_equal(lane_event_read(lane, 0, &out), -ENOENT);
	lane_unmap(lane);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_lanes),       cmocka_unit_test(foreign_boards),
		cmocka_unit_test(size_is_sealed),      cmocka_unit_test(torn_entries),
		cmocka_unit_test(fields_out_of_range), cmocka_unit_test(foreign_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
