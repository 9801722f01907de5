/* SPDX-License-Identifier: MIT */
/*
 * A queue as somebody tells of it, and a list of them. Every value knows who told it;
 * one that nobody tells is unknown, and is never taken for 0.
 *
 * Pure: no I/O, no clock. Threads: any, one at a time for each list. Ownership: a list
 * is zeroed to begin with and ended by observe_list_free(). Errors: negative errno.
 */
#ifndef KFDSHIM_OBSERVE_QUEUE_H
#define KFDSHIM_OBSERVE_QUEUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they are believed. */
enum observe_source {
	OBSERVE_NOBODY, /* the value is not known */
	OBSERVE_DAEMON, /* kfdschedd's status */
	OBSERVE_LANE,	/* what the shim in the process writes, by itself or through the daemon */
	OBSERVE_TRAP,	/* the driver's queue snapshot of a debug session */
	OBSERVE_SYSFS,	/* /sys/class/kfd/kfd/proc */
	OBSERVE_MEMORY, /* read in the process, where one of the others says it lies */
	OBSERVE_MQD,	/* debugfs kfd/mqds: what the driver gave to the firmware */
	OBSERVE_HQD,	/* debugfs kfd/hqds: registers of the hardware's slots */
	OBSERVE_SOURCES
};
#define OBSERVE_BIT(source) (1u << (source))

/* "daemon", "lane", "trap", "sysfs", "memory", "mqd", "hqd"; "-" for nobody. */
const char *observe_source_name(enum observe_source source);

enum observe_type {
	OBSERVE_AQL,
	OBSERVE_PM4,
	OBSERVE_COMPUTE, /* AQL or PM4: sysfs does not tell them apart */
	OBSERVE_SDMA,
	OBSERVE_XGMI,
	OBSERVE_DRM,
	OBSERVE_TYPES
};
const char *observe_type_name(uint64_t type); /* "aql", ...; "-": none of them */
/* The enum of such a word; OBSERVE_TYPES: none. */
enum observe_type observe_type_of(const char *word);
/* The enum of the driver's number (KFD_IOC_QUEUE_TYPE_*). */
enum observe_type observe_type_of_kfd(uint32_t type);
/* It runs on the compute engines, so a suspend concerns it. */
bool observe_is_compute(uint64_t type);

/* How a value is written. */
enum observe_kind {
	OBSERVE_KIND_TYPE,
	OBSERVE_KIND_NUMBER,
	OBSERVE_KIND_BYTES,
	OBSERVE_KIND_ADDRESS, /* JSON: "0x..." */
	OBSERVE_KIND_YES,
};

enum observe_field {
	OBSERVE_TYPE, /* enum observe_type */
	OBSERVE_RING_BYTES,
	OBSERVE_RING_ADDRESS,
	OBSERVE_WPTR_ADDRESS,
	OBSERVE_RPTR_ADDRESS,
	OBSERVE_WPTR, /* in the queue's own unit: AQL packets, PM4 dwords, SDMA bytes */
	OBSERVE_RPTR,
	OBSERVE_BACKLOG_BYTES, /* between the two */
	OBSERVE_PRIORITY,      /* the driver's, 0 to 15 */
	OBSERVE_PERCENT,
	OBSERVE_CU_BITS, /* CUs in its mask; 0: it has none, so all */
	OBSERVE_CWSR_ADDRESS,
	OBSERVE_CWSR_BYTES,
	OBSERVE_HSA_QUEUE, /* address of its hsa_queue_t in the process */
	OBSERVE_ACTIVE,	   /* it has work, as the shim says */
	OBSERVE_SUSPENDED, /* yes: it is held, by whomever the source knows of */
	OBSERVE_PASID,
	OBSERVE_DOORBELL, /* its offset, in bytes, in the GPU's doorbells */
	OBSERVE_MQDS,	  /* descriptors, one for each XCC */
	OBSERVE_HQDS,	  /* hardware slots in which it is active now */
	OBSERVE_HQD_XCCS, /* 1 << XCC for each of those; of compute queues */
	OBSERVE_FIELDS
};

struct observe_field_info {
	const char *key; /* of JSON, with its unit (docs/formats.md) */
	enum observe_kind kind;
};
const struct observe_field_info *observe_field_info(enum observe_field field);

struct observe_value {
	uint64_t value;
	enum observe_source source; /* OBSERVE_NOBODY: `value` means nothing */
};

#define OBSERVE_NO_ID UINT32_MAX /* debugfs names no queue ids */

struct observe_queue {
	uint32_t context; /* of the process's KFD contexts; 0: the first (or only) */
	uint32_t id;	  /* KFD's; OBSERVE_NO_ID */
	uint32_t gpu_id;
	uint32_t told_by; /* OBSERVE_BIT of all that listed it */
	struct observe_value field[OBSERVE_FIELDS];
};

struct observe_list {
	struct observe_queue *queue;
	size_t count, room;
};

/* A new entry at the end, all unknown; valid until the next one. NULL: no memory. */
struct observe_queue *observe_list_add(struct observe_list *list);
void observe_list_clear(struct observe_list *list); /* keeps its memory */
void observe_list_free(struct observe_list *list);
/* By context, then id; those without an id at the end, by gpu_id and ring. */
void observe_list_sort(struct observe_list *list);
/* NULL: there is none. */
struct observe_queue *observe_list_find(const struct observe_list *list, uint32_t context,
					uint32_t id);

static inline bool observe_known(const struct observe_queue *queue, enum observe_field field)
{
	return queue->field[field].source != OBSERVE_NOBODY;
}
/* Sets the value, unless one that is to be believed more (a smaller source) is there. */
void observe_set(struct observe_queue *queue, enum observe_field field, uint64_t value,
		 enum observe_source source);

/*
 * Joins what one source tells to what others have told: entries with an id by that, those
 * without one (debugfs) to the one queue on the same node whose doorbell is the same, or
 * where that is not known whose ring address is (two processes may have the same one, so
 * *from is of one process alone, or knows doorbells). What is left, where nobody knows ring
 * addresses, to the queues on that node of the same engine and ring size, if there are as
 * many on either side: each gets what all of the entries have. An entry that fits nothing is
 * added when it has an id, and else counts in *unmatched. 0 or -ENOMEM.
 */
int observe_merge(struct observe_list *into, const struct observe_list *from, size_t *unmatched);
/* Of one that may be another process's: to the queue whose id, doorbell or ring address is
 * the same. false: there is none. */
bool observe_join(struct observe_list *into, const struct observe_queue *from);

/* The text of a value as a table shows it: "-" when it is not known. Returns `text`. */
#define OBSERVE_TEXT 32
const char *observe_text(char text[OBSERVE_TEXT], const struct observe_queue *queue,
			 enum observe_field field);
/* {"id", "context", "gpu_id", every field or null, "sources": {KEY: "sysfs", ...}}.
 * NULL: no memory. */
json_t *observe_json(const struct observe_queue *queue);
/* The other way round: what observe_json wrote. -EINVAL: it is not that. */
int observe_from_json(const json_t *json, struct observe_queue *out);

#endif
