// SPDX-License-Identifier: MIT
/*
 * Accesses of the simulated GPU to memory.
 *
 * A GPU address lies in a buffer of the process: either in pages of the render file, which kfdsim
 * has mapped itself, or in the process's own memory (USERPTR), which is reached through the kernel
 * (process_vm_readv(), process_vm_writev()). An access outside all buffers returns -EFAULT; on
 * hardware without retry it is a page fault.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "sim/driver/memory.h"
#include "sim/driver/queue.h"

/* Atomic operations of the L2 (TC_OP of gfx9). The floating-point ones are not simulated. */
enum {
	ATOMIC_SWAP = 0x07,
	ATOMIC_CMPSWAP = 0x08,
	ATOMIC_ADD = 0x0f,
	ATOMIC_SUB = 0x10,
	ATOMIC_SMIN = 0x11,
	ATOMIC_UMIN = 0x12,
	ATOMIC_SMAX = 0x13,
	ATOMIC_UMAX = 0x14,
	ATOMIC_AND = 0x15,
	ATOMIC_OR = 0x16,
	ATOMIC_XOR = 0x17,
	ATOMIC_INC = 0x18,
	ATOMIC_DEC = 0x19,
	ATOMIC_WIDE = 0x20,
};

/* Where an address leads. */
struct memory_location {
	char *direct;  /* address in kfdsim's mapping of pages or doorbells; NULL: in neither */
	uint64_t cpu;  /* address in the process, if direct is NULL */
	uint64_t room; /* bytes up to the end of the buffer */
};

/* Records in sim->fault_va the address that the GPU could not reach. Returns -EFAULT. */
static int fault_at(const struct process *process, uint64_t va)
{
	process->sim->fault_va = va;
	return -EFAULT;
}

static int find_location(const struct process *process, uint64_t va,
			 struct memory_location *location)
{
	const struct mapping *mapping = memory_find(process, process->acting, va);

	location->direct = NULL;
	if (!mapping) {
		/* The address is in the process's own memory. Go one page at a time, because the
		 * attributes of the next page may differ. */
		location->room = PAGE_BYTES - va % PAGE_BYTES;
		location->cpu = va;
		return svm_covers(process, process->acting, va, 1) ? 0 : fault_at(process, va);
	}
	location->room = mapping->va + mapping->size - va;
	if (mapping->pages) {
		location->direct = pages_at(mapping->pages, mapping->offset + (va - mapping->va));
		return 0;
	}
	if (mapping->doorbells && rule_holds(process->sim, RULE_gpu_write_rings_a_doorbell)) {
		location->direct = mapping->doorbells + mapping->offset + (va - mapping->va);
		process->sim->gpu_rang = true;
		return 0;
	}
	if (!mapping->cpu_va)
		return fault_at(process, va); /* MMIO: no memory */
	location->cpu = mapping->cpu_va + (va - mapping->va);
	return 0;
}

void *access_direct(const struct process *process, uint64_t va, uint64_t bytes)
{
	struct memory_location location;

	if (find_location(process, va, &location) || !location.direct || location.room < bytes)
		return NULL;
	return location.direct;
}

int task_memory(pid_t pid, uint64_t address, void *local, size_t n, bool write)
{
	struct iovec l = {local, n}, r = {(void *)(uintptr_t)address, n};
	ssize_t done;

	if (!n)
		return 0;
	done = write ? process_vm_writev(pid, &l, 1, &r, 1, 0)
		     : process_vm_readv(pid, &l, 1, &r, 1, 0);
	return done == (ssize_t)n ? 0 : -EFAULT;
}

/* If the host had no page for memory that was touched since the last check, maps the pages again
 * and returns -EFAULT. Otherwise returns 0. */
static int heap_whole(struct sim *sim)
{
	if (!heap_lost())
		return 0;
	heap_mend(sim);
	return -EFAULT;
}

/* Transfers @n bytes. On failure *@va is the address at which the transfer stopped. */
static int transfer(const struct process *process, uint64_t *va, void *local, size_t n, bool write)
{
	char *at = local;

	while (n) {
		struct memory_location location;
		size_t part;
		int r = find_location(process, *va, &location);

		if (r)
			return r;
		part = location.room < n ? (size_t)location.room : n;
		if (!location.direct) {
			if (task_memory(process->pid, location.cpu, at, part, write))
				return fault_at(process, *va);
		} else if (write) {
			memcpy(location.direct, at, part);
		} else {
			memcpy(at, location.direct, part);
		}
		*va += part;
		at += part;
		n -= part;
	}
	return heap_whole(process->sim) ? fault_at(process, *va) : 0;
}

int access_read(const struct process *process, uint64_t va, void *to, size_t n)
{
	return transfer(process, &va, to, n, false);
}

int access_write(const struct process *process, uint64_t va, const void *from, size_t n)
{
	return transfer(process, &va, (void *)(uintptr_t)from, n, true);
}

/* Adds @value to an integer of 4 or 8 bytes. The addition is not atomic if kfdsim has not mapped
 * the memory and reaches it through the kernel; the report contains how often that happened. */
int access_add(struct process *process, uint64_t va, uint64_t value, size_t bytes)
{
	void *direct = access_direct(process, va, bytes);
	uint64_t old = 0;
	int r;

	if (direct && (uintptr_t)direct % bytes == 0) {
		if (bytes == sizeof(uint64_t))
			__atomic_fetch_add((uint64_t *)direct, value, __ATOMIC_ACQ_REL);
		else
			__atomic_fetch_add((uint32_t *)direct, (uint32_t)value, __ATOMIC_ACQ_REL);
		return 0;
	}
	r = access_read(process, va, &old, bytes);
	if (r)
		return r;
	process->sim->plain_updates++;
	old += value;
	return access_write(process, va, &old, bytes);
}

/* Returns the value that an atomic operation stores. Signed operations use the sign of 64 bits if
 * @wide, else of 32. */
static uint64_t operate(unsigned op, bool wide, uint64_t old, uint64_t source, uint64_t compare)
{
	int64_t o = wide ? (int64_t)old : (int32_t)old,
		s = wide ? (int64_t)source : (int32_t)source;

	switch (op) {
	case ATOMIC_SWAP:
		return source;
	case ATOMIC_CMPSWAP:
		return old == compare ? source : old;
	case ATOMIC_ADD:
		return old + source;
	case ATOMIC_SUB:
		return old - source;
	case ATOMIC_SMIN:
		return o < s ? old : source;
	case ATOMIC_UMIN:
		return old < source ? old : source;
	case ATOMIC_SMAX:
		return o > s ? old : source;
	case ATOMIC_UMAX:
		return old > source ? old : source;
	case ATOMIC_AND:
		return old & source;
	case ATOMIC_OR:
		return old | source;
	case ATOMIC_XOR:
		return old ^ source;
	case ATOMIC_INC:
		return old >= source ? 0 : old + 1;
	default:
		return !old || old > source ? source : old - 1;
	}
}

/* Replaces an integer of 64 (@wide) or 32 bits by @value if it is still *@old. Otherwise sets *@old
 * to its present value. Returns true if it was replaced. */
static bool exchange(void *direct, bool wide, uint64_t *old, uint64_t value)
{
	uint32_t low = (uint32_t)*old;
	bool done;

	if (wide)
		return __atomic_compare_exchange_n((uint64_t *)direct, old, value, false,
						   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	done = __atomic_compare_exchange_n((uint32_t *)direct, &low, (uint32_t)value, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	*old = low;
	return done;
}

int access_atomic(struct process *process, uint64_t va, unsigned op, uint64_t source,
		  uint64_t compare, uint64_t *old)
{
	unsigned which = op & 0x1f;
	bool wide = op & ATOMIC_WIDE;
	size_t bytes = wide ? 8 : 4;
	uint64_t before = 0, value;
	void *direct;

	if ((which != ATOMIC_SWAP && which != ATOMIC_CMPSWAP && which < ATOMIC_ADD) ||
	    which < ATOMIC_SWAP || which > ATOMIC_DEC)
		return -EBADMSG;
	va &= ~(uint64_t)(bytes - 1);
	if (!wide) {
		source = (uint32_t)source;
		compare = (uint32_t)compare;
	}
	direct = access_direct(process, va, bytes);
	if (direct) {
		before = wide ? __atomic_load_n((uint64_t *)direct, __ATOMIC_RELAXED)
			      : __atomic_load_n((uint32_t *)direct, __ATOMIC_RELAXED);
		do
			value = operate(which, wide, before, source, compare);
		while (!exchange(direct, wide, &before, value));
	} else {
		if (access_read(process, va, &before, bytes))
			return -EFAULT;
		process->sim->plain_updates++;
		value = operate(which, wide, before, source, compare);
		if (access_write(process, va, &value, bytes))
			return -EFAULT;
	}
	if (old)
		*old = before;
	return 0;
}

int ring_read(const struct queue *queue, uint64_t at, void *to, uint64_t bytes)
{
	char *out = to;

	while (bytes) {
		uint64_t offset = at % queue->hw_ring_bytes, part = queue->hw_ring_bytes - offset;
		int r;

		if (part > bytes)
			part = bytes;
		r = access_read(queue->process, queue->hw_ring + offset, out, part);
		if (r)
			return r;
		at += part;
		out += part;
		bytes -= part;
	}
	return 0;
}

/* Copies memory. On failure *@fault is the address that could not be accessed. */
static int access_copy(const struct process *process, uint64_t dst, uint64_t src, uint64_t bytes,
		       uint64_t *fault)
{
	/* Buffer for copies within the process's own memory. Static is safe under sim->lock. */
	static char between[65536];

	while (bytes) {
		struct memory_location d, s;
		uint64_t part = bytes;
		int r = find_location(process, dst, &d);

		*fault = dst;
		if (r)
			return r;
		if (find_location(process, src, &s)) {
			*fault = src;
			return -EFAULT;
		}
		if (part > d.room)
			part = d.room;
		if (part > s.room)
			part = s.room;
		if (d.direct && s.direct) {
			memmove(d.direct, s.direct, part);
		} else if (d.direct) {
			r = task_memory(process->pid, s.cpu, d.direct, part, false);
			*fault = src;
		} else if (s.direct) {
			r = task_memory(process->pid, d.cpu, s.direct, part, true);
		} else {
			if (part > sizeof between)
				part = sizeof between;
			r = task_memory(process->pid, s.cpu, between, part, false);
			*fault = r ? src : dst;
			if (!r)
				r = task_memory(process->pid, d.cpu, between, part, true);
		}
		if (r)
			return fault_at(process, *fault);
		dst += part;
		src += part;
		bytes -= part;
	}
	return heap_whole(process->sim) ? fault_at(process, dst) : 0;
}

/* Fills memory with the pattern. On failure *@fault is as above. */
static int access_fill(const struct process *process, uint64_t dst, uint64_t bytes,
		       const void *pattern, size_t pattern_bytes, uint64_t *fault)
{
	char block[16384];
	size_t whole = sizeof block / pattern_bytes * pattern_bytes;

	for (size_t i = 0; i < whole && i < bytes; i += pattern_bytes)
		memcpy(block + i, pattern, pattern_bytes);
	while (bytes) {
		size_t part = bytes < whole ? (size_t)bytes : whole;
		int r;

		*fault = dst;
		r = transfer(process, fault, block, part, true);
		if (r)
			return r;
		dst += part;
		bytes -= part;
	}
	return 0;
}

/*
 * Makes the copies and fills that packets request. They begin when the packet ends (PM4: when it
 * begins).
 *
 * However large a copy is, it is made in parts, so that no other work is delayed for long. What can
 * be copied in 1 ms is copied in the calling thread; such copies get at most a quarter of the time.
 * The rest is copied by the copy thread, which has ordinary priority. It releases sim->lock between
 * its time slices, and as soon as another thread waits for the lock. The packet completes when all
 * bytes are copied; until then further events of its queue are held back in order.
 */

#define PIECE 65536u   /* bytes between two readings of the clock */
#define ROW_WORK 4096u /* time to begin a row, in bytes that could be copied in that time */
/* longest turn of the copy thread */
#define SLICE_NS 1000000u
#define SHARE 4u       /* copies in the calling thread get at most 1/SHARE of the time */
#define TINY 4096u     /* bytes; copied at once in any case */
#define HELD_MAX 4096u /* limit of events that are held back for one queue */
#define HELD_EACH 3u   /* held events that one packet can add: STARTED, WAITING, RETIRED */

/* Limit of one time slice of the copy thread, or of the copies that the calling thread makes for a
 * packet itself. */
struct work_share {
	uint64_t until_ns, work;
	bool yields; /* the limit is reached, too, when another thread waits for sim->lock */
	bool spent;
};

static bool ended(const struct move *move)
{
	return move->slice == move->slices || !move->bytes || !move->rows;
}

/* Copies the next bytes, at most to the end of the row. Returns their number, or -EFAULT. */
static int64_t move_piece(const struct process *process, struct move *move)
{
	uint64_t n = move->bytes - move->at, most = PIECE;
	uint64_t dst = move->dst + move->slice * move->dst_slice + move->row * move->dst_pitch;
	uint64_t src = move->src + move->slice * move->src_slice + move->row * move->src_pitch;
	int r;

	if (move->pattern_bytes)
		most -= most % move->pattern_bytes;
	if (n > most)
		n = most;
	if (move->pattern_bytes)
		r = access_fill(process, dst + move->at, n, move->pattern, move->pattern_bytes,
				&move->fault);
	else
		r = access_copy(process, dst + move->at, src + move->at, n, &move->fault);
	if (r)
		return r;
	move->at += n;
	if (move->at < move->bytes)
		return (int64_t)n;
	move->at = 0;
	if (++move->row < move->rows)
		return (int64_t)n;
	move->row = 0;
	move->slice++;
	return (int64_t)n;
}

static void spend(const struct sim *sim, struct work_share *share, uint64_t work)
{
	share->work += work;
	if (share->work < PIECE)
		return;
	share->work = 0;
	share->spent = (share->yields && __atomic_load_n(&sim->wanted, __ATOMIC_RELAXED)) ||
		       clock_ns() >= share->until_ns;
}

/* Copies until all is copied or the limit @share is reached. Returns 0: all is copied; 1: the limit
 * is reached; -EFAULT. */
static int move_slice(struct queue *queue, struct work_share *share)
{
	struct process *process = queue->process;
	struct move *move = &queue->moving.move;

	process->acting = queue->node;
	while (!ended(move)) {
		int64_t n;

		if (share->spent)
			return 1;
		n = move_piece(process, move);
		if (n < 0)
			return (int)n;
		spend(process->sim, share, (uint64_t)n + ROW_WORK);
	}
	return 0;
}

static bool tiny(const struct move *move)
{
	return move->rows == 1 && move->slices == 1 && move->bytes <= TINY;
}

/* Copies what may be copied in the calling thread; returns as move_slice(). Such copies get at most
 * 1/SHARE of the time, because the calling thread may have real-time priority. After a pause they
 * may take SLICE_NS in one go. Tiny copies, and all copies in virtual time, have no limit. */
static int move_at_once(struct queue *queue)
{
	const uint64_t advance = SHARE * SLICE_NS;
	struct sim *sim = queue->process->sim;
	struct work_share share = {.until_ns = UINT64_MAX};
	uint64_t begin, owed;
	int r;

	if (sim->time || tiny(&queue->moving.move))
		return move_slice(queue, &share);
	begin = clock_ns();
	if (sim->move_paid_ns < begin)
		sim->move_paid_ns = begin;
	owed = sim->move_paid_ns - begin;
	if (owed >= advance)
		return 1;
	share.until_ns = begin + (advance - owed) / SHARE;
	r = move_slice(queue, &share);
	sim->move_paid_ns += SHARE * (clock_ns() - begin);
	return r;
}

int move_begin(struct queue *queue)
{
	struct sim *sim = queue->process->sim;
	struct moving *moving = &queue->moving;
	int r = move_at_once(queue);

	if (!r)
		return 0;
	if (r > 0 && !moving->held) {
		moving->held = malloc(HELD_MAX * sizeof *moving->held);
		if (!moving->held) {
			queue_halt(queue, "out of memory for a large copy");
			sim->fault_va = moving->move.dst;
			r = -ENOMEM;
		}
	}
	if (r < 0) {
		engine_fault(queue);
		return 1;
	}
	moving->under_way = true;
	TAILQ_INSERT_TAIL(&sim->copies, queue, copy_entry);
	pthread_cond_signal(&sim->move_begun);
	return 1;
}

/* Holds the event back. Returns false, for lack of room, only for workgroup events. There is always
 * room for other events, because they are at most HELD_EACH * QUEUE_AHEAD: a packet that is not
 * complete keeps its place in queue->ahead. */
bool move_hold(struct queue *queue, const struct gpu_event *event)
{
	struct moving *moving = &queue->moving;

	if (event->type == GPU_EVENT_WORKGROUPS &&
	    moving->n_held >= HELD_MAX - HELD_EACH * QUEUE_AHEAD)
		return false;
	moving->held[moving->n_held++] = *event;
	return true;
}

struct queue *move_next_over(struct sim *sim)
{
	struct queue *queue = TAILQ_FIRST(&sim->moved);

	if (!queue)
		return NULL;
	TAILQ_REMOVE(&sim->moved, queue, copy_entry);
	queue->moving.under_way = queue->moving.over = false;
	return queue;
}

void move_drop(struct queue *queue)
{
	struct sim *sim = queue->process->sim;

	if (queue->moving.over)
		TAILQ_REMOVE(&sim->moved, queue, copy_entry);
	else if (queue->moving.under_way)
		TAILQ_REMOVE(&sim->copies, queue, copy_entry);
	free(queue->moving.held);
}

/* Copies for one SLICE_NS for the first queue in sim->copies. Returns true if its copy is over. */
static bool next_slice(struct sim *sim)
{
	struct queue *queue = TAILQ_FIRST(&sim->copies);
	struct work_share share = {.until_ns = clock_ns() + SLICE_NS, .yields = true};
	int r = 0;

	TAILQ_REMOVE(&sim->copies, queue, copy_entry);
	if (!queue->process->dead && !queue->stopped)
		r = move_slice(queue, &share);
	if (r > 0) {
		TAILQ_INSERT_TAIL(&sim->copies, queue, copy_entry);
		return false;
	}
	if (r < 0)
		engine_fault(queue);
	queue->moving.over = true;
	TAILQ_INSERT_TAIL(&sim->moved, queue, copy_entry);
	return true;
}

/* Runs the copy thread. When it releases sim->lock, priority inheritance passes the lock to a
 * waiting thread at once. */
static void *move_all(void *arg)
{
	struct sim *sim = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&sim->lock);
	while (!sim->copy_thread_stop) {
		bool over;

		if (TAILQ_EMPTY(&sim->copies)) {
			pthread_cond_wait(&sim->move_begun, &sim->lock);
			continue;
		}
		over = next_slice(sim);
		pthread_mutex_unlock(&sim->lock);
		if (over && write(sim->wake_fd, &one, sizeof one) < 0)
			over = false; /* the eventfd is readable already */
		pthread_mutex_lock(&sim->lock);
	}
	pthread_mutex_unlock(&sim->lock);
	return NULL;
}

int copy_thread_start(struct sim *sim)
{
	return -pthread_create(&sim->copy_entry, NULL, move_all, sim);
}

void copy_thread_stop(struct sim *sim)
{
	pthread_mutex_lock(&sim->lock);
	sim->copy_thread_stop = true;
	pthread_cond_signal(&sim->move_begun);
	pthread_mutex_unlock(&sim->lock);
	pthread_join(sim->copy_entry, NULL);
}
