/* SPDX-License-Identifier: MIT */
/*
 * Adds up the lines of a HIP log: processes, their threads and hardware queues, and how many
 * packets each thread put into each queue. The tables have a fixed size, so that a log of any
 * length takes the same memory. A line for which a table has no room is counted in left_out.
 *
 * Pure: no I/O, no clock. Threads: none. Ownership: log_stats_new() and log_stats_free().
 */
#ifndef KFDSHIM_CLI_IMPORT_LOG_STATS_H
#define KFDSHIM_CLI_IMPORT_LOG_STATS_H

#include "cli/inspect/hiplog.h"

#define LOG_STATS_PROCESSES 1024u
#define LOG_STATS_THREADS 8192u
#define LOG_STATS_QUEUES 8192u
#define LOG_STATS_USES 16384u
#define LOG_STATS_ERROR 96u

/* All times (`_us`) are those of the log: CLOCK_MONOTONIC of the machine that wrote it. */

/* Packets, by kind. */
struct log_stats_packets {
	uint64_t dispatches, barriers, others;
	uint64_t first_us, last_us; /* valid if there is any packet */
};

struct log_stats_process {
	uint64_t pid; /* 0: lines without a pid, which may be of several processes */
	uint64_t lines, first_us, last_us;
	/* True if packets name their queue by an address that no line of the log links to an
	 * hsa_queue_t. Queues that are known only by their hsa_queue_t may therefore have had more
	 * packets than were counted. */
	bool apart;
	uint64_t seen[HIPLOG_KINDS];	  /* lines of each enum hiplog_kind */
	uint64_t pool[HIPLOG_POOL_SIZES]; /* values of the last HIPLOG_POOL line, if any */
};

struct log_stats_thread {
	uint32_t process; /* index in log_stats.process */
	bool named;
	uint64_t thread; /* pthread_t; valid if named */
	uint64_t lines, first_us, last_us;
	uint64_t calls, kernels, copies;
	uint64_t sized_copies, copied_bytes; /* only copies whose size the log has */
	uint64_t engines;		     /* mask of SDMA engines */
	struct log_stats_packets packets;
};

struct log_stats_queue {
	uint32_t process; /* index in log_stats.process */
	/* Addresses of the queue; 0: not in the log. unresolved: the log does not show whether this
	 * address is that of the hsa_queue_t or of the ring. */
	uint64_t hsa_queue, ring, unresolved;
	unsigned has; /* HIPLOG_HAS_* bits: which of the fields hsa_id to cooperative are valid */
	uint64_t hsa_id, ring_packets, priority, references;
	bool cooperative, created, deleted, pointers, aborted;
	uint64_t created_us, deleted_us;
	/* Pointers in the log's last packet line that has both; valid if `pointers`. */
	uint64_t rptr, wptr;
	/* Packets in the queue after the packet of `rptr` and `wptr` was added; the maximum over
	 * all packets. */
	uint64_t backlog, backlog_max;
	struct log_stats_packets packets;
	char error[LOG_STATS_ERROR]; /* printable ASCII; valid if `aborted` */
};

/* Packets of one thread in one queue. */
struct log_stats_use {
	uint32_t thread, queue; /* indexes in log_stats.thread and log_stats.queue */
	struct log_stats_packets packets;
};

struct log_stats {
	uint64_t only_pid; /* 0: all processes */
	uint64_t records;
	uint64_t skipped;  /* records of other processes than only_pid */
	uint64_t nameless; /* records without a pid */
	uint64_t left_out; /* lines for which one of the tables had no room */
	bool full_processes, full_threads, full_queues, full_uses;
	unsigned highest_level;			   /* AMD_LOG_LEVEL of the most detailed line */
	uint32_t processes, threads, queues, uses; /* entries in the tables */
	struct log_stats_process process[LOG_STATS_PROCESSES];
	struct log_stats_thread thread[LOG_STATS_THREADS];
	struct log_stats_queue queue[LOG_STATS_QUEUES];
	struct log_stats_use use[LOG_STATS_USES];
	struct log_stats_maps *maps;
};

/* Returns an empty summary for the lines of process `only_pid` (0: all). */
struct log_stats *log_stats_new(uint64_t only_pid);
void log_stats_free(struct log_stats *stats);
/* Counts one line of the log. */
void log_stats_add(struct log_stats *stats, const struct hiplog_record *record);

/* ---- output ---- */

/* How much of the log was read. */
struct import_read {
	const char *file; /* "-": stdin */
	uint64_t bytes, lines;
	uint64_t cut; /* lines longer than HIPLOG_LINE_MAX, whose rest was ignored */
	bool stopped; /* a signal stopped the reading before the log's end */
};

enum import_format { IMPORT_TABLE, IMPORT_JSON, IMPORT_PYTHON };

/* Prints the summary on stdout: as tables, as JSON (docs/reference/import-log.md), or as a Python
 * literal with the same content. */
void import_show(const struct import_read *read, const struct log_stats *stats,
		 enum import_format format);

#endif
