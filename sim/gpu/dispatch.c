// SPDX-License-Identifier: MIT
/*
 * Distributes the free wave slots of an XCC.
 *
 * Saved workgroups of queues that have a hardware slot come first. Until all of a queue's saved
 * workgroups run again, no new workgroup gets wave slots on the CUs that this queue may use. Then
 * come the priority classes, the highest first. Within a class the waiting queues get wave slots
 * for one workgroup each, in turn. If a workgroup fits on no CU, its queue stays first, and the CU
 * with the most free wave slots that the queue may use is closed to all queues behind it.
 */
#include "sim/gpu/gpu_priv.h"

/* ---- the free wave slots ----
 * Keeps the free wave slots of the CUs of one XCC.
 *
 * CUs with the same number of free wave slots form a level, which is a bit set. An operation on
 * many equal CUs (a kernel that fills an idle XCC, workgroups that end together) therefore takes
 * one step, however many CUs there are.
 */

static inline struct cus cus_or(struct cus a, struct cus b)
{
	return (struct cus){{a.w[0] | b.w[0], a.w[1] | b.w[1]}};
}

static inline bool cus_none(struct cus a)
{
	return (a.w[0] | a.w[1]) == 0;
}

static inline bool cus_meet(struct cus a, struct cus b)
{
	return ((a.w[0] & b.w[0]) | (a.w[1] & b.w[1])) != 0;
}

/* Returns the number of bits that are set in `word`. Avoids __builtin_popcountll(), because the
 * build must not assume the popcnt instruction, and without it the compiler calls a library
 * function. */
static inline uint32_t cus_count_word(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
}

static inline uint32_t cus_count(struct cus a)
{
	uint32_t n = cus_count_word(a.w[0]);

	return a.w[1] ? n + cus_count_word(a.w[1]) : n;
}

/* Returns the CUs 0 .. n - 1; n <= CUS_XCC_MAX. */
static inline struct cus cus_below(uint32_t n)
{
	return (struct cus){{
		n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1,
		n >= 128 ? ~UINT64_C(0)
		: n > 64 ? (UINT64_C(1) << (n - 64)) - 1
			 : 0,
	}};
}

/* Returns the lowest `n` bits that are set in `word`; all of them if there are fewer. */
static inline uint64_t cus_first_of(uint64_t word, uint32_t n)
{
	uint64_t out = 0;

	for (; n > 0 && word; n--, word &= word - 1)
		out |= word & -word;
	return out;
}

/* Returns the `n` CUs of `a` with the lowest numbers; n <= cus_count(a). */
static inline struct cus cus_first(struct cus a, uint32_t n)
{
	uint32_t low = cus_count_word(a.w[0]);

	if (n <= low)
		return (struct cus){{cus_first_of(a.w[0], n), 0}};
	return (struct cus){{a.w[0], cus_first_of(a.w[1], n - low)}};
}

void xcc_init(struct xcc *xcc, uint32_t cus, uint32_t wave_slots)
{
	xcc->all = cus_below(cus);
	xcc->level[wave_slots] = xcc->all;
	xcc->levels = UINT64_C(1) << wave_slots;
	xcc->free = cus * wave_slots;
	for (uint32_t i = 0; i < CLASSES; i++)
		list_init(&xcc->waiting[i]);
	list_init(&xcc->restoring);
}

/* Moves CUs from one level (number of free wave slots) to another. */
static inline void move(struct xcc *xcc, struct cus moved, uint32_t from, uint32_t to)
{
	xcc->level[from] = cus_without(xcc->level[from], moved);
	xcc->level[to] = cus_or(xcc->level[to], moved);
	xcc->levels |= UINT64_C(1) << to;
	if (cus_none(xcc->level[from]))
		xcc->levels &= ~(UINT64_C(1) << from);
}

void xcc_hold(struct xcc *xcc, struct cus cus, uint32_t wave_slots)
{
	uint64_t levels = xcc->levels;

	xcc->free -= wave_slots * cus_count(cus);
	for (; !cus_none(cus); levels &= levels - 1) {
		uint32_t level = (uint32_t)__builtin_ctzll(levels);
		struct cus here = cus_and(xcc->level[level], cus);

		if (cus_none(here))
			continue;
		move(xcc, here, level, level - wave_slots);
		cus = cus_without(cus, here);
	}
}

void xcc_give(struct xcc *xcc, struct cus cus, uint32_t wave_slots)
{
	uint64_t levels = xcc->levels;

	xcc->free += wave_slots * cus_count(cus);
	while (!cus_none(cus)) {
		uint32_t level = 63u - (uint32_t)__builtin_clzll(levels);
		struct cus here = cus_and(xcc->level[level], cus);

		levels ^= UINT64_C(1) << level;
		if (cus_none(here))
			continue;
		move(xcc, here, level, level + wave_slots);
		cus = cus_without(cus, here);
	}
}

/* Returns the highest level (number of free wave slots) from `least` to `top` that has a CU of
 * `open`, or -1 if there is none. */
static inline int highest(const struct xcc *xcc, struct cus open, int top, uint32_t least)
{
	uint64_t levels = xcc->levels & ((UINT64_C(2) << top) - 1) & (~UINT64_C(0) << least);

	while (levels) {
		int level = 63 - __builtin_clzll(levels);

		if (cus_meet(xcc->level[level], open))
			return level;
		levels ^= UINT64_C(1) << level;
	}
	return -1;
}

uint32_t xcc_take(struct xcc *xcc, struct cus open, uint32_t wave_slots, uint32_t want,
		  struct cus *cus, uint32_t *layers)
{
	int level = highest(xcc, open, WAVE_SLOTS_CU_MAX, wave_slots);

	if (level < 0 || want == 0)
		return 0;
	struct cus here = cus_and(xcc->level[level], open);
	uint32_t n = cus_count(here), k = 1;

	if (want < n) {
		here = cus_first(here, want);
		n = want;
	} else {
		/* Place further layers (one workgroup on each CU) on the same CUs, as long as these
		 * have the most free wave slots. */
		bool more = (uint32_t)level >= 2 * wave_slots && want >= 2 * n;
		int next = more ? highest(xcc, open, level - 1, 0) : -1;
		uint32_t least = next < 0 ? 0 : (uint32_t)next;

		/* The number of layers is small: subtracting is faster than dividing. */
		uint32_t left = (uint32_t)level - wave_slots, rest = want - n;

		while (left >= wave_slots && left > least && rest >= n) {
			left -= wave_slots;
			rest -= n;
			k++;
		}
	}
	move(xcc, here, (uint32_t)level, (uint32_t)level - k * wave_slots);
	xcc->free -= n * k * wave_slots;
	*cus = here;
	*layers = k;
	return n * k;
}

/* Returns how many workgroups that hold `wave_slots` slots each fit on the CUs of `open`. */
static uint32_t xcc_room(const struct xcc *xcc, struct cus open, uint32_t wave_slots)
{
	uint64_t levels = xcc->levels & ~UINT64_C(0) << wave_slots;
	uint32_t room = 0, fit = 1, next = 2 * wave_slots;

	for (; levels; levels &= levels - 1) {
		uint32_t level = (uint32_t)__builtin_ctzll(levels);

		for (; level >= next; fit++)
			next += wave_slots;
		room += cus_count(cus_and(xcc->level[level], open)) * fit;
	}
	return room;
}

/* Returns the CU of `open` with the most free wave slots, as a set; empty if `open` is empty. */
static struct cus xcc_roomiest(const struct xcc *xcc, struct cus open)
{
	int level = highest(xcc, open, WAVE_SLOTS_CU_MAX, 0);

	return level < 0 ? (struct cus){{0, 0}} : cus_first(cus_and(xcc->level[level], open), 1);
}

void dispatch_begin(struct gpu *gpu, struct gpu_queue *queue)
{
	uint32_t wgs = queue_packet(queue, queue->cp)->p.wgs, xccs = gpu->config.xccs;

	queue->launching = 0;
	for (uint32_t x = 0; x < xccs; x++) {
		queue->seats[x].row = 0;
		queue->seats[x].rows = wgs > x ? (wgs - x - 1) / xccs + 1 : 0;
		queue->launching += queue->seats[x].rows > 0;
	}
	dispatch_wait(gpu, queue);
}

void dispatch_wait(struct gpu *gpu, struct gpu_queue *queue)
{
	for (uint32_t x = 0; x < gpu->config.xccs; x++) {
		struct seat *seat = &queue->seats[x];
		struct xcc *xcc = &gpu->xccs[x];

		if (seat->row == seat->rows)
			continue;
		list_insert(&xcc->waiting[queue->class], &seat->waiting);
		xcc->hand_out = gpu->hand_out = true;
	}
}

void dispatch_unwait(const struct gpu *gpu, struct gpu_queue *queue)
{
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		list_remove(&queue->seats[x].waiting);
}

/* Starts up to `n` workgroups of the seat's queue (a seat is a queue on this XCC). All workgroups
 * of a dispatch that start in one call of dispatch_hand_out() form one cohort. */
static void launch(struct gpu *gpu, struct xcc *xcc, struct seat *seat, uint32_t n, struct cus open)
{
	struct gpu_queue *queue = seat->queue;
	const struct gpu_packet *p = &queue_packet(queue, queue->cp)->p;
	struct part part = {.xcc = (uint32_t)(xcc - gpu->xccs)};

	open = cus_and(open, seat->open);
	while (n > 0 && xcc->free >= p->wave_slots) {
		part.count = xcc_take(xcc, open, p->wave_slots, n, &part.cus, &part.layers);
		if (part.count == 0)
			break;
		if (queue->fresh_round != gpu->round || queue->fresh->packet != queue->cp) {
			queue->fresh = cohort_new(gpu, queue, queue->cp);
			queue->fresh_round = gpu->round;
			list_insert(&gpu->begins, &queue->begins);
		}
		part.row = seat->row;
		seat->row += part.count;
		n -= part.count;
		cohort_extend(gpu, queue->fresh, &part);
	}
	if (seat->row == seat->rows) {
		list_remove(&seat->waiting);
		if (--queue->launching == 0)
			cp_step_over(gpu, queue);
	}
}

/* Returns how many of the seat's next workgroups fit (a seat is a queue on this XCC). If none fits,
 * returns 0 and removes the CU with the most free wave slots from *open, so that no seat behind
 * this one in the list uses that CU. */
static uint32_t room_of(const struct gpu *gpu, const struct xcc *xcc, struct seat *seat,
			struct cus *open)
{
	const struct gpu_queue *queue = seat->queue;
	struct cus mine = cus_and(*open, seat->open);
	uint32_t room;

	if (seat->blocked == gpu->round)
		return 0;
	room = xcc_room(xcc, mine, queue_packet(queue, queue->cp)->p.wave_slots);
	if (room == 0 && xcc->free == 0) {
		/* No CU has a free wave slot, so there is nothing to reserve. */
		seat->blocked = gpu->round;
	} else if (room == 0) {
		*open = cus_without(*open, xcc_roomiest(xcc, mine));
		seat->blocked = gpu->round;
	}
	return room;
}

/* Returns true if one seat (queue on this XCC) waits in `class` and none in a lower class. This
 * seat gets all remaining wave slots, because no seat waits behind it. */
static bool is_only_one(const struct xcc *xcc, uint32_t class)
{
	const struct list *waiting = &xcc->waiting[class];

	while (class -- > 0)
		if (!list_empty(&xcc->waiting[class]))
			return false;
	return waiting->next == waiting->prev;
}

/* Starts one workgroup of each waiting seat (queue on this XCC) in turn. Makes as many of these
 * rounds at once as fit, and at most as many as the seat with the fewest workgroups left needs. If
 * not even one round fits, starts one workgroup of each seat as long as they fit. Returns false if
 * nothing more fits. */
static bool one_round(struct gpu *gpu, struct xcc *xcc, struct list *waiting, struct cus *open)
{
	uint32_t seats = 0, rounds = UINT32_MAX, most = UINT32_MAX;
	struct list *node, *next;

	FOR_LIST (struct seat, seat, waiting, waiting) {
		uint32_t room = room_of(gpu, xcc, seat, open), left = seat->rows - seat->row;

		if (room == 0)
			continue;
		seats++;
		rounds = room < rounds ? room : rounds;
		most = left < most ? left : most;
	}
	if (seats == 0)
		return false;
	rounds = rounds / seats < most ? rounds / seats : most;
	for (node = waiting->next; seats > 0; node = next) {
		struct seat *seat = list_entry(node, struct seat, waiting);

		next = node->next;
		if (seat->blocked == gpu->round)
			continue;
		seats--;
		if (rounds == 0) {
			if (room_of(gpu, xcc, seat, open) == 0)
				continue;
			/* Move the seat (the queue on this XCC) to the end of the list before
			 * launch(), because launch() removes a seat without remaining rows from the
			 * list. */
			list_remove(&seat->waiting);
			list_insert(waiting, &seat->waiting);
		}
		launch(gpu, xcc, seat, rounds ? rounds : 1, *open);
	}
	return true;
}

/* Starts workgroups in the free wave slots of one XCC: first saved ones, then new ones by class. If
 * saved workgroups of a queue do not fit, the CUs that this queue may use get no new workgroups. */
static void hand_out(struct gpu *gpu, struct xcc *xcc)
{
	struct cus open = xcc->all;
	struct list *node, *next;

	xcc->hand_out = false;
	for (node = xcc->restoring.next; node != &xcc->restoring; node = next) {
		struct seat *seat = list_entry(node, struct seat, restoring);
		bool fits = true;

		next = node->next;
		while (fits && !list_empty(&seat->back))
			fits = part_restore(gpu, seat->queue,
					    list_entry(seat->back.next, struct part, node),
					    cus_and(open, seat->open));
		if (fits)
			list_remove(&seat->restoring);
		else
			open = cus_without(open, seat->open);
	}
	for (uint32_t class = CLASSES; class -- > 0 && xcc->free > 0;) {
		while (!list_empty(&xcc->waiting[class])) {
			if (is_only_one(xcc, class)) {
				struct seat *last =
					list_entry(xcc->waiting[class].next, struct seat, waiting);

				launch(gpu, xcc, last, last->rows - last->row, open);
				return;
			}
			if (!one_round(gpu, xcc, &xcc->waiting[class], &open))
				break;
		}
	}
}

void dispatch_hand_out(struct gpu *gpu)
{
	gpu->hand_out = false;
	if (gpu->update_phase != UPDATE_NONE)
		return;
	gpu->round++;
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		if (gpu->xccs[x].hand_out)
			hand_out(gpu, &gpu->xccs[x]);
	while (!list_empty(&gpu->begins)) {
		struct gpu_queue *queue = list_entry(gpu->begins.next, struct gpu_queue, begins);

		list_remove(&queue->begins);
		cohort_begin(gpu, queue->fresh);
	}
}
