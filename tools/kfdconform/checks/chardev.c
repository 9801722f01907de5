// SPDX-License-Identifier: MIT
/* Checks of the driver's ioctl entry: command numbers, argument structures and pointers. */
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "tools/kfdconform/checks.h"

#define SOON_US 100
#define ROUNDS 20

static struct kfdabi_create_queue args;

static struct raw_queue queue;

/* Calls GET_VERSION with these direction bits and this size in the command word. Returns 0 or
 * -errno. */
static int version_by(int fd, unsigned direction, void *to, size_t size)
{
	int r = ioctl(fd, _IOC(direction, KFDABI_TYPE, KFDABI_GET_VERSION, size), to);

	return r < 0 ? -errno : r;
}

static RULE_CHECK(unknown_ioctl_is_enotty, gpu_open(&gpu))
{
	char data[64] = {0};

	CHECK_IS(harness_ioctl(gpu.kfd, 0x29, data, sizeof data), -ENOTTY);
	CHECK_IS(harness_ioctl(gpu.kfd, 0x7f, data, sizeof data), -ENOTTY);
	CHECK_IS(harness_ioctl(gpu.kfd, 0, data, sizeof data), -ENOTTY);
}

static RULE_CHECK(version_is_one_dot, gpu_open(&gpu))
{
	struct kfd_ioctl_get_version_args version = {0};

	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_GET_VERSION, &version, sizeof version), 0);
	CHECK_IS(version.major_version, 1);
	CHECK(version.minor_version >= 13);
}

static RULE_CHECK(retired_ioctls_are_eperm, gpu_open(&gpu))
{
	char data[64] = {0};

	for (unsigned nr = 0x0d; nr <= 0x10; nr++)
		CHECK_IS(harness_ioctl(gpu.kfd, nr, data, 16), -EPERM);
	/* The driver copies the arguments before it checks the command number. */
	CHECK_IS(harness_ioctl(gpu.kfd, 0x0d, NULL, 8), -EFAULT);
}

static RULE_CHECK(direction_does_not_count, gpu_open(&gpu))
{
	struct kfd_ioctl_get_version_args version;

	for (unsigned direction = 0; direction < 4; direction++) {
		memset(&version, 0, sizeof version);
		CHECK_IS(version_by(gpu.kfd, direction, &version, sizeof version), 0);
		CHECK_IS(version.major_version, 1);
	}
}

static RULE_CHECK(short_structure_is_zero_padded, gpu_open(&gpu))
{
	struct kfd_ioctl_get_version_args version = {77, 77};

	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_GET_VERSION, &version, 4), 0);
	CHECK_IS(version.major_version, 1);
	CHECK_IS(version.minor_version, 77); /* beyond the size that the caller has passed */
	/* CREATE_QUEUE as before KFD 1.17, followed by garbage. */
	queue_args(&gpu, &queue, &args);
	args.sdma_engine_id = args.pad = 0xabababab;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_QUEUE, &args, 88), 0);
	CHECK_IS(args.queue_id, 0);
	CHECK_IS(args.sdma_engine_id, 0xabababab);
}

void check_long_structure_is_cut(void)
{
	struct {
		struct kfd_ioctl_destroy_queue_args args;
		char rest[200];
	} big;

	gpu_open(&gpu);
	queue_new(&gpu, &queue);
	memset(&big, 0x5a, sizeof big);
	big.args.queue_id = queue.id;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_DESTROY_QUEUE, &big, sizeof big), 0);
	CHECK_IS(big.rest[0], 0x5a);
	CHECK_IS(big.rest[sizeof big.rest - 1], 0x5a);
}

static RULE_CHECK(bad_pointer_is_efault, gpu_open(&gpu))
{
	char *page = map_pages(PAGE);

	CHECK(!munmap(page, PAGE));
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_GET_CLOCK_COUNTERS, page, 40), -EFAULT);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_UPDATE_QUEUE, page, 24), -EFAULT);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_DBG_TRAP, NULL, 32), -EFAULT);
}

static RULE_CHECK(unwritable_results_are_efault, gpu_open(&gpu))
{
	struct kfd_ioctl_destroy_queue_args *page;

	queue_new(&gpu, &queue);
	page = map_pages(PAGE);
	page->queue_id = queue.id;
	CHECK(!mprotect(page, PAGE, PROT_READ));
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_DESTROY_QUEUE, page, sizeof *page), -EFAULT);
	CHECK_IS(queue_destroy(&gpu, queue.id), -EINVAL); /* the queue is destroyed nevertheless */
}

static RULE_CHECK(results_come_back_with_an_error, gpu_open(&gpu))
{
	queue_args(&gpu, &queue, &args);
	/* This size is too small. The driver changes it to 1024 before it detects the wrong queue
	 * type. */
	args.ring_size = 512;
	args.queue_type = 99;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_QUEUE, &args, sizeof args), -524);
	CHECK_IS(args.ring_size, 1024);
}

static RULE_CHECK(update_is_not_copied_back, gpu_open(&gpu))
{
	struct kfd_ioctl_update_queue_args *page;

	queue_new(&gpu, &queue);
	page = map_pages(PAGE);
	*page = queue_unchanged(&queue);
	CHECK(!mprotect(page, PAGE, PROT_READ));
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_UPDATE_QUEUE, page, sizeof *page), 0);
}

/* Starts a timer whose signal arrives during the next call. */
static void signal_soon(void)
{
	const struct itimerval soon = {.it_value.tv_usec = SOON_US};

	CHECK(!setitimer(ITIMER_REAL, &soon, NULL));
}

/* Checks that a signal does not make the driver repeat a call. If the driver is a program (kfdsim),
 * the kernel sometimes does not report to it that a signal came before the answer, so a few repeats
 * are allowed. A driver that repeats calls does so every time. */
static RULE_CHECK(signals_repeat_no_call, gpu_open(&gpu))
{
	unsigned repeated = 0, last = 0;

	queue_args(&gpu, &queue, &args);
	signal_handle(SIGALRM, SA_RESTART);
	for (unsigned i = 0; i < ROUNDS; i++) {
		signal_soon();
		CHECK_IS(queue_create(&gpu, &queue, &args), 0);
		/* If CREATE_QUEUE was repeated, it has created two queues, and the first one has
		 * the lowest id. */
		repeated += queue.id != last;
		last = queue.id;
		signal_soon();
		repeated += queue_destroy(&gpu, queue.id) == -EINVAL;
	}
	CHECK(repeated <= ROUNDS / 10);
}

/* ---- CRIU_OP: required capabilities and invalid operations. No process is paused here. ---- */

#define NEEDED (1ull << CAP_SYS_ADMIN | 1ull << CAP_CHECKPOINT_RESTORE)

static int criu(uint32_t op)
{
	return HARNESS_CALL(gpu.kfd, KFDABI_CRIU_OP, struct kfd_ioctl_criu_args, .op = op);
}

static RULE_CHECK(criu_needs_a_capability, gpu_open(&gpu))
{
	capabilities_drop(NEEDED);
	CHECK_IS(criu(KFD_CRIU_OP_UNPAUSE), -EACCES);
	CHECK_IS(criu(KFD_CRIU_OP_PROCESS_INFO), -EACCES);
	CHECK_IS(criu(77), -EACCES);
}

static void open_with_capability(void)
{
	gpu_open(&gpu);
	if (!(capabilities_drop(0) & NEEDED))
		SKIP("needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN");
}

RULE_IS(criu_unknown_op_is_einval, open_with_capability(), criu(77), -EINVAL)
RULE_IS(criu_unpause_of_what_runs_is_einval, open_with_capability(), criu(KFD_CRIU_OP_UNPAUSE),
	-EINVAL)
