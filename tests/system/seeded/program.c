// SPDX-License-Identifier: MIT
#include "tests/system/seeded/program.h"

#include <string.h>

#include "kfd/uapi.h"
#include "tests/system/seeded/calls.h"
#include "tests/system/seeded/driver.h"

#define RING 16u
#define PACKET 64u

/* The layout that ROCr uses (see shim/queue_table.c). */
struct amd_queue {
	uint64_t type, base, doorbell, size, id, pad[2], wptr, pad2[8], rptr, pad3[15];
};
_Static_assert(offsetof(struct amd_queue, wptr) == 56, "write pointer");
_Static_assert(offsetof(struct amd_queue, rptr) == 128, "read pointer");

struct signal {
	int64_t kind, value;
	uint64_t pad[4], queue, pad2;
};

struct app_queue {
	struct amd_queue amd __attribute__((aligned(64)));
	char ring[RING * PACKET] __attribute__((aligned(64)));
	struct signal doorbell __attribute__((aligned(64))), done __attribute__((aligned(64)));
	uint32_t id;
};

/* The memory of a program. */
struct memory {
	struct kfdshim_preload_iface host;
	struct kfdshim_app_settings app_settings;
	uint64_t active_doorbells[KFDSHIM_ACTIVE_DOORBELLS];
	uint32_t n_intercept_queues, gate, active;
	const struct kfdshim_agent *agent;
	struct app_queue queues[2];
	int device;
	bool churns; /* the second thread still runs */
};

struct image agent_images[AGENT_IMAGES];
struct program programs[PROGRAMS];
static struct memory memories[PROGRAMS];

static struct memory *memory_of(const struct program *program)
{
	return &memories[program - programs];
}

static int call_driver(int fd, unsigned long request, void *arg)
{
	return played_ioctl(fd, request, arg);
}

/* ---- queues ---- */

static bool make_queue(struct program *program, struct app_queue *q)
{
	struct memory *m = memory_of(program);
	struct kfdabi_create_queue args = {
		.ring_base_address = (uintptr_t)q->ring,
		.ring_size = sizeof(q->ring),
		.write_pointer_address = (uintptr_t)&q->amd.wptr,
		.read_pointer_address = (uintptr_t)&q->amd.rptr,
		.gpu_id = DRIVER_NODE + program->ways.node,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
	};

	memset(q, 0, sizeof(*q));
	q->amd.base = (uintptr_t)q->ring;
	q->amd.size = RING;
	q->amd.doorbell = (uintptr_t)&q->doorbell;
	q->doorbell.kind = -1;
	q->doorbell.queue = (uintptr_t)&q->amd;
	program->made_ns = now_ns();
	if (m->agent->ioctl(m->device, _IOWR(KFDABI_TYPE, KFDABI_CREATE_QUEUE, args), &args) != 0)
		return false;
	q->id = args.queue_id;
	m->agent->handle_made((uintptr_t)&q->amd);
	program->made_ns = now_ns();
	return true;
}

static void destroy_queue(struct program *program, struct app_queue *q)
{
	struct memory *m = memory_of(program);
	struct kfd_ioctl_destroy_queue_args args = {.queue_id = q->id};
	uint64_t *since = &program->destroys_ns[q - m->queues];

	*since = now_ns();
	m->agent->handle_gone((uintptr_t)&q->amd);
	if (m->agent->ioctl(m->device, _IOWR(KFDABI_TYPE, KFDABI_DESTROY_QUEUE, args), &args) != 0)
		fail("queue %u cannot be destroyed: %s", q->id, strerror(errno));
	*since = 0;
}

static bool is_done(void *arg)
{
	return __atomic_load_n((int64_t *)arg, __ATOMIC_ACQUIRE) == 0;
}

/* Plays one packet from the reservation of its slot to its end. */
static void work(struct program *program, struct app_queue *q)
{
	struct memory *m = memory_of(program);
	uint64_t wptr = q->amd.wptr, signal = (uintptr_t)&q->done, bell = (uintptr_t)&q->doorbell;
	bool waits = !one_in(8);
	uint32_t ticket;

	if (__atomic_load_n(&m->gate, __ATOMIC_SEQ_CST))
		m->agent->reserve((uintptr_t)&q->amd, 1);
	q->done.value = 1;
	memcpy(&q->ring[wptr % RING * PACKET + 56], &signal, sizeof(signal));
	__atomic_store_n(&q->amd.wptr, wptr + 1, __ATOMIC_SEQ_CST);
	fiber_yield();
	if (__atomic_load_n(&m->active_doorbells[kfdshim_doorbell_slot(bell)], __ATOMIC_RELAXED) !=
	    bell)
		m->agent->doorbell(bell);
	driver_submit(program->process, q->id, 1 + random_below(program->ways.work_most_ns),
		      &q->done.value);
	ticket = waits ? m->agent->wait_begin(signal) : KFDSHIM_NO_TICKET;
	fiber_wait(is_done, &q->done.value, NEVER);
	if (waits)
		m->agent->wait_end(ticket, signal, true);
	program->packets++;
}

/* ---- the program ---- */

static bool may_go_on(void *arg)
{
	const struct program *program = arg;

	return !program->rests || program->ends;
}

static void work_until_end(struct program *program, struct app_queue *q, unsigned packets)
{
	for (; packets && !program->ends; packets--) {
		if (program->rests)
			fiber_wait(may_go_on, program, NEVER);
		else
			work(program, q);
		fiber_sleep(random_below(program->ways.gap_most_ns));
	}
}

static void churn(void *arg)
{
	struct program *program = arg;
	struct memory *m = memory_of(program);

	while (!program->ends) {
		fiber_sleep(random_below(program->ways.gap_most_ns));
		fiber_wait(may_go_on, program, NEVER);
		if (!make_queue(program, &m->queues[1]))
			break;
		work_until_end(program, &m->queues[1], (unsigned)random_below(6));
		destroy_queue(program, &m->queues[1]);
	}
	m->churns = false;
	fiber_changed();
}

static bool is_alone(void *arg)
{
	return !((struct memory *)arg)->churns;
}

static void run(void *arg)
{
	static kfdshim_agent_start_fn *const entries[] = AGENT_ENTRIES;
	struct program *program = arg;
	struct memory *m = memory_of(program);
	struct kfdabi_runtime_enable off = {0};

	memset(m, 0, sizeof(*m));
	m->app_settings = (struct kfdshim_app_settings){.priority = KFDSHIM_UNASKED,
							.slo_us = KFDSHIM_UNASKED};
	m->host = (struct kfdshim_preload_iface){.abi = KFDSHIM_AGENT_ABI,
						 .ioctl = call_driver,
						 .active_doorbells = m->active_doorbells,
						 .n_intercept_queues = &m->n_intercept_queues,
						 .gate = &m->gate,
						 .active = &m->active,
						 .app_settings = &m->app_settings};
	m->agent = entries[program->process->image - agent_images](&m->host);
	fiber_release(m);
	m->device = played_open("/dev/kfd", 0);
	if (make_queue(program, &m->queues[0])) {
		m->churns = program->ways.churn;
		if (m->churns)
			fiber_start(program->process, "churn", churn, program);
		work_until_end(program, &m->queues[0], UINT32_MAX);
		fiber_wait(is_alone, m, NEVER);
		destroy_queue(program, &m->queues[0]);
		if (one_in(2))
			m->agent->ioctl(m->device, KFDABI_IOC_RUNTIME_ENABLE, &off);
	}
	process_kill(program->process);
}

static const char *environment(const struct process *process, const char *name)
{
	static char number[16];
	const struct program *program = process->own;

	if (strcmp(name, "KFDSHIM_LEVEL") == 0)
		return program->ways.level;
	if (strcmp(name, "KFDSHIM_LOG") == 0)
		return "info";
	if (strcmp(name, "KFDSHIM_PRIORITY") != 0 || program->ways.priority < 0)
		return NULL;
	snprintf(number, sizeof(number), "%d", program->ways.priority);
	return number;
}

void programs_begin(void)
{
	memset(programs, 0, sizeof(programs));
}

struct program *program_start(const struct program_ways *ways)
{
	unsigned image = 0, i = 0;

	while (image < AGENT_IMAGES && agent_images[image].user)
		image++;
	while (i < PROGRAMS && programs[i].process)
		i++;
	if (image == AGENT_IMAGES || i == PROGRAMS)
		return NULL;
	programs[i] = (struct program){.ways = *ways, .priority = ways->priority};
	programs[i].came_ns = now_ns();
	programs[i].process = process_start(ways->priority == 15  ? "online"
					    : ways->priority >= 0 ? "offline"
								  : "other",
					    &agent_images[image], run, &programs[i]);
	programs[i].process->uid = ways->uid;
	programs[i].process->pid_ns = ways->pid_ns;
	programs[i].process->user_ns = ways->user_ns;
	programs[i].process->own = &programs[i];
	programs[i].process->environment = environment;
	return &programs[i];
}

bool program_runs(const struct program *program)
{
	return program->process && program->process->running;
}

static bool is_to_end(void *arg)
{
	return ((const struct program *)arg)->ends;
}

/* Plays a program that has no agent and does not use the GPU. */
static void run_other(void *arg)
{
	struct program *program = arg;

	fiber_wait(is_to_end, program, NEVER);
	process_kill(program->process);
}

void program_exec(struct program *program, bool with)
{
	program->priority = program->ways.priority;
	program->came_ns = now_ns();
	memset(program->destroys_ns, 0, sizeof(program->destroys_ns));
	process_exec(program->process, with ? run : run_other, program);
}

static void change_setting(void *arg)
{
	struct program *program = arg;
	struct memory *m = memory_of(program);

	if (!m->agent)
		return;
	fiber_acquire(m);
	__atomic_store_n(&m->app_settings.priority, program->priority, __ATOMIC_SEQ_CST);
	m->agent->app_settings_changed();
	program->came_ns = now_ns();
}

void program_setting(struct program *program, int priority)
{
	program->priority = priority;
	program->came_ns = now_ns();
	fiber_start(program->process, "wish", change_setting, program);
}

void programs_rest(void)
{
	for (int i = 0; i < PROGRAMS; i++)
		programs[i].rests = true;
	fiber_changed();
}

void programs_end(void)
{
	for (int i = 0; i < PROGRAMS; i++)
		programs[i].ends = true;
	fiber_changed();
}

unsigned programs_running(void)
{
	unsigned n = 0;

	for (int i = 0; i < PROGRAMS; i++)
		n += programs[i].process && !programs[i].process->gone;
	return n;
}
