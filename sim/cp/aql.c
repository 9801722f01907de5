// SPDX-License-Identifier: MIT
/*
 * Passes AQL packets from a queue's ring to the GPU model, and carries out their effects when they
 * retire. Formats: HSA specification, amd_hsa_signal.h, amd_hsa_queue.h.
 */
#include <errno.h>
#include <string.h>

#include "sim/driver/queue.h"

#define AQL_BYTES 64u

enum aql_type {
	AQL_VENDOR = 0,
	AQL_INVALID = 1,
	AQL_DISPATCH = 2,
	AQL_BARRIER_AND = 3,
	AQL_BARRIER_OR = 5,
};
enum vendor_format { VENDOR_PM4_IB = 1, VENDOR_BARRIER_VALUE = 2 };
#define HEADER_BARRIER (1u << 8)

struct __attribute__((packed)) aql {
	uint16_t header;
	uint16_t setup; /* vendor packets: format in the low byte */
	union {
		struct __attribute__((packed)) {
			uint16_t group[3], reserved;
			uint32_t grid[3];
			uint32_t private_bytes, group_bytes;
			uint64_t kernel_object, kernarg, reserved2;
		} dispatch;
		struct __attribute__((packed)) {
			uint32_t reserved;
			uint64_t signals[5], reserved2;
		} barrier;
		struct __attribute__((packed)) {
			uint32_t reserved;
			uint64_t signal, value, mask;
			uint32_t condition, reserved2;
			uint64_t reserved3[2];
		} value;
	};
	uint64_t completion_signal;
};
_Static_assert(sizeof(struct aql) == AQL_BYTES, "AQL packet");

/* offsets in amd_signal_t, in bytes */
enum { SIGNAL_VALUE = 8, SIGNAL_MAILBOX = 16, SIGNAL_EVENT = 24, SIGNAL_START = 32 };

/* Writes the signal's mailbox and then sends the interrupt, which wakes a thread that reads it. The
 * caller has written the signal's value before, because that thread reads it, too. */
int aql_notify_signal(struct process *process, uint64_t signal)
{
	struct {
		uint64_t mailbox;
		uint32_t event;
	} to;
	uint64_t id;

	if (access_read(process, signal + SIGNAL_MAILBOX, &to, sizeof to))
		return -EFAULT;
	if (!to.mailbox)
		return 0;
	id = to.event;
	if (access_write(process, to.mailbox, &id, sizeof id))
		return -EFAULT;
	event_interrupt(process, to.event);
	return 0;
}

static int complete_signal(struct process *process, uint64_t signal, uint64_t start_ns,
			   uint64_t end_ns)
{
	uint64_t stamps[2] = {gpu_ticks(start_ns), gpu_ticks(end_ns)};

	if (access_write(process, signal + SIGNAL_START, stamps, sizeof stamps) ||
	    access_add(process, signal + SIGNAL_VALUE, UINT64_MAX, sizeof(uint64_t)))
		return -EFAULT;
	return aql_notify_signal(process, signal);
}

static uint64_t parts(uint64_t whole, uint64_t one)
{
	return (whole + one - 1) / one;
}

int64_t aql_wave_slots(const struct sim_config *config, uint64_t threads, uint64_t lds_bytes)
{
	uint64_t waves = parts(threads, 64), lds, most = config->node.lds_size_in_kb * 1024u;

	if (waves > config->gpu.wave_slots_per_cu)
		return -QUEUE_ERROR_GROUP_SIZE;
	if (lds_bytes > most)
		return -QUEUE_ERROR_GROUP_MEMORY;
	lds = parts(lds_bytes * config->gpu.wave_slots_per_cu, most);
	return (int64_t)(waves > lds ? waves : lds);
}

/* Parses a dispatch packet: fills in *@packet (its effects) and *@to (its work for the GPU model).
 * Returns 0, a queue_error_code (positive), or a negative errno. */
static int parse_dispatch(struct queue *queue, struct aql *aql, struct packet *packet,
			  struct gpu_packet *to)
{
	struct dispatch dispatch = {.kernel_object = aql->dispatch.kernel_object,
				    .kernarg = aql->dispatch.kernarg};
	unsigned dimensions = aql->setup & 3;
	uint64_t workgroups = 1, threads = 1;
	int64_t wave_slots;
	int r;

	if (!dimensions)
		return QUEUE_ERROR_DIMENSION;
	for (unsigned i = 0; i < 3; i++) {
		if (i >= dimensions)
			aql->dispatch.group[i] = (uint16_t)(aql->dispatch.grid[i] = 1);
		if (!aql->dispatch.group[i] || !aql->dispatch.grid[i])
			return QUEUE_ERROR_DIMENSION;
		dispatch.group[i] = aql->dispatch.group[i];
		dispatch.grid[i] = aql->dispatch.grid[i];
		threads *= dispatch.group[i];
		workgroups *= parts(dispatch.grid[i], dispatch.group[i]);
		if (workgroups > UINT32_MAX)
			return QUEUE_ERROR_DIMENSION;
	}
	if (!dispatch.kernel_object)
		return QUEUE_ERROR_CODE;
	wave_slots =
		aql_wave_slots(&queue->process->sim->config, threads, aql->dispatch.group_bytes);
	if (wave_slots < 0)
		return (int)-wave_slots;
	dispatch.workgroups = (uint32_t)workgroups;
	to->kind = GPU_PACKET_DISPATCH;
	to->wgs = dispatch.workgroups;
	to->wave_slots = (uint32_t)wave_slots;
	r = kernels_classify(queue->process, &dispatch, packet, &to->wg_ns);
	to->trace = packet->kind == PACKET_SPIN && packet->spin.cells;
	return r;
}

/* Parses a barrier packet: fills in *@packet (its effects) and *@to (its work for the GPU model). A
 * barrier without signals waits for nothing and only takes the time of a packet. Returns 0. */
static int parse_barrier(const struct aql *aql, enum packet_kind kind, struct packet *packet,
			 struct gpu_packet *to)
{
	bool any = false;

	packet->kind = kind;
	for (int i = 0; i < 5; i++) {
		packet->deps.signals[i] = aql->barrier.signals[i];
		any |= aql->barrier.signals[i] != 0;
	}
	to->kind = any ? GPU_PACKET_WAIT : GPU_PACKET_WORK;
	if (!any)
		packet->kind = PACKET_NOP;
	return 0;
}

static int parse_vendor(const struct aql *aql, struct packet *packet, struct gpu_packet *to)
{
	if ((aql->setup & 0xff) != VENDOR_BARRIER_VALUE)
		return QUEUE_ERROR_VENDOR;
	packet->kind = PACKET_VALUE;
	packet->poll.address = aql->value.signal;
	packet->poll.reference = aql->value.value;
	packet->poll.mask = aql->value.mask;
	packet->poll.function = aql->value.condition;
	to->kind = GPU_PACKET_WAIT;
	return 0;
}

/* Enters the PM4 indirect buffer to which the AQL vendor packet refers. Returns 0, a
 * queue_error_code (positive) or a negative errno. */
static int enter_pm4(struct queue *queue, const struct aql *aql)
{
	uint32_t words[4];
	int r;

	memcpy(words, (const char *)aql + 4, sizeof words);
	r = pm4_enter_aql(queue, words, aql->completion_signal);

	return r == -EBADMSG ? QUEUE_ERROR_VENDOR : r;
}

static int parse(struct queue *queue, struct aql *aql, struct packet *packet, struct gpu_packet *to)
{
	packet->signal = aql->completion_signal;
	to->barrier = aql->header & HEADER_BARRIER;
	switch (aql->header & 0xff) {
	case AQL_DISPATCH:
		return parse_dispatch(queue, aql, packet, to);
	case AQL_BARRIER_AND:
		return parse_barrier(aql, PACKET_AND, packet, to);
	case AQL_BARRIER_OR:
		return parse_barrier(aql, PACKET_OR, packet, to);
	case AQL_VENDOR:
		return parse_vendor(aql, packet, to);
	default:
		return QUEUE_ERROR_UNSUPPORTED;
	}
}

/* Reads the packet at ring position @at. Loads the header with acquire semantics, because the
 * producer stores it last to publish the packet. Returns 0 or -EFAULT. */
static int read_packet(struct queue *queue, uint64_t at, struct aql *aql)
{
	uint64_t va = queue->hw_ring + at * AQL_BYTES % queue->hw_ring_bytes;
	const uint16_t *direct = access_direct(queue->process, va, AQL_BYTES);

	if (!direct)
		return access_read(queue->process, va, aql, sizeof *aql);
	aql->header = __atomic_load_n(direct, __ATOMIC_ACQUIRE);
	memcpy((char *)aql + sizeof aql->header, direct + 1, AQL_BYTES - sizeof aql->header);
	return 0;
}

/* Passes the packet at queue->fetched to the GPU model. Returns 0; a queue_error_code; -EAGAIN: not
 * published yet, or no room in the model; -EFAULT; -ENOMEM. */
static int fetch_one(struct queue *queue, unsigned *header)
{
	struct packet packet = {.at = queue->fetched, .end = queue->fetched + 1};
	struct gpu_packet to = {0};
	struct aql aql;
	int r;

	if (read_packet(queue, queue->fetched, &aql))
		return -EFAULT;
	*header = aql.header;
	if ((aql.header & 0xff) == AQL_INVALID)
		return -EAGAIN;
	if ((aql.header & 0xff) == AQL_VENDOR && (aql.setup & 0xff) == VENDOR_PM4_IB)
		return enter_pm4(queue, &aql);
	r = parse(queue, &aql, &packet, &to);
	return r ? r : engine_submit(queue, &packet, &to);
}

void aql_fetch(struct queue *queue)
{
	uint64_t slots = queue->hw_ring_bytes / AQL_BYTES;
	unsigned header;
	int r = 0;

	while (!r && !queue->stopped && queue->submitted - queue->done < QUEUE_AHEAD) {
		if (pm4_inside(queue)) {
			if (pm4_fetch_inside(queue))
				return;
			continue;
		}
		if ((int64_t)(queue->limit - queue->fetched) <= 0 ||
		    queue->fetched - queue->retired >= slots)
			return;
		r = fetch_one(queue, &header);
	}
	/* An error takes effect when everything before the packet is complete. */
	if (!r || r == -EAGAIN || queue->submitted != queue->done)
		return;
	if (r > 0)
		queue_error(queue, (enum queue_error_code)r, "%s (AQL packet %llu, header 0x%04x)",
			    queue_error_text((enum queue_error_code)r),
			    (unsigned long long)queue->fetched, header);
	else if (r == -EFAULT)
		engine_fault(queue);
	else
		queue_halt(queue, "out of memory for its packets (%s)", strerror(-r));
}

static int64_t signal_value(const struct process *process, uint64_t signal)
{
	const int64_t *direct = access_direct(process, signal + SIGNAL_VALUE, sizeof *direct);
	int64_t value = 1; /* a signal that cannot be read never becomes 0 */

	if (direct)
		return __atomic_load_n(direct, __ATOMIC_ACQUIRE);
	access_read(process, signal + SIGNAL_VALUE, &value, sizeof value);
	return value;
}

bool aql_ready(struct queue *queue, const struct packet *packet)
{
	const struct process *process = queue->process;
	int64_t value;

	if (packet->kind == PACKET_VALUE) {
		value = signal_value(process, packet->poll.address) & (int64_t)packet->poll.mask;
		switch (packet->poll.function) {
		case 0:
			return value == (int64_t)packet->poll.reference;
		case 1:
			return value != (int64_t)packet->poll.reference;
		case 2:
			return value < (int64_t)packet->poll.reference;
		default:
			return value >= (int64_t)packet->poll.reference;
		}
	}
	for (int i = 0; i < 5; i++) {
		if (!packet->deps.signals[i])
			continue;
		value = signal_value(process, packet->deps.signals[i]);
		if (packet->kind == PACKET_OR && !value)
			return true;
		if (packet->kind == PACKET_AND && value)
			return false;
	}
	return packet->kind == PACKET_AND;
}

/* Marks the ring slots before @end as free (AQL_INVALID) and writes the read pointer. */
static void pass(struct queue *queue, uint64_t end)
{
	const uint16_t invalid = AQL_INVALID;

	for (; queue->passed < end; queue->passed++) {
		uint64_t slot = queue->hw_ring + queue->passed * AQL_BYTES % queue->hw_ring_bytes;

		if (access_write(queue->process, slot, &invalid, sizeof invalid)) {
			engine_fault(queue);
			return;
		}
	}
	if (access_write(queue->process, queue->rptr_address, &end, sizeof end))
		engine_fault(queue);
}

/* Frees the ring slot of a packet that begins, if the packet runs a kernel. A barrier or a wait
 * keeps its slot until it ends, because the packet processor does not continue before that. */
void aql_consumed(struct queue *queue, const struct packet *packet)
{
	if (packet->kind == PACKET_DISPATCH || packet->kind == PACKET_COPY ||
	    packet->kind == PACKET_FILL || packet->kind == PACKET_BLIT ||
	    packet->kind == PACKET_SPIN)
		pass(queue, packet->end);
}

/* Starts the packet's copy or fill, if it has one. Returns 0, or 1 if the caller must return
 * because the copy continues in the background or has failed (move_begin()). */
static int begin_move(struct queue *queue, struct packet *packet)
{
	struct move *move = &queue->moving.move;
	uint64_t fault;

	if (packet->kind == PACKET_BLIT) {
		if (blit_move(queue->process, &packet->blit, move, &fault)) {
			queue->process->sim->fault_va = fault;
			engine_fault(queue);
			return 1;
		}
	} else if (packet->kind == PACKET_COPY || packet->kind == PACKET_FILL) {
		*move = (struct move){.dst = packet->move.dst,
				      .src = packet->move.src,
				      .bytes = packet->move.bytes,
				      .rows = 1,
				      .slices = 1};
		if (packet->kind == PACKET_FILL) {
			move->pattern_bytes = packet->move.element;
			memcpy(move->pattern, &packet->move.value, sizeof packet->move.value);
		}
	} else {
		return 0;
	}
	packet->moved = true;
	return move_begin(queue);
}

/* Writes first the results, then the ring (slot free, read pointer), then the signal, so that a
 * thread which sees one of them sees the earlier ones, too. */
void aql_effect(struct queue *queue, struct packet *packet, uint64_t end_ns)
{
	struct process *process = queue->process;

	if (!packet->moved && begin_move(queue, packet))
		return;
	if (packet->part)
		return;
	if (queue->passed < packet->end)
		pass(queue, packet->end);
	if (!queue->stopped && packet->signal &&
	    complete_signal(process, packet->signal, packet->start_ns, end_ns))
		engine_fault(queue);
}
