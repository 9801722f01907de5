/* SPDX-License-Identifier: MIT */
/*
 * One line of the log that HIP writes with AMD_LOG_LEVEL 3 to 5 (docs/formats.md).
 *
 * Versions differ, and nothing in a log says which one wrote it, so fields are found by
 * their names, wherever they stand, and what a line does not say is not there:
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
 * Pure, allocates nothing, reads nothing beyond the line. Threads: any. The texts of a
 * record point into the line; control characters in them are as the line has them.
 */
#ifndef KFDSHIM_OBSERVE_HIPLOG_H
#define KFDSHIM_OBSERVE_HIPLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hiplog_kind {
	HIPLOG_OTHER,	 /* a line of the log, of which only the prefix is read */
	HIPLOG_CREATED,	 /* a hardware queue: packets, priority, cooperative */
	HIPLOG_ACQUIRED, /* a stream got it: references */
	HIPLOG_RELEASED, /* a stream left it: references */
	HIPLOG_DELETED,
	HIPLOG_ABORTED,	 /* the runtime reports an error of the queue: name is the error */
	HIPLOG_POOL,	 /* queues of one device before the next one: pool */
	HIPLOG_DISPATCH, /* a packet that starts a kernel */
	HIPLOG_BARRIER,	 /* a barrier packet */
	HIPLOG_PACKET,	 /* another one: name is what the log calls it */
	HIPLOG_KERNEL,	 /* name is the kernel that this thread dispatches next */
	HIPLOG_COPY,	 /* a copy that is left to the HSA runtime */
	HIPLOG_CALL,	 /* name is a HIP function that begins */
	HIPLOG_RETURN,	 /* name is one that ends; result, and duration if it is told */
	HIPLOG_KINDS
};

/* What a record has besides its kind. */
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
	uint64_t us;	 /* CLOCK_MONOTONIC of the machine that wrote it */
	uint64_t pid;	 /* as the process saw itself: in its own pid namespace */
	uint64_t thread; /* its pthread_t: no thread id of the kernel, and one process' own */
	struct hiplog_text before; /* in the line, but not of this log */
	struct hiplog_text file;   /* of the runtime's source */
	struct hiplog_text message;
	struct hiplog_text name;
	struct hiplog_text result;
	uint64_t hsa_queue; /* address of the hsa_queue_t */
	uint64_t ring;	    /* address of its ring */
	uint64_t hwq;	    /* one of the two; which one is the version's choice */
	uint64_t hsa_id;    /* the HSA runtime's number of the queue; not KFD's */
	/* In packets. wptr is the index of this very packet: the queue's own write pointer
	 * is one more from then on. Of both, HIP prints the low 32 bits. */
	uint64_t rptr, wptr;
	uint64_t packets;    /* that fit in the ring */
	uint64_t priority;   /* hsa_amd_queue_priority_t: 0 low, 1 normal, 2 high */
	uint64_t references; /* streams that share the queue, after this line */
	uint64_t bytes;	     /* of a copy */
	uint64_t engines;    /* mask of the SDMA engine that was chosen; 0: by the runtime */
	uint64_t duration_us;
	uint64_t pool[HIPLOG_POOL_SIZES];
	bool cooperative;
};

/* The longest line that HIP writes is a prefix and 4095 characters. What is beyond this
 * need not be handed over. */
#define HIPLOG_LINE_MAX 8192u

/*
 * Reads one line, without its newline. A text before it (another program's, a container's
 * or a job's prefix) is skipped. false: it is no line of such a log, and *out means nothing.
 */
bool hiplog_parse(const char *line, size_t bytes, struct hiplog_record *out);

const char *hiplog_priority_name(uint64_t priority); /* "low", "normal", "high"; "-" */

#endif
