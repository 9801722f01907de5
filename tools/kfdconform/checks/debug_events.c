// SPDX-License-Identifier: MIT
/* Checks of exceptions: dbg_fd, QUERY_DEBUG_EVENT, QUERY_EXCEPTION_INFO, and which process receives
 * an error. */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define DELETE_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_QUEUE_DELETE)
#define DIMENSION_MASK kfdabi_ec_mask(KFDABI_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID)
#define ALL_MASK (KFDABI_EC_QUEUE_MASK | KFDABI_EC_DEVICE_MASK | KFDABI_EC_PROCESS_MASK)

static int events;
static struct scripted_child child;

/* Calls SET_EXCEPTIONS_ENABLED on the target. */
static int set_enabled(uint64_t mask)
{
	return DBG_CALL(gpu.kfd, child.pid, KFDABI_TRAP_SET_EXCEPTIONS_ENABLED,
			.u.set_exceptions_enabled.exception_mask = mask);
}

/* Results of the last QUERY_DEBUG_EVENT. */
static struct {
	uint64_t status;
	uint32_t gpu_id, queue_id;
} event;

/* Calls QUERY_DEBUG_EVENT. `clear`: exceptions to clear. */
static int query(uint64_t clear)
{
	struct kfdabi_dbg_trap a = {
		.u.query_event = {.exception_mask = clear, .gpu_id = 77, .queue_id = 77}};
	int r = dbg_call(gpu.kfd, &a, child.pid, KFDABI_TRAP_QUERY_DEBUG_EVENT);

	event.status = a.u.query_event.exception_mask;
	event.gpu_id = a.u.query_event.gpu_id;
	event.queue_id = a.u.query_event.queue_id;
	return r;
}

static char room[64];
static uint32_t size = sizeof room; /* info_size: passed to QUERY_EXCEPTION_INFO, then its result */

/* Calls QUERY_EXCEPTION_INFO for exception `code`. `source`: a queue id or gpu_id, by the kind of
 * the code. */
static int query_info(uint32_t code, uint32_t source, void *at, bool clear)
{
	struct kfdabi_dbg_trap a = {.u.query_info = {.info_ptr = (uint64_t)(uintptr_t)at,
						     .info_size = size,
						     .source_id = source,
						     .exception_code = code,
						     .clear_exception = clear}};
	int r = dbg_call(gpu.kfd, &a, child.pid, KFDABI_TRAP_QUERY_EXCEPTION_INFO);

	size = a.u.query_info.info_size;
	return r;
}

static uint32_t gpu_id(void)
{
	struct gpu_shape shape;

	CHECK_IS(harness_shape(0, &shape), 0);
	return shape.gpu_id;
}

/* Returns the number of bytes that dbg_fd gets within `ms`. Waits for them, because an event that
 * comes from an interrupt is not reported at once. */
static int dots_within(unsigned ms)
{
	int n = 0;

	return WITHIN(ms, (n = dots(events))) ? n : 0;
}

/* Starts a session with one queue whose NEW exception is cleared. */
static void start(uint64_t mask)
{
	debugged(&child, &gpu.kfd, mask | NEW_MASK, &events);
	CHECK_IS(query(NEW_MASK), 0);
	CHECK_IS(set_enabled(mask), 0);
	CHECK_IS(dots(events), 0);
}

static RULE_CHECK(dbg_fd_one_dot_an_event, start(NEW_MASK))
{
	CHECK_IS(scripted_do(&child, 'q'), 1);
	CHECK_IS(dots(events), 1);
	scripted_do(&child, 'q');
	scripted_do(&child, 'q');
	CHECK_IS(dots(events), 2);
}

static RULE_CHECK(dbg_fd_not_subscribed_no_dot, start(RUNTIME_MASK))
{
	STEPS(&child, "q=1 d");
	CHECK_IS(dots(events), 0);
}

static RULE_CHECK(dbg_fd_pending_at_enable_no_dot, debugged(&child, &gpu.kfd, NEW_MASK, &events))
{
	CHECK_IS(dots(events), 0);
	CHECK_IS(query(0), 0); /* succeeds although an exception is pending */
	CHECK(event.status & NEW_MASK);
}

static RULE_CHECK(dbg_fd_hangs_up_at_disable, debugged(&child, &gpu.kfd, NEW_MASK, &events))
{
	CHECK_IS(dots(events), 0);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), 0);
	CHECK_IS(dots_within(1000), -1);
}

static RULE_CHECK(dbg_fd_hangs_up_at_exit, debugged(&child, &gpu.kfd, NEW_MASK, &events))
{
	CHECK_IS(dots(events), 0);
	scripted_kill(&child);
	CHECK_IS(dots_within(1000), -1);
}

static RULE_CHECK(dbg_fd_eventfd_hears_nothing, gpu_open(&gpu))
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	scripted_start(&child, "or");
	seize(child.pid);
	CHECK_IS(trap_enable(gpu.kfd, child.pid, NEW_MASK, fd, NULL), 0);
	CHECK_IS(scripted_do(&child, 'q'), 0);
	CHECK_IS(dots(fd), 0);
}

static RULE_CHECK(dbg_fd_may_be_anything_open, gpu_open(&gpu))
{
	static const char *const paths[] = {"/dev/null", "/dev/zero", "/proc/self/status"};

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		CHECK(fd >= 0);
		CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, fd, NULL), 0);
		CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	}
}

static RULE_CHECK(exceptions_need_a_session, gpu_open(&gpu))
{
	scripted_start(&child, "orqqd");
	seize(child.pid);
	CHECK_IS(trap_enable(gpu.kfd, child.pid, ALL_MASK, STDERR_FILENO, NULL), 0);
	CHECK_IS(query(ALL_MASK), 0);
	CHECK_IS(event.status, NEW_MASK);
	CHECK_IS(event.queue_id, 0);
	CHECK_IS(query(ALL_MASK), -EAGAIN); /* the deletion was not raised */
}

static RULE_CHECK(set_exceptions_writes_pending, start(0))
{
	CHECK_IS(scripted_do(&child, 'q'), 1);
	CHECK_IS(dots(events), 0);
	CHECK_IS(set_enabled(NEW_MASK), 0);
	CHECK_IS(dots(events), 1);
	CHECK_IS(set_enabled(RUNTIME_MASK), 0); /* no runtime exception is pending */
	CHECK_IS(dots(events), 0);
}

static RULE_CHECK(query_event_none_is_eagain, start(ALL_MASK))
{
	CHECK_IS(query(0), -EAGAIN);
	CHECK_IS(event.status, 0);
	CHECK_IS(scripted_do(&child, 'q'), 1);
	CHECK_IS(set_enabled(RUNTIME_MASK), 0);
	CHECK_IS(query(0), -EAGAIN); /* pending, but not enabled */
}

static RULE_CHECK(query_event_newest_queue_first, start(NEW_MASK))
{
	STEPS(&child, "q=1 q=2");
	CHECK_IS(query(NEW_MASK), 0);
	CHECK_IS(event.queue_id, 2);
	CHECK_IS(event.gpu_id, gpu_id());
	CHECK_IS(query(NEW_MASK), 0);
	CHECK_IS(event.queue_id, 1);
	CHECK_IS(query(NEW_MASK), -EAGAIN);
}

static RULE_CHECK(query_event_gives_whole_status, start(DIMENSION_MASK))
{
	CHECK_IS(scripted_do(&child, 'd'), 0);
	CHECK_IS(scripted_do(&child, 'q'), 0); /* raises NEW, which is not enabled */
	CHECK_IS(scripted_do(&child, 'b'), 0);
	CHECK_IS(dots_within(1000), 1);
	CHECK_IS(query(0), 0);
	CHECK_IS(event.status, DIMENSION_MASK | NEW_MASK);
}

static RULE_CHECK(query_event_clears_given_bits, start(NEW_MASK | RUNTIME_MASK))
{
	CHECK_IS(scripted_do(&child, 'q'), 1);
	CHECK_IS(query(RUNTIME_MASK), 0);
	CHECK_IS(event.status, NEW_MASK);
	CHECK_IS(query(NEW_MASK), 0);
	CHECK_IS(event.status, NEW_MASK); /* the status before the bits were cleared */
	CHECK_IS(query(0), -EAGAIN);
}

static RULE_CHECK(query_event_queues_then_process, debugged(&child, &gpu.kfd, ALL_MASK, &events))
{
	scripted_send(&child, 'R'); /* this call sleeps, and raises an exception of the process */
	CHECK_IS(dots_within(1000), 1);
	CHECK_IS(query(NEW_MASK), 0);
	CHECK_IS(event.status, NEW_MASK);
	CHECK_IS(query(RUNTIME_MASK), 0);
	CHECK_IS(event.status, RUNTIME_MASK);
	CHECK_IS(event.gpu_id, 0);
	CHECK_IS(event.queue_id, 0);
}

void check_query_info_null_is_einval(void)
{
	size = 0;
	debugged(&child, &gpu.kfd, NEW_MASK, NULL);
	CHECK_IS(query_info(KFDABI_EC_QUEUE_NEW, 0, NULL, false), -EINVAL);
	CHECK_IS(query_info(KFDABI_EC_QUEUE_NEW, 0, room, false), 0);
}

static RULE_CHECK(query_info_bad_source_is_einval, debugged(&child, &gpu.kfd, NEW_MASK, NULL))
{
	CHECK_IS(query_info(KFDABI_EC_QUEUE_NEW, 5, room, false), -EINVAL);
	CHECK_IS(query_info(KFDABI_EC_DEVICE_QUEUE_DELETE, 1, room, false), -EINVAL);
	CHECK_IS(query_info(40, 0, room, false), -EINVAL); /* no such code */
	CHECK_IS(query_info(KFDABI_EC_QUEUE_NEW, 0, room, false), 0);
}

static RULE_CHECK(query_info_not_raised_is_enodata, debugged(&child, &gpu.kfd, NEW_MASK, NULL))
{
	CHECK_IS(query_info(KFDABI_EC_QUEUE_WAVE_TRAP, 0, room, false), -ENODATA);
	CHECK_IS(query_info(KFDABI_EC_DEVICE_QUEUE_DELETE, gpu_id(), room, false), -ENODATA);
	CHECK_IS(query_info(KFDABI_EC_PROCESS_RUNTIME, 0, room, false), -ENODATA);
}

void check_query_info_runtime(void)
{
	struct kfdabi_runtime_info info = {.runtime_state = 77};

	size = sizeof info;
	debugged(&child, &gpu.kfd, RUNTIME_MASK, &events);
	scripted_send(&child, 'R');
	CHECK_IS(dots_within(1000), 1);
	CHECK_IS(query_info(KFDABI_EC_PROCESS_RUNTIME, 0, &info, false), 0);
	CHECK_IS(size, 16);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_DISABLED);
}

static RULE_CHECK(query_info_clears_on_demand, debugged(&child, &gpu.kfd, NEW_MASK, NULL))
{
	for (int i = 0; i < 2; i++)
		CHECK_IS(query_info(KFDABI_EC_QUEUE_NEW, 0, room, i == 1), 0);
	CHECK_IS(query_info(KFDABI_EC_QUEUE_NEW, 0, room, false), -ENODATA);
}

static RULE_CHECK(queue_delete_raised, start(DELETE_MASK))
{
	CHECK_IS(scripted_do(&child, 'd'), 0);
	CHECK_IS(dots_within(1000), 1);
	CHECK_IS(query(DELETE_MASK), 0);
	CHECK_IS(event.status, DELETE_MASK);
	CHECK_IS(event.gpu_id, gpu_id());
	CHECK_IS(event.queue_id, 0);
}

static RULE_CHECK(packet_error_goes_to_debugger, start(DIMENSION_MASK))
{
	STEPS(&child, "h b");
	CHECK_IS(dots_within(1000), 1);
	CHECK_IS(query(0), 0);
	CHECK_IS(event.status, DIMENSION_MASK);
	CHECK_IS(scripted_do(&child, 'p'), 0);
	/* The debugger can pass the error on to the runtime. */
	CHECK_IS(trap_send(gpu.kfd, child.pid, DIMENSION_MASK, 0), 0);
	CHECK_IS(scripted_do(&child, 'B'), 1);
}

static RULE_CHECK(packet_error_goes_to_runtime, start(0))
{
	STEPS(&child, "h b B=1");
	CHECK_IS(dots(events), 0);
}

static RULE_CHECK(memory_violation_goes_to_debugger, start(VIOLATION_MASK))
{
	STEPS(&child, "m v");
	CHECK_IS(dots_within(1000), 1);
	CHECK_IS(query(0), 0);
	CHECK_IS(event.status, VIOLATION_MASK);
	CHECK_IS(event.gpu_id, gpu_id());
	CHECK_IS(scripted_do(&child, 'M'), 0);
}

static RULE_CHECK(query_info_memory_violation_is_empty, start(VIOLATION_MASK))
{
	CHECK_IS(scripted_do(&child, 'v'), 0);
	CHECK_IS(dots_within(1000), 1);
	CHECK_IS(query_info(KFDABI_EC_DEVICE_MEMORY_VIOLATION, gpu_id(), room, false), 0);
	CHECK_IS(size, 0);
}

static RULE_CHECK(memory_violation_can_be_passed_on, start(VIOLATION_MASK))
{
	STEPS(&child, "m v");
	CHECK_IS(dots_within(1000), 1);
	CHECK_IS(trap_send(gpu.kfd, child.pid, VIOLATION_MASK, gpu_id()), 0);
	CHECK_IS(scripted_do(&child, 'C'), 1);
}

RULE_IS(send_event_unknown_gpu_is_enodev, start(0),
	trap_send(gpu.kfd, child.pid, VIOLATION_MASK, 1), -ENODEV)

RULE_IS(send_event_unknown_queue_is_0, start(0),
	DBG_CALL(gpu.kfd, child.pid, KFDABI_TRAP_SEND_RUNTIME_EVENT,
		 .u.send_runtime_event = {.exception_mask = DIMENSION_MASK, .queue_id = 9}),
	0)
