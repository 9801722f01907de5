// SPDX-License-Identifier: MIT
#include "tools/kfdconform/harness/scripted_child.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/wait.h"

#define QUEUES 4
#define STANDS_MS 12u	      /* long enough to conclude that a barrier packet does not run */
#define SAVE_ERROR_ADDRESS 24 /* offset in the runtime's part of the save area header */
#define SAVE_ERROR_EVENT 32
#define NOWHERE 0x20000u /* an address that no GPU has mapped */

/* A message of the caller to a scripted child. */
struct script_step {
	pid_t pid; /* new target; 0: `what` is a command */
	char what;
};

static struct {
	struct gpu_file gpu;
	struct raw_queue queues[QUEUES];
	unsigned n_queues;
	struct signal *signals; /* [0]: signal of dispatches; [1]: errors of queue 0 */
	uint32_t memory_event;
	int from, to;
	pid_t target, other; /* other: second thread or child */
	char thread_step;
} self;

static int step_run(char what);

int clear_and_suspend(int kfd, pid_t pid)
{
	struct kfdabi_queue_snapshot entries[QUEUES];
	uint32_t n = QUEUES, id = 0;
	int r = trap_snapshot(kfd, pid, NEW_MASK, entries, &n);

	return r ? r : dbg_suspend(kfd, pid, &id, 1, 0);
}

int dots(int fd)
{
	int ready = poll_now(fd, POLLIN);
	char bytes[64];

	if (ready <= 0)
		return 0;
	if (!(ready & POLLIN))
		return -1;
	return (int)read(fd, bytes, sizeof bytes);
}

static struct signal *signals(void)
{
	if (!self.signals)
		self.signals = signals_new(&self.gpu);
	return self.signals;
}

static int work(void)
{
	signals()->value = 1;
	queue_dispatch(&self.queues[0], 1, signals());
	queue_ring(&self.queues[0]);
	return 0;
}

static int bad_packet(void)
{
	uint32_t packet[16] = {2 | 1u << 8}; /* a dispatch with 0 dimensions */

	queue_publish(&self.queues[0], packet);
	queue_ring(&self.queues[0]);
	return 0;
}

static int fault(void)
{
	queue_barrier(&self.queues[0], NULL, (struct signal *)NOWHERE);
	queue_ring(&self.queues[0]);
	return 0;
}

/* Stores in the save area of queue 0 where the driver reports its errors: a word in signals()[1]
 * and an event. */
static int enable_errors(void)
{
	struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_SIGNAL};
	char *save = self.queues[0].save.cpu;
	uint64_t payload = (uint64_t)(uintptr_t)&signals()[1].value;
	int r = harness_ioctl(self.gpu.kfd, KFDABI_CREATE_EVENT, &event, sizeof event);

	memcpy(save + SAVE_ERROR_ADDRESS, &payload, sizeof payload);
	memcpy(save + SAVE_ERROR_EVENT, &event.event_id, sizeof event.event_id);
	return r;
}

static int memory_event(unsigned ms)
{
	struct kfd_hsa_memory_exception_data what;

	return memory_event_wait(&self.gpu, self.memory_event, ms, &what);
}

/* Executes a command on the scripted child's own device. Returns -ENOSYS for other commands. */
static int on_own_device(char what)
{
	switch (what) {
	case 'o':
		/* A process has one VM per GPU, through the first render node, so only /dev/kfd
		 * is opened again. */
		if (self.gpu.render > 0)
			self.gpu.kfd = device_open();
		else
			gpu_open(&self.gpu);
		return 0;
	case 'c':
		return close(self.gpu.kfd);
	case 'u':
		return harness_version(self.gpu.kfd);
	case 'r':
		return runtime_enable(&self.gpu,
				      KFDABI_RUNTIME_MODE_ENABLE | KFDABI_RUNTIME_MODE_TTMP_SAVE);
	case 'R':
		return runtime_enable(&self.gpu, 0);
	case 'q':
		queue_new(&self.gpu, &self.queues[self.n_queues]);
		return (int)self.queues[self.n_queues++].id;
	case 'd':
		return queue_destroy(&self.gpu, self.queues[--self.n_queues].id);
	case 'w':
		return work();
	case 'W':
		return comes(&signals()->value, 0, 1000);
	case 'z':
		return !is_absent(&self.gpu, &signals()->value, 0, STANDS_MS);
	case 'm':
		self.memory_event = memory_event_new(&self.gpu);
		return 0;
	case 'M':
		return memory_event(50);
	case 'C':
		return memory_event(1000);
	case 'b':
		return bad_packet();
	case 'v':
		return fault();
	case 'h':
		return enable_errors();
	case 'p':
		sleep_ms(STANDS_MS);
		return signals()[1].value != 0;
	case 'B':
		return WITHIN(1000, signals()[1].value != 0);
	default:
		return -ENOSYS;
	}
}

/* Stops the target and detaches from it, because ptrace(2) detaches from a stopped thread only. */
static int release(void)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, self.target, 0, 0) ||
	    waitpid(self.target, &status, __WALL) != self.target ||
	    ptrace(PTRACE_DETACH, self.target, 0, 0))
		return -errno;
	return 0;
}

static void *thread_once(void *reply)
{
	*(int *)reply = step_run(self.thread_step);
	return NULL;
}

/* Executes a command in another thread, which does not own the session and does not
 * trace the target. */
static int in_thread(char what)
{
	pthread_t thread;
	int reply = 0;

	self.thread_step = what;
	CHECK_IS(pthread_create(&thread, NULL, thread_once, &reply), 0);
	CHECK_IS(pthread_join(thread, NULL), 0);
	return reply;
}

/* Executes a command on the target. Returns -ENOSYS for other commands. */
static int on_target(char what)
{
	switch (what) {
	case 'S':
		return ptrace(PTRACE_SEIZE, self.target, 0, 0) ? -errno : 0;
	case 'T':
		return release();
	case 'E':
		return trap_enable(self.gpu.kfd, self.target, 0, self.to, NULL);
	case 'e':
		return trap_enable(self.gpu.kfd, self.target, 0, 999, NULL);
	case 'D':
		return trap_disable(self.gpu.kfd, self.target);
	case 'P':
		return clear_and_suspend(self.gpu.kfd, self.target);
	case 'n':
		return trap_count(self.gpu.kfd, self.target);
	case 'V':
		return trap_send(self.gpu.kfd, self.target, RUNTIME_MASK, 0);
	case '2':
		return in_thread('E');
	case 'N':
		return in_thread('n');
	default:
		return -ENOSYS;
	}
}

/* Executes commands until the caller closes the pipe. */
static void serve(void)
{
	struct script_step step;

	while (read(self.from, &step, sizeof step) == sizeof step) {
		int reply = 0;

		if (step.pid)
			self.target = step.pid;
		else
			reply = step_run(step.what);
		CHECK_IS(write(self.to, &reply, sizeof reply), sizeof reply);
	}
}

/* Waits until the first thread has got the command 'l', then serves the commands. */
static void *second_thread(void *channel)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	CHECK_IS(write(*(int *)channel, &tid, sizeof tid), sizeof tid);
	while (__atomic_load_n(&self.thread_step, __ATOMIC_ACQUIRE) != 'l')
		sleep_ms(1);
	serve();
	_exit(0);
}

static int new_thread(void)
{
	static int channel[2];
	pthread_t thread;
	pid_t tid;

	CHECK(!pipe2(channel, O_CLOEXEC));
	CHECK_IS(pthread_create(&thread, NULL, second_thread, &channel[1]), 0);
	CHECK_IS(read(channel[0], &tid, sizeof tid), sizeof tid);
	return tid;
}

static int fork_child(bool start)
{
	if (!start) {
		kill(self.other, SIGKILL);
		return waitpid(self.other, NULL, 0) == self.other ? 0 : -errno;
	}
	self.other = fork();
	if (!self.other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close_range(0, ~0u, 0); /* the pipes must not stay open in the child */
		for (;;)
			pause();
	}
	return self.other;
}

static int step_run(char what)
{
	int reply = on_own_device(what);

	if (reply == -ENOSYS)
		reply = on_target(what);
	if (reply != -ENOSYS)
		return reply;
	switch (what) {
	case 't':
		return new_thread();
	case 'l':
		CHECK_IS(write(self.to, &(int){0}, sizeof(int)), sizeof(int));
		__atomic_store_n(&self.thread_step, 'l', __ATOMIC_RELEASE);
		syscall(SYS_exit, 0);
		return 0;
	case 'f':
	case 'F':
		return fork_child(what == 'f');
	case 'A':
		signal_handle(SIGALRM, 0);
		return 0;
	case 'k':
		abort();
	case 'x':
		dup2(self.from, STDIN_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		fcntl(self.gpu.kfd, F_SETFD, 0);
		execl("/bin/cat", "cat", (char *)NULL);
		return -errno;
	default:
		return -EINVAL;
	}
}

static void body(int from, int to)
{
	sigset_t child;

	/* A traced process would stop at SIGCHLD. */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	self.from = from;
	self.to = to;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* for Yama */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	serve();
}

void scripted_start(struct scripted_child *scripted, const char *steps)
{
	child_begin(&scripted->child, body);
	scripted->pid = scripted->child.pid;
	for (; *steps; steps++)
		CHECK(scripted_do(scripted, *steps) >= 0);
}

void scripted_send(struct scripted_child *scripted, char what)
{
	struct script_step step = {.what = what};

	CHECK_IS(write(scripted->child.to, &step, sizeof step), sizeof step);
}

bool scripted_replies(struct scripted_child *scripted, unsigned ms, int *reply)
{
	if (!readable_within(scripted->child.from, ms))
		return false;
	CHECK_IS(read(scripted->child.from, reply, sizeof *reply), sizeof *reply);
	return true;
}

int scripted_do(struct scripted_child *scripted, char what)
{
	int reply = 0;

	scripted_send(scripted, what);
	CHECK(scripted_replies(scripted, 3000, &reply));
	return reply;
}

void scripted_steps(const char *file, int line, struct scripted_child *scripted, const char *steps)
{
	for (; *steps; steps += strcspn(steps, " "), steps += *steps == ' ')
		check_is(file, line, steps, scripted_do(scripted, *steps),
			 steps[1] == '=' ? steps[2] - '0' : 0);
}

void scripted_aim(struct scripted_child *scripted, pid_t pid)
{
	struct script_step step = {.pid = pid};
	int reply;

	CHECK_IS(write(scripted->child.to, &step, sizeof step), sizeof step);
	CHECK(scripted_replies(scripted, 3000, &reply));
}

void let_go_on(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WNOHANG | __WALL) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
}

void scripted_kill(struct scripted_child *scripted)
{
	CHECK(!kill(scripted->pid, SIGKILL));
	CHECK(WIFSIGNALED(child_end(&scripted->child)));
}

void session_open(int kfd, pid_t pid, uint64_t mask, int dbg_fd)
{
	for (int i = 0; i < 200; i++) {
		struct kfdabi_runtime_info info;

		CHECK_IS(trap_enable(kfd, pid, mask, dbg_fd, &info), 0);
		if (info.runtime_state == KFDABI_RUNTIME_ENABLED)
			return;
		CHECK_IS(info.runtime_state, KFDABI_RUNTIME_BUSY);
		CHECK_IS(trap_disable(kfd, pid), 0);
		sleep_ms(5);
	}
	SKIP("another process has a debug session on this GPU");
}

void debugged(struct scripted_child *scripted, int *kfd, uint64_t mask, int *events)
{
	int ends[2];

	*kfd = device_open();
	scripted_start(scripted, "orq");
	seize(scripted->pid);
	CHECK(!pipe2(ends, O_CLOEXEC | O_NONBLOCK));
	session_open(*kfd, scripted->pid, mask, ends[1]);
	close(ends[1]);
	if (events)
		*events = ends[0];
}
