// SPDX-License-Identifier: MIT
#include "tests/system/shim/path_account.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/lib/mock_kfd.h"

#define ACCOUNTS 16u

struct account {
	uint32_t id, type;
	uint64_t address;   /* address of its write pointer */
	uint64_t wptr;	    /* write pointer at the last read */
	uint64_t published; /* write pointer in the shim's last event */
	bool active;	    /* state in the shim's last event */
	bool moved;	    /* the write pointer had moved at the last read */
};

static struct {
	const struct client_shm *shm;
	int memory;	 /* /proc/PID/mem of the workload, which also reads GTT */
	uint64_t events; /* number of events read so far */
	uint32_t generation;
	struct account accounts[ACCOUNTS];
	unsigned n;
	uint64_t lasts_until_ns;
} books;

static uint64_t word(uint64_t address)
{
	uint64_t value;

	CHECK(pread(books.memory, &value, sizeof(value), (off_t)address) == sizeof(value));
	return value;
}

static struct account *find(uint32_t id)
{
	for (unsigned i = 0; i < books.n; i++)
		if (books.accounts[i].id == id)
			return &books.accounts[i];
	return NULL;
}

/* A queue that is created while bursts run begins at 0. */
static void open_accounts(bool first)
{
	uint32_t generation = __atomic_load_n(&books.shm->queue_generation, __ATOMIC_ACQUIRE);
	struct account *a;
	struct client_shm_queue q;

	if (!first && generation == books.generation)
		return;
	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++) {
		if (client_shm_queue_read(books.shm, i, &q) != 0 || find(q.queue_id))
			continue;
		CHECK(books.n < ACCOUNTS);
		a = &books.accounts[books.n++];
		*a = (struct account){.id = q.queue_id, .type = q.type, .address = q.wptr_address};
		if (first)
			a->wptr = a->published = word(a->address);
	}
	books.generation = generation;
}

void account_begin(const struct client_shm *shm, pid_t workload)
{
	char path[64];

	books.shm = shm;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)workload);
	books.memory = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(books.memory >= 0);
	books.events = __atomic_load_n(&shm->events_number, __ATOMIC_ACQUIRE);
	open_accounts(true);
}

struct account_moved account_read(void)
{
	struct account_moved moved = {0};
	uint64_t before;

	open_accounts(false);
	for (unsigned i = 0; i < books.n; i++) {
		before = books.accounts[i].wptr;
		books.accounts[i].wptr = word(books.accounts[i].address);
		books.accounts[i].moved = books.accounts[i].wptr != before;
		if (books.accounts[i].type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL)
			moved.packets += books.accounts[i].wptr - before;
		else
			moved.sdma_bytes += books.accounts[i].wptr - before;
	}
	return moved;
}

void account_lasts_until(uint64_t ns)
{
	books.lasts_until_ns = ns;
}

static void take_event(const struct client_shm_event *event)
{
	struct account *a = find(event->queue_id);

	if (!a || (event->kind != CLIENT_SHM_EVENT_QUEUE_ACTIVE &&
		   event->kind != CLIENT_SHM_EVENT_QUEUE_IDLE &&
		   event->kind != CLIENT_SHM_EVENT_QUEUE_BLOCKED))
		return;
	CHECK(event->value >= a->published && event->value <= word(a->address));
	/* A queue that has not moved, such as the runtime's own, has no part in that kernel. */
	if (event->kind == CLIENT_SHM_EVENT_QUEUE_IDLE && a->moved && event->value == a->wptr &&
	    event->ns < books.lasts_until_ns) {
		fprintf(stderr, "queue %u is told idle at %llu %.3f ms before its kernel can end\n",
			a->id, (unsigned long long)event->value,
			(double)(books.lasts_until_ns - event->ns) / 1e6);
		CHECK(!"idle under its kernel");
	}
	a->published = event->value;
	a->active = event->kind != CLIENT_SHM_EVENT_QUEUE_IDLE;
}

bool account_published(void)
{
	uint64_t newest = __atomic_load_n(&books.shm->events_number, __ATOMIC_ACQUIRE);
	struct client_shm_event event;

	for (; books.events < newest; books.events++) {
		CHECK(client_shm_event_read(books.shm, books.events + 1, &event) == 0);
		take_event(&event);
	}
	for (unsigned i = 0; i < books.n; i++)
		if (!books.accounts[i].active &&
		    books.accounts[i].published != books.accounts[i].wptr)
			return false;
	return true;
}

bool account_closed(void)
{
	if (!account_published())
		return false;
	for (unsigned i = 0; i < books.n; i++)
		if (books.accounts[i].active ||
		    books.accounts[i].published != word(books.accounts[i].address))
			return false;
	return true;
}
