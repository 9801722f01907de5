/* SPDX-License-Identifier: MIT */
/*
 * Parser for one line of the log that HIP writes with AMD_LOG_LEVEL 3 to 5
 * (docs/reference/import-log.md).
 *
 * The format differs between versions of HIP, and a log does not contain its version. So fields are
 * found by their names, at any position, and a field that a line does not have is absent from the
 * record. What the versions write:
 *
 *                   HIP 5.2          6.1           6.2           6.4            7.2
 *   pid and thread  every line       every line    every line    level 4 up     level 4 up
 *   packets         level 4          4             4             4              5
 *   HWq=            hsa_queue_t      mostly ring   ring          ring           ring
 *   SWq=, id=       -                -             yes           yes            yes
 *   rptr=, wptr=    -                -             dispatches    dispatches     and barriers
 *   size of a copy  -                level 4       4             4              4
 *
 * Sources: ROCm CLR, rocclr/utils/debug.cpp (the prefix), device/rocm/rocdevice.cpp,
 * rocvirtual.cpp, rocblit.cpp; real logs in tests/system/cli/logs.
 *
 * Pure; allocates nothing and reads nothing beyond the line. Threads: any. The texts of a record
 * point into the line. Control characters in them are not removed.
 */
#ifndef KFDSHIM_CLI_INSPECT_HIPLOG_H
#define KFDSHIM_CLI_INSPECT_HIPLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a line reports, and which fields the record has only for lines of this kind. */
enum hiplog_kind {
	HIPLOG_OTHER,	 /* any other line of the log; only its prefix is parsed */
	HIPLOG_CREATED,	 /* hardware queue created; has packets, priority, cooperative */
	HIPLOG_ACQUIRED, /* hardware queue assigned to a stream; has references */
	HIPLOG_RELEASED, /* hardware queue released by a stream; has references */
	HIPLOG_DELETED,	 /* hardware queue deleted */
	HIPLOG_ABORTED,	 /* error of a queue, reported by the runtime; name: the error */
	HIPLOG_POOL,	 /* queue counts of a device, before one more is created; has pool */
	HIPLOG_DISPATCH, /* packet that starts a kernel */
	HIPLOG_BARRIER,	 /* barrier packet */
	HIPLOG_PACKET,	 /* other packet; name: its kind as written in the log */
	HIPLOG_KERNEL,	 /* kernel that this thread dispatches next; name: the kernel */
	HIPLOG_COPY,	 /* copy that is done by the HSA runtime */
	HIPLOG_CALL,	 /* begin of a HIP function; name: the function */
	HIPLOG_RETURN,	 /* end of a HIP function; has name, result, and duration in some logs */
	HIPLOG_KINDS
};

/* Bits of hiplog_record.has: the fields that are valid. */
#define HIPLOG_HAS_PID (1u << 0)
#define HIPLOG_HAS_THREAD (1u << 1)
#define HIPLOG_HAS_HSA_QUEUE (1u << 2)
#define HIPLOG_HAS_RING (1u << 3)
#define HIPLOG_HAS_HWQ (1u << 4)
#define HIPLOG_HAS_HSA_ID (1u << 5)
#define HIPLOG_HAS_RPTR (1u << 6)
#define HIPLOG_HAS_WPTR (1u << 7)
#define HIPLOG_HAS_PACKETS (1u << 8)
#define HIPLOG_HAS_PRIORITY (1u << 9)
#define HIPLOG_HAS_COOPERATIVE (1u << 10)
#define HIPLOG_HAS_REFERENCES (1u << 11)
#define HIPLOG_HAS_BYTES (1u << 12)
#define HIPLOG_HAS_ENGINES (1u << 13)
#define HIPLOG_HAS_DURATION (1u << 14)

enum hiplog_pool { HIPLOG_LOW, HIPLOG_NORMAL, HIPLOG_HIGH, HIPLOG_MAX_EACH, HIPLOG_POOL_SIZES };

struct hiplog_text {
	const char *text; /* not NUL-terminated */
	size_t bytes;
};

struct hiplog_record {
	enum hiplog_kind kind;
	unsigned has;
	unsigned level;
	uint64_t us;	 /* CLOCK_MONOTONIC of the machine that wrote the log, us */
	uint64_t pid;	 /* pid in the process's own pid namespace */
	uint64_t thread; /* pthread_t of the thread: unique in its process, not a kernel tid */
	struct hiplog_text before; /* text in front of the log's prefix */
	struct hiplog_text file;   /* source file of the runtime */
	struct hiplog_text message;
	struct hiplog_text name;
	struct hiplog_text result;
	uint64_t hsa_queue; /* address of the hsa_queue_t */
	uint64_t ring;	    /* address of the queue's ring buffer */
	uint64_t hwq;	    /* address of the hsa_queue_t or the ring, depending on the version */
	uint64_t hsa_id;    /* the HSA runtime's id of the queue, not KFD's */
	/* Read and write pointer in packets, low 32 bits only. wptr is the index of this packet, so
	 * the write pointer of the queue is wptr + 1 after it. */
	uint64_t rptr, wptr;
	uint64_t packets;    /* size of the ring, in packets */
	uint64_t priority;   /* hsa_amd_queue_priority_t: 0 low, 1 normal, 2 high */
	uint64_t references; /* streams that share the queue after this line */
	uint64_t bytes;	     /* size of a copy */
	uint64_t engines;    /* mask with the SDMA engine to use; 0: the runtime chooses one */
	uint64_t duration_us;
	uint64_t pool[HIPLOG_POOL_SIZES];
	bool cooperative;
};

/* Maximum length of a line that hiplog_parse() needs, in bytes. HIP writes at most a prefix and
 * 4095 characters. A caller can cut longer lines. */
#define HIPLOG_LINE_MAX 8192u

/*
 * Parses one line. Text in front of HIP's prefix (from another program, a container or a job
 * scheduler) is skipped and recorded in out->before. A newline at the end is ignored.
 * Returns false, with *out undefined, if this is no line of a HIP log.
 */
bool hiplog_parse(const char *line, size_t bytes, struct hiplog_record *out);

const char *hiplog_priority_name(uint64_t priority); /* "low", "normal", "high"; "-": other */

#endif
