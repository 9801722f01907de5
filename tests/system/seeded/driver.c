// SPDX-License-Identifier: MIT
#include "tests/system/seeded/driver.h"

#include <signal.h>
#include <string.h>

#include "kfd/uapi.h"
#include "tests/system/seeded/files.h"

#define QUEUES 8
#define CONTEXTS 128
#define SLOW_NS (60 * MS)
#define CALL_NS (20 * US)

struct queue {
	bool exists, is_new, suspended;
	/* `waits`: stopped as a new queue; `unmapped`: stopped since a session began (see
	 * quirks) */
	bool waits, unmapped;
	uint32_t type;
	uint64_t *rptr, *wptr;
	int64_t *signal;
	/* remaining time of its packet, 0 if it has none; start of its last run (both ns) */
	uint64_t left_ns, since_ns;
};

/* The driver's data about one process. */
struct context {
	struct process *process;
	struct queue queues[QUEUES];
	uint32_t runtime;
	bool raised; /* the runtime's state has changed */
	unsigned posted;
	/* The session on the process. */
	struct process *by; /* owner; NULL: none */
	const struct fiber *by_thread;
	struct file *events;
	uint64_t subscribed;
	/* the process whose call on this session is in progress; NULL: none */
	const struct process *busy;
	const struct fiber *tracer;
	struct process *tracer_of;
	struct driver_view view;
};

static struct context contexts[CONTEXTS];
static unsigned context_count;
static struct driver_ways ways;
/* Differences that hardware was seen to have (sim/host/sim.h); drawn for each run. */
static struct {
	bool destroy_suspended_fails, new_queue_waits, enable_leaves_unmapped;
} quirks;

static int refuse(int error)
{
	errno = error;
	return -1;
}

static struct context *context_of(const struct process *process)
{
	for (unsigned i = 0; i < context_count; i++)
		if (contexts[i].process == process)
			return &contexts[i];
	return NULL;
}

/* The context is created at the first use. */
static struct context *context_for(struct process *process)
{
	struct context *context = context_of(process);

	if (context)
		return context;
	if (context_count == CONTEXTS) {
		fail("more than %d contexts", CONTEXTS);
		return &contexts[0];
	}
	context = &contexts[context_count++];
	context->process = process;
	return context;
}

/* ---- what the GPU does ---- */

static bool runs(const struct queue *q)
{
	return q->exists && q->left_ns && !q->suspended && !q->waits && !q->unmapped;
}

/* Called after a change of any queue: updates the times in the process's view. */
static void review(struct context *c)
{
	bool work = false, suspended = false, running = false;

	for (int i = 0; i < QUEUES; i++) {
		work |= c->queues[i].exists && c->queues[i].left_ns;
		suspended |= c->queues[i].exists && (c->queues[i].suspended || c->queues[i].waits ||
						     c->queues[i].unmapped);
		running |= runs(&c->queues[i]);
	}
	if (work && !c->view.work)
		c->view.work_ns = now_ns();
	if (suspended && !c->view.suspended)
		c->view.suspended_ns = now_ns();
	c->view.work = work;
	c->view.suspended = suspended;
	if (!running)
		c->view.running_ns = 0;
	else if (!c->view.running_ns)
		c->view.running_ns = now_ns();
	fiber_changed();
}

static void complete(struct context *c, struct queue *q)
{
	q->left_ns = 0;
	__atomic_store_n(q->rptr, *q->wptr, __ATOMIC_RELEASE);
	__atomic_store_n(q->signal, 0, __ATOMIC_RELEASE);
	review(c);
}

static uint64_t next_end(void)
{
	uint64_t next = NEVER;

	for (unsigned i = 0; i < context_count; i++)
		for (int k = 0; k < QUEUES; k++) {
			const struct queue *q = &contexts[i].queues[k];

			if (runs(q) && q->since_ns + q->left_ns < next)
				next = q->since_ns + q->left_ns;
		}
	return next;
}

static bool ends_earlier(void *until)
{
	return next_end() < *(uint64_t *)until;
}

static void gpu(void *arg)
{
	(void)arg;
	for (;;) {
		uint64_t until = next_end();

		if (until > now_ns())
			fiber_wait(ends_earlier, &until, until);
		for (unsigned i = 0; i < context_count; i++)
			for (int k = 0; k < QUEUES; k++) {
				struct queue *q = &contexts[i].queues[k];

				if (runs(q) && q->since_ns + q->left_ns <= now_ns())
					complete(&contexts[i], q);
			}
	}
}

/* Stops the queue for one of the reasons that are its flags. */
static void stop_queue(struct queue *q, bool *reason)
{
	if (runs(q)) {
		uint64_t done = now_ns() - q->since_ns;

		q->left_ns = done < q->left_ns ? q->left_ns - done : 1;
	}
	*reason = true;
}

static void let_run(struct queue *q)
{
	q->suspended = q->waits = q->unmapped = false;
	q->since_ns = now_ns();
}

void driver_submit(struct process *process, uint32_t queue, uint64_t ns, int64_t *signal)
{
	struct context *c = context_for(process);
	struct queue *q = &c->queues[queue % QUEUES];

	q->signal = signal;
	q->left_ns = ns;
	q->since_ns = now_ns();
	review(c);
}

/* ---- sessions ---- */

static void resume_all(struct context *c)
{
	for (int i = 0; i < QUEUES; i++)
		if (c->queues[i].suspended || c->queues[i].waits || c->queues[i].unmapped)
			let_run(&c->queues[i]);
	review(c);
}

static void end_session(struct context *c)
{
	if (!c->by)
		return;
	note("driver: the session on %d ends", (int)c->process->pid);
	c->by = NULL;
	c->view.session = false;
	if (c->events)
		file_drop(c->events);
	c->events = NULL;
	c->posted = 0;
	resume_all(c);
}

/* Notifies the session's owner through its pipe. */
static void raise_event(struct context *c, unsigned code)
{
	if (!c->by || !(c->subscribed & kfdabi_ec_mask(code)) || !c->events || !c->events->peer)
		return;
	c->events->peer->count++;
	file_changes(c->events->peer);
}

void driver_process_ended(struct process *process)
{
	struct context *c = context_of(process);

	for (unsigned i = 0; i < context_count; i++) {
		if (contexts[i].by == process)
			end_session(&contexts[i]);
		if (contexts[i].busy == process)
			contexts[i].busy = NULL;
		if (contexts[i].tracer_of == process)
			contexts[i].tracer = NULL;
	}
	if (!c)
		return;
	/* The end of the target raises SIGCHLD in the tracer. */
	if (c->tracer)
		process_signal(c->tracer_of, SIGCHLD);
	end_session(c);
	memset(c->queues, 0, sizeof(c->queues));
	c->runtime = KFDABI_RUNTIME_DISABLED;
	c->view = (struct driver_view){0};
	c->raised = false;
	fiber_changed();
}

bool driver_check(const struct process *process, struct driver_view *out)
{
	const struct context *c = context_of(process);

	if (c)
		*out = c->view;
	return c;
}

unsigned driver_sessions(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < context_count; i++)
		n += contexts[i].by != NULL;
	return n;
}

unsigned driver_queues(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < context_count; i++)
		for (int k = 0; k < QUEUES; k++)
			n += contexts[i].queues[k].exists;
	return n;
}

int driver_seize(pid_t pid)
{
	struct process *process = process_of(pid);
	struct context *c;

	if (!process || !process->running)
		return -ESRCH;
	if (ways.no_trace)
		return -EPERM;
	c = context_for(process);
	if (c->tracer)
		return -EAGAIN;
	c->tracer = fiber_self();
	c->tracer_of = fiber_process();
	return 0;
}

int driver_let_go(pid_t pid)
{
	struct process *process = process_of(pid);
	struct context *c = process ? context_of(process) : NULL;

	if (c)
		c->tracer = NULL;
	return process && process->running ? 0 : -ESRCH;
}

/* ---- calls on a session ---- */

static int take_snapshot(struct context *c, struct kfdabi_dbg_trap *a)
{
	struct kfdabi_queue_snapshot *out = (void *)(uintptr_t)a->u.queue_snapshot.snapshot_buf_ptr;
	uint32_t room = a->u.queue_snapshot.num_queues, n = 0;

	for (uint32_t i = 0; i < QUEUES; i++) {
		struct queue *q = &c->queues[i];

		if (!q->exists)
			continue;
		if (n < room) {
			memset(&out[n], 0, sizeof(out[n]));
			out[n].queue_id = i;
			out[n].queue_type = q->type;
			if (q->is_new)
				out[n].exception_status = kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
			q->is_new = false;
			if (q->waits && !q->suspended && !q->unmapped)
				let_run(q);
			q->waits = false;
		}
		n++;
	}
	review(c);
	a->u.queue_snapshot.num_queues = n;
	return 0;
}

uint64_t driver_suspends;

static int suspend(struct context *c, struct kfdabi_dbg_trap *a)
{
	uint32_t *ids = (void *)(uintptr_t)a->u.suspend.queue_array_ptr;
	bool fails = ways.fails_one_in && one_in(ways.fails_one_in);
	bool slow = ways.slow_one_in && one_in(ways.slow_one_in);
	uint64_t cost = slow ? SLOW_NS : random_below(ways.suspend_ns);
	int count = 0;

	if (c->runtime != KFDABI_RUNTIME_ENABLED)
		return refuse(EPERM);
	fiber_sleep(cost / 2);
	c->view.exempt |= fails || slow;
	if (!c->view.suspended)
		c->view.slow = slow ? c->view.slow + 1 : 0;
	for (uint32_t i = 0; i < a->u.suspend.num_queues; i++) {
		struct queue *q = ids[i] < QUEUES ? &c->queues[ids[i]] : NULL;

		if (!q || !q->exists || q->is_new || !c->by) {
			ids[i] |= KFDABI_QUEUE_INVALID;
			continue;
		}
		if (q->type == KFD_IOC_QUEUE_TYPE_SDMA)
			fail("an SDMA queue is to be suspended");
		stop_queue(q, &q->suspended);
		if (fails)
			ids[i] |= KFDABI_QUEUE_ERROR;
		else
			count++;
	}
	review(c);
	c->view.suspends += count > 0;
	driver_suspends += count > 0;
	note("driver: %d suspended: %d queues%s%s", (int)c->process->pid, count,
	     fails ? ", failed" : "", slow ? ", slow" : "");
	fiber_sleep(cost / 2);
	return count;
}

static int resume(struct context *c, struct kfdabi_dbg_trap *a)
{
	uint32_t *ids = (void *)(uintptr_t)a->u.resume.queue_array_ptr;
	int count = 0;

	if (c->runtime != KFDABI_RUNTIME_ENABLED)
		return refuse(EPERM);
	fiber_sleep(random_below(ways.suspend_ns) / 2);
	for (uint32_t i = 0; i < a->u.resume.num_queues; i++) {
		struct queue *q = ids[i] < QUEUES ? &c->queues[ids[i]] : NULL;

		if (!q || !q->exists) {
			ids[i] |= KFDABI_QUEUE_INVALID;
			continue;
		}
		/* No error if the runtime or the session has ended in the meantime, and another may
		 * have begun. */
		if (!q->suspended && !q->unmapped && c->by && c->by_thread == fiber_self() &&
		    c->runtime == KFDABI_RUNTIME_ENABLED)
			fail("queue %u of %d is to be resumed, and is not suspended", ids[i],
			     (int)c->process->pid);
		if (q->suspended || q->unmapped)
			let_run(q);
		count++;
	}
	review(c);
	c->view.resumes += count > 0;
	note("driver: %d resumed: %d queues", (int)c->process->pid, count);
	return count;
}

/* Called when a session or a queue begins: a new queue may have to wait until it is collected. */
static void hold_as_new(struct context *c, struct queue *q)
{
	if (q->exists && q->is_new && quirks.new_queue_waits && c->by &&
	    (c->subscribed & kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW)))
		stop_queue(q, &q->waits);
}

static void begin_session(struct context *c)
{
	for (int i = 0; i < QUEUES; i++) {
		hold_as_new(c, &c->queues[i]);
		if (c->queues[i].exists && quirks.enable_leaves_unmapped &&
		    c->runtime == KFDABI_RUNTIME_ENABLED)
			stop_queue(&c->queues[i], &c->queues[i].unmapped);
	}
	review(c);
}

static int enable(struct context *c, struct kfdabi_dbg_trap *a)
{
	struct kfdabi_runtime_info info = {.runtime_state = c->runtime};
	struct file *file = file_of((int)a->u.enable.dbg_fd);

	if (c->by)
		return refuse(EALREADY);
	if (c->view.slow >= DRIVER_SLOW_MAX)
		fail("%d gets a session again after %u slow suspends", (int)c->process->pid,
		     c->view.slow);
	if (!file)
		return -1;
	memcpy((void *)(uintptr_t)a->u.enable.rinfo_ptr, &info, sizeof(info));
	c->events = file_hold(file);
	c->by = fiber_process();
	c->by_thread = fiber_self();
	c->subscribed = a->u.enable.exception_mask;
	c->posted = 0;
	c->view.session = true;
	c->view.session_ns = now_ns();
	begin_session(c);
	note("driver: %d has a session on %d", (int)c->by->pid, (int)c->process->pid);
	return 0;
}

static int query(struct context *c, const struct kfdabi_dbg_trap *a)
{
	struct kfdabi_runtime_info info = {.runtime_state = c->runtime};

	if (!c->raised)
		return refuse(ENODATA);
	memcpy((void *)(uintptr_t)a->u.query_info.info_ptr, &info, sizeof(info));
	c->raised = !a->u.query_info.clear_exception;
	return 0;
}

static bool is_idle(void *arg)
{
	return !((struct context *)arg)->busy;
}

static int on_session(struct context *c, struct kfdabi_dbg_trap *a)
{
	if (a->op == KFDABI_TRAP_ENABLE)
		return enable(c, a);
	if (!c->by)
		return refuse(EINVAL);
	switch (a->op) {
	case KFDABI_TRAP_GET_QUEUE_SNAPSHOT:
		return take_snapshot(c, a);
	case KFDABI_TRAP_SEND_RUNTIME_EVENT:
		c->posted++;
		fiber_changed();
		return 0;
	case KFDABI_TRAP_DISABLE:
		end_session(c);
		return 0;
	case KFDABI_TRAP_SUSPEND_QUEUES:
		return suspend(c, a);
	case KFDABI_TRAP_RESUME_QUEUES:
		return resume(c, a);
	case KFDABI_TRAP_SET_EXCEPTIONS_ENABLED:
		c->subscribed = a->u.set_exceptions_enabled.exception_mask;
		return 0;
	case KFDABI_TRAP_QUERY_EXCEPTION_INFO:
		return query(c, a);
	default:
		return refuse(EINVAL);
	}
}

static int debug_call(struct kfdabi_dbg_trap *a)
{
	struct process *caller = fiber_process(), *target = process_of((pid_t)a->pid);
	struct context *c;
	int result, error;

	if (!target || !target->running || !(c = context_of(target)))
		return refuse(ESRCH);
	if (target != caller && c->tracer != fiber_self() && a->op != KFDABI_TRAP_DISABLE &&
	    (ways.tracer_only || a->op == KFDABI_TRAP_ENABLE || c->by != caller))
		return refuse(EPERM);
	while (c->busy)
		fiber_wait(is_idle, c, NEVER);
	c->busy = caller;
	fiber_sleep(random_below(CALL_NS));
	result = target->running ? on_session(c, a) : refuse(ESRCH);
	error = errno;
	c->busy = NULL;
	fiber_changed();
	errno = error;
	return result;
}

/* ---- other calls ---- */

static bool may_go_on(void *arg)
{
	const struct context *c = arg;

	return !c->by || c->posted;
}

/* While there is a session on it, the process waits for a posted event. */
static int set_runtime(struct context *c, const struct kfdabi_runtime_enable *a)
{
	bool on = a->mode_mask & KFDABI_RUNTIME_MODE_ENABLE;

	if (on && c->runtime == KFDABI_RUNTIME_ENABLED)
		return refuse(EBUSY);
	c->runtime = on ? KFDABI_RUNTIME_ENABLED : KFDABI_RUNTIME_DISABLED;
	c->raised = true;
	if (!on)
		resume_all(c);
	raise_event(c, KFDABI_EC_PROCESS_RUNTIME);
	while (!may_go_on(c))
		fiber_wait(may_go_on, c, NEVER);
	if (c->posted)
		c->posted--;
	return 0;
}

static int create(struct context *c, struct kfdabi_create_queue *a)
{
	uint32_t id = 0;

	while (id < QUEUES && c->queues[id].exists)
		id++;
	if (id == QUEUES)
		return refuse(ENOMEM);
	c->queues[id] = (struct queue){.exists = true,
				       .is_new = true,
				       .type = a->queue_type,
				       .rptr = (uint64_t *)(uintptr_t)a->read_pointer_address,
				       .wptr = (uint64_t *)(uintptr_t)a->write_pointer_address};
	a->queue_id = id;
	hold_as_new(c, &c->queues[id]);
	raise_event(c, KFDABI_EC_QUEUE_NEW);
	review(c);
	return 0;
}

static bool runs_again(void *arg)
{
	return !((struct queue *)arg)->suspended;
}

static int destroy(struct context *c, const struct kfd_ioctl_destroy_queue_args *a)
{
	struct queue *q = &c->queues[a->queue_id % QUEUES];

	if (!q->exists)
		return refuse(EINVAL);
	/* Not while its session begins, because the daemon does not announce that suspension. */
	if (q->suspended && quirks.destroy_suspended_fails && now_ns() > c->view.session_ns + MS)
		return refuse(EIO);
	while (q->suspended)
		fiber_wait(runs_again, q, NEVER);
	*q = (struct queue){0};
	review(c);
	return 0;
}

int driver_call(struct process *owner, unsigned long request, void *argument)
{
	HARNESS;
	struct kfd_ioctl_get_version_args *version = argument;
	struct context *c;

	fiber_sleep(random_below(CALL_NS));
	if (owner != fiber_process())
		return refuse(EBADF);
	if (_IOC_NR((unsigned)request) == KFDABI_DBG_TRAP)
		return debug_call(argument);
	c = context_for(owner);
	switch (_IOC_NR((unsigned)request)) {
	case KFDABI_GET_VERSION:
		version->major_version = 1;
		version->minor_version = 17;
		return 0;
	case KFDABI_RUNTIME_ENABLE:
		return set_runtime(c, argument);
	case KFDABI_CREATE_QUEUE:
		return create(c, argument);
	case KFDABI_DESTROY_QUEUE:
		return destroy(c, argument);
	case KFDABI_UPDATE_QUEUE:
		return 0;
	default:
		return refuse(ENOTTY);
	}
}

void driver_begin(const struct driver_ways *of_run)
{
	memset(contexts, 0, sizeof(contexts));
	context_count = 0;
	ways = *of_run;
	quirks.destroy_suspended_fails = ways.destroy_may_fail && one_in(2);
	quirks.new_queue_waits = one_in(4);
	quirks.enable_leaves_unmapped = one_in(4);
	fiber_start(NULL, "gpu", gpu, NULL);
}

void driver_end(void)
{
	for (unsigned i = 0; i < context_count; i++)
		if (contexts[i].events)
			file_drop(contexts[i].events);
}

bool driver_traced_ended(pid_t pid)
{
	struct process *process = process_of(pid);
	const struct context *c = process ? context_of(process) : NULL;

	return c && !process->running && c->tracer && c->tracer_of == fiber_process();
}
