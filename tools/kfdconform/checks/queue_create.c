// SPDX-License-Identifier: MIT
/* Checks of CREATE_QUEUE: which arguments it refuses and in which order, and the ids, doorbells and
 * limits of queues. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define UNKNOWN_TYPE 99u
#define ENOTSUPP 524
#define NON_CP_FIRST 0x100u
#define NON_CP_LAST 0x1e7u
#define HALF (DOORBELL_PAGE / 8 / 2)
#define TOO_MANY 600u

static struct raw_queue good; /* buffers that queues can share, because nothing runs */
static struct kfdabi_create_queue plain;

static void begin(void)
{
	gpu_open(&gpu);
	queue_args(&gpu, &good, &plain);
	plain.queue_percentage = 0; /* needs no runlist update */
}

/* Returns the result of CREATE_QUEUE. If a queue was created, destroys it. */
static int create(const struct kfdabi_create_queue *wanted)
{
	struct kfdabi_create_queue args = *wanted;
	int r = harness_ioctl(gpu.kfd, KFDABI_CREATE_QUEUE, &args, sizeof args);

	if (!r)
		CHECK_IS(queue_destroy(&gpu, args.queue_id), 0);
	return r;
}

/* As create(), but in a child that has opened the device and has no VM. */
static int create_without_vm(const struct kfdabi_create_queue *wanted)
{
	int status, exit_code;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		gpu.kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
		_exit(gpu.kfd < 0 ? 255 : -create(wanted) & 0xff);
	}
	CHECK_IS(waitpid(pid, &status, 0), pid);
	exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
	return -exit_code;
}

#define RESULT_IS(field, value, wanted)                                                            \
	do {                                                                                       \
		struct kfdabi_create_queue args_ = plain;                                          \
		args_.field = (value);                                                             \
		check_is(__FILE__, __LINE__, "CREATE_QUEUE with " #field " " #value,               \
			 create(&args_), wanted);                                                  \
	} while (0)

static uint64_t buffer(uint64_t bytes)
{
	struct buffer made;

	gtt_new(&gpu, bytes, &made);
	return (uint64_t)(uintptr_t)made.cpu;
}

static RULE_CHECK(percent_over_100_is_einval, begin())
{
	CHECK_IS(create(&plain), 0);
	RESULT_IS(queue_percentage, 100, 0);
	RESULT_IS(queue_percentage, 101, -EINVAL);
	RESULT_IS(queue_percentage, 255, -EINVAL);
}

static RULE_CHECK(bits_above_the_percent_are_no_percent, begin())
{
	RESULT_IS(queue_percentage, 50 | 1u << 16, 0);
	RESULT_IS(queue_percentage, 100 | 0xffu << 8, 0);
	RESULT_IS(queue_percentage, 101 | 1u << 8, -EINVAL);
}

static RULE_CHECK(priority_over_15_is_einval, begin())
{
	for (uint32_t priority = 0; priority <= 15; priority++)
		RESULT_IS(queue_priority, priority, 0);
	RESULT_IS(queue_priority, 16, -EINVAL);
}

static RULE_CHECK(ring_outside_user_space_is_efault, begin())
{
	RESULT_IS(ring_base_address, NOBODYS, -EFAULT);
}

static RULE_CHECK(ring_size_is_a_power_of_two, begin())
{
	RESULT_IS(ring_size, 4097, -EINVAL);
	RESULT_IS(ring_size, 3072, -EINVAL);
	RESULT_IS(ring_size, 4096, 0);
}

static RULE_CHECK(short_ring_counts_as_1024, begin())
{
	static const uint32_t sizes[] = {0, 1, 512, 1024};

	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct kfdabi_create_queue args = plain;

		args.ring_size = sizes[i];
		CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_QUEUE, &args, sizeof args), 0);
		CHECK_IS(args.ring_size, 1024); /* copied back to the caller */
	}
}

static RULE_CHECK(pointers_outside_user_space_are_efault, begin())
{
	RESULT_IS(read_pointer_address, NOBODYS, -EFAULT);
	RESULT_IS(write_pointer_address, NOBODYS, -EFAULT);
}

static RULE_CHECK(areas_outside_user_space_are_efault, begin())
{
	RESULT_IS(eop_buffer_address, NOBODYS, -EFAULT);
	RESULT_IS(ctx_save_restore_address, NOBODYS, -EFAULT);
}

static RULE_CHECK(unknown_queue_type_is_524, begin())
{
	RESULT_IS(queue_type, KFD_IOC_QUEUE_TYPE_COMPUTE, 0);
	RESULT_IS(queue_type, KFD_IOC_QUEUE_TYPE_SDMA, 0);
	RESULT_IS(queue_type, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, 0);
	RESULT_IS(queue_type, KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID, 0);
	RESULT_IS(queue_type, 5, -ENOTSUPP);
	RESULT_IS(queue_type, UNKNOWN_TYPE, -ENOTSUPP);
}

static RULE_CHECK(unknown_gpu_is_einval, begin())
{
	RESULT_IS(gpu_id, 0, -EINVAL);
	RESULT_IS(gpu_id, ~0u, -EINVAL);
}

static RULE_CHECK(queue_without_a_vm_is_esrch, begin())
{
	gpu.kfd = device_open();
	CHECK_IS(create(&plain), 0); /* the process has a VM, through another file descriptor */
	CHECK_IS(create_without_vm(&plain), -ESRCH);
}

static RULE_CHECK(engine_beyond_the_last_is_einval, begin())
{
	struct kfdabi_create_queue args;
	uint64_t sdma = harness_property(gpu.shape.node, "num_sdma_engines");
	uint64_t xgmi = harness_property(gpu.shape.node, "num_sdma_xgmi_engines");

	args = plain;
	args.queue_type = KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID;
	for (args.sdma_engine_id = 0; args.sdma_engine_id < sdma + xgmi; args.sdma_engine_id++)
		CHECK_IS(create(&args), 0);
	CHECK_IS(create(&args), -EINVAL);
	args.sdma_engine_id = ~0u;
	CHECK_IS(create(&args), -EINVAL);
	args.queue_type = KFD_IOC_QUEUE_TYPE_SDMA; /* the engine id has no meaning for this type */
	CHECK_IS(create(&args), 0);
}

static RULE_CHECK(pointers_are_one_mapped_page, begin())
{
	uint64_t two = buffer(2 * PAGE);

	RESULT_IS(write_pointer_address, UNMAPPED, -EINVAL);
	RESULT_IS(read_pointer_address, UNMAPPED, -EINVAL);
	RESULT_IS(write_pointer_address, two, -EINVAL);
	RESULT_IS(read_pointer_address, two + PAGE, -EINVAL);
	RESULT_IS(write_pointer_address, plain.write_pointer_address + 2048, 0);
}

static RULE_CHECK(ring_is_exactly_mapped, begin())
{
	uint64_t two = buffer(2 * PAGE);

	RESULT_IS(ring_base_address, 0, -EINVAL);
	RESULT_IS(ring_base_address, UNMAPPED, -EINVAL);
	RESULT_IS(ring_base_address, two, -EINVAL);
	RESULT_IS(ring_base_address, two + PAGE, -EINVAL);
	RESULT_IS(ring_size, 2 * PAGE, -EINVAL);
	plain.ring_size = 2 * PAGE;
	RESULT_IS(ring_base_address, two, 0);
}

static RULE_CHECK(end_of_pipe_buffer_is_checked, begin())
{
	RESULT_IS(eop_buffer_size, 2048, -EINVAL);
	RESULT_IS(eop_buffer_address, UNMAPPED, -EINVAL);
	plain.queue_type = KFD_IOC_QUEUE_TYPE_SDMA; /* has no end-of-pipe buffer */
	RESULT_IS(eop_buffer_address, UNMAPPED, 0);
}

static RULE_CHECK(control_stack_size_is_the_nodes, begin())
{
	RESULT_IS(ctl_stack_size, plain.ctl_stack_size - PAGE, -EINVAL);
	RESULT_IS(ctl_stack_size, plain.ctl_stack_size + PAGE, -EINVAL);
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static RULE_CHECK(save_size_is_at_least_the_nodes, begin())
{
	uint64_t less, whole;

	whole = gpu.shape.save_mapping;
	less = (uint64_t)gpu.shape.xccs * PAGE;
	RESULT_IS(ctx_save_restore_size, 0, -EINVAL);
	plain.ctx_save_restore_address = buffer(pages(whole - less));
	RESULT_IS(ctx_save_restore_size, plain.ctx_save_restore_size - PAGE, -EINVAL);
	plain.ctx_save_restore_address = buffer(pages(whole + less));
	RESULT_IS(ctx_save_restore_size, plain.ctx_save_restore_size + PAGE, 0);
}

static RULE_CHECK(save_area_is_one_mapping, begin())
{
	RESULT_IS(ctx_save_restore_address, UNMAPPED, -EINVAL);
	RESULT_IS(ctx_save_restore_address, plain.ctx_save_restore_address + PAGE, -EINVAL);
	RESULT_IS(ctx_save_restore_address, buffer(PAGE), -EINVAL);
	plain.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
	RESULT_IS(ctx_save_restore_address, UNMAPPED, 0);
}

/* Checks the order of the driver's checks: makes one more argument wrong at a time, in the reverse
 * of that order. The error must always be that of the argument that the driver checks first. */
static RULE_CHECK(checks_of_create_are_in_order, begin())
{
	struct kfdabi_create_queue args = plain;

	args.ctl_stack_size += PAGE;
	args.write_pointer_address = UNMAPPED;
	CHECK_IS(create(&args), -EINVAL);
	args.queue_type = UNKNOWN_TYPE;
	args.gpu_id = 0;
	CHECK_IS(create(&args), -ENOTSUPP);
	args.ctx_save_restore_address = NOBODYS;
	CHECK_IS(create(&args), -EFAULT);
	args.ring_size = 4097;
	CHECK_IS(create(&args), -EINVAL);
	args.ring_base_address = NOBODYS;
	CHECK_IS(create(&args), -EFAULT);
	args.queue_priority = 16;
	CHECK_IS(create(&args), -EINVAL);
	/* A missing VM is reported before an unknown engine and wrong buffers. */
	args = plain;
	args.queue_type = KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID;
	args.sdma_engine_id = ~0u;
	args.ring_base_address = UNMAPPED;
	CHECK_IS(create_without_vm(&args), -ESRCH);
}

/* ---- ids, doorbells and limits ---- */

/* Id and doorbell of the queue that create_of_type() has created. doorbell: index in the process's
 * doorbells, in units of 8 bytes. */
static uint32_t id, doorbell;

static int create_of_type(uint32_t type)
{
	struct kfdabi_create_queue args = plain;
	int r;

	args.queue_type = type;
	r = harness_ioctl(gpu.kfd, KFDABI_CREATE_QUEUE, &args, sizeof args);
	id = args.queue_id;
	doorbell = (uint32_t)(args.doorbell_offset % DOORBELL_PAGE / 8);
	return r;
}

static RULE_CHECK(ids_are_counted_from_0, begin())
{
	struct gpu_file second;
	struct gpu_shape shape;

	for (uint32_t i = 0; i < 3; i++) {
		CHECK_IS(create_of_type(i % 2 ? KFD_IOC_QUEUE_TYPE_SDMA
					      : KFD_IOC_QUEUE_TYPE_COMPUTE_AQL),
			 0);
		CHECK_IS(id, i);
	}
	if (harness_shape(1, &shape))
		return;
	gpu_open_too(&second, &gpu, 1);
	queue_args(&second, &good, &plain);
	CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(id, 3);
}

static RULE_CHECK(ids_are_used_again_at_once, begin())
{
	for (uint32_t i = 0; i < 4; i++)
		CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(queue_destroy(&gpu, 1), 0);
	CHECK_IS(queue_destroy(&gpu, 2), 0);
	for (uint32_t i = 1; i < 3; i++) {
		CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
		CHECK_IS(id, i);
	}
	/* A call that fails uses no id. */
	plain.ring_size = 2;
	plain.ring_base_address = 0x10000;
	CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), -EINVAL);
	plain.ring_base_address = (uint64_t)(uintptr_t)good.ring.cpu;
	CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(id, 4);
}

static RULE_CHECK(doorbells_are_lowest_free, begin())
{
	for (uint32_t i = 0; i < 4; i++) {
		CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
		CHECK_IS(doorbell, i);
	}
	CHECK_IS(queue_destroy(&gpu, 1), 0);
	CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_SDMA), 0);
	CHECK_IS(id, 1); /* the SDMA queue gets the freed id, but not the freed doorbell */
	CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(id, 4);
	CHECK_IS(doorbell, 1);
}

static RULE_CHECK(sdma_doorbells_are_apart, begin())
{
	uint32_t doorbells[3];

	for (uint32_t i = 0; i < 3; i++) {
		CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_SDMA), 0);
		doorbells[i] = doorbell;
		CHECK(doorbells[i] % HALF >= NON_CP_FIRST && doorbells[i] % HALF <= NON_CP_LAST);
		for (uint32_t k = 0; k < i; k++)
			CHECK(doorbells[i] != doorbells[k]);
	}
}

static RULE_CHECK(a_reused_doorbell_is_silent, gpu_open(&gpu))
{
	struct signal *signals = signals_new(&gpu);
	struct raw_queue queue;

	/* Each queue writes the same doorbell value as the one before; the driver must not ignore
	 * that as unchanged. The driver reads the write pointer when it maps a queue, so wait until
	 * the queue is mapped before writing. */
	for (int i = 0; i < 4; i++) {
		signals[i].value = 1;
		queue_new(&gpu, &queue);
		sleep_ms(i < 3 ? 3 : 30); /* a busy machine needs more time */
		queue_barrier(&queue, NULL, &signals[i]);
		queue_ring(&queue);
		CHECK(comes(&signals[i].value, 0, 1000));
		CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	}
}

/* Creates queues until CREATE_QUEUE fails with `error`. Returns the number of queues created. */
static uint32_t count_until(uint32_t type, int error)
{
	uint32_t n = 0;
	int r;

	while (n < TOO_MANY && !(r = create_of_type(type)))
		n++;
	CHECK(n < TOO_MANY);
	CHECK_IS(r, error);
	return n;
}

static RULE_CHECK(queues_of_a_process_are_limited, begin())
{
	uint32_t version = gpu.shape.gfx_target_version;

	CHECK_IS(count_until(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, -ENOSPC),
		 version >= 90402 && version < 100000 ? 255 : 127);
	CHECK_IS(queue_destroy(&gpu, 7), 0);
	CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(id, 7);
}

static RULE_CHECK(sdma_queues_are_limited, begin())
{
	uint64_t engines = harness_property(gpu.shape.node, "num_sdma_engines");
	uint64_t each = harness_property(gpu.shape.node, "num_sdma_queues_per_engine");

	CHECK_IS(count_until(KFD_IOC_QUEUE_TYPE_SDMA, -ENOMEM), engines * each);
	CHECK_IS(queue_destroy(&gpu, 0), 0);
	CHECK_IS(create_of_type(KFD_IOC_QUEUE_TYPE_SDMA), 0);
}

/* ---- more compute queues than the node has slots ---- */

#define MORE 2u
#define QUEUES_MAX 120u /* fewer than the limit of a process */
#define LATE_MS 4000u

static RULE_CHECK(oversubscribed_queues_all_run, gpu_open(&gpu))
{
	static struct raw_queue queues[QUEUES_MAX];
	struct signal *signals;
	uint32_t n = gpu.shape.cp_queues + MORE;

	if (n > QUEUES_MAX)
		SKIP("this GPU has more slots than a process is given queues here");
	signals = signals_new(&gpu);
	for (uint32_t i = 0; i < n; i++) {
		queue_new(&gpu, &queues[i]);
		signals[i % 64].value++;
		queue_barrier(&queues[i], NULL, &signals[i % 64]);
	}
	for (uint32_t i = 0; i < n; i++)
		queue_ring(&queues[i]);
	for (uint32_t i = 0; i < n; i++)
		CHECK(comes(&signals[i % 64].value, 0, LATE_MS));
}
