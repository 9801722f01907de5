/* SPDX-License-Identifier: MIT */
/*
 * What the lines of HIP's log add up to: processes, their threads and hardware queues, and
 * which thread gave how much to which queue. In tables of fixed size: a log of any length
 * takes the same memory, and what has no room any more is counted (left_out).
 *
 * Pure: no I/O, no clock. Threads: none. Ownership: tally_new/tally_free.
 */
#ifndef KFDSHIM_CLI_IMPORT_TALLY_H
#define KFDSHIM_CLI_IMPORT_TALLY_H

#include "scheduler/observe/hiplog.h"

#define TALLY_PROCESSES 1024u
#define TALLY_THREADS 8192u
#define TALLY_QUEUES 8192u
#define TALLY_USES 16384u
#define TALLY_ERROR 96u

/* Of packets, by kind. */
struct tally_packets {
	uint64_t dispatches, barriers, others;
	uint64_t first_us, last_us; /* when there is one at all */
};

struct tally_process {
	uint64_t pid; /* 0: lines that name none, which may be of several */
	uint64_t lines, first_us, last_us;
	/* Some packets name a queue by an address that nothing joins to an hsa_queue_t: those
	 * that are known by theirs alone may have more packets than they count. */
	bool apart;
	uint64_t seen[HIPLOG_KINDS];	  /* lines of each kind */
	uint64_t pool[HIPLOG_POOL_SIZES]; /* as told last, when seen */
};

struct tally_thread {
	uint32_t process;
	bool named;
	uint64_t thread; /* when it is named */
	uint64_t lines, first_us, last_us;
	uint64_t calls, kernels, copies;
	uint64_t sized_copies, copied_bytes; /* only of those whose size is told */
	uint64_t engines;
	struct tally_packets packets;
};

struct tally_queue {
	uint32_t process;
	/* 0: not told. unresolved: the log does not say which of the two it is. */
	uint64_t hsa_queue, ring, unresolved;
	unsigned has; /* HIPLOG_HAS_ of what follows */
	uint64_t hsa_id, ring_packets, priority, references;
	bool cooperative, created, deleted, pointers, aborted;
	uint64_t created_us, deleted_us;
	uint64_t rptr, wptr;	       /* of the last packet that told both */
	uint64_t backlog, backlog_max; /* packets in the queue then, itself included */
	struct tally_packets packets;
	char error[TALLY_ERROR]; /* printable */
};

struct tally_use {
	uint32_t thread, queue;
	struct tally_packets packets;
};

struct tally {
	uint64_t only_pid; /* 0: all */
	uint64_t records;
	uint64_t skipped;  /* of another process than only_pid */
	uint64_t nameless; /* that name no process */
	uint64_t left_out; /* lines that something had no room for */
	bool full_processes, full_threads, full_queues, full_uses;
	unsigned highest_level;
	struct tally_process *process;
	struct tally_thread *thread;
	struct tally_queue *queue;
	struct tally_use *use;
	uint32_t processes, threads, queues, uses;
	struct tally_maps *maps;
};

struct tally *tally_new(uint64_t only_pid); /* NULL: no memory */
void tally_free(struct tally *tally);
void tally_add(struct tally *tally, const struct hiplog_record *record);

#endif
