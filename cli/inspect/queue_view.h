/* SPDX-License-Identifier: MIT */
/*
 * A queue as the sources report it, lists of queues, and an observation of all queues of a
 * process. Each value is stored with the source that
 * reported it. A value that no source reports is unknown and is never taken as 0.
 *
 * Pure: no I/O, no clock. Threads: any, one at a time for each list. Ownership: the caller zeroes
 * a list before its first use and ends it by observe_list_free(). Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_INSPECT_QUEUE_VIEW_H
#define KFDSHIM_CLI_INSPECT_QUEUE_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sources of values. If several report a value, the one with the smallest number is used. */
enum observe_source {
	OBSERVE_NO_SOURCE, /* no source: the value is not known */
	OBSERVE_DAEMON,	   /* kfdschedd's status */
	OBSERVE_SHM,	   /* the shim's struct client_shm, read by kfdsched or by the daemon */
	OBSERVE_TRAP,	   /* the driver's queue snapshot in a debug session */
	OBSERVE_SYSFS,	   /* /sys/class/kfd/kfd/proc */
	OBSERVE_MEMORY,	   /* memory of the process, at an address that another source reports */
	OBSERVE_MQD,	   /* debugfs kfd/mqds: the MQDs that the driver passed to the firmware */
	OBSERVE_HQD,	   /* debugfs kfd/hqds: registers of the hardware slots */
	OBSERVE_SOURCES
};
#define OBSERVE_BIT(source) (1u << (source))

/* Returns "daemon", "shm", "trap", "sysfs", "memory", "mqd" or "hqd"; "-" for OBSERVE_NO_SOURCE. */
const char *observe_source_name(enum observe_source source);
/* Returns the source with that name, or OBSERVE_NO_SOURCE if there is none or `word` is NULL.
 * "lane" is OBSERVE_SHM in recordings from before 0.1.0. */
enum observe_source observe_source_of(const char *word);

enum observe_type {
	OBSERVE_AQL,
	OBSERVE_PM4,
	OBSERVE_COMPUTE, /* AQL or PM4: sysfs does not distinguish them */
	OBSERVE_SDMA,
	OBSERVE_XGMI,
	OBSERVE_DRM, /* user queue of the render node (DRM), not of KFD */
	OBSERVE_TYPES
};
const char *observe_type_name(uint64_t type); /* returns "aql", ..., or "-" if out of range */
/* Returns the type with that name, or OBSERVE_TYPES if there is none. */
enum observe_type observe_type_of(const char *word);
/* Converts the driver's KFD_IOC_QUEUE_TYPE_*. Returns OBSERVE_TYPES for an unknown number. */
enum observe_type observe_type_of_kfd(uint32_t type);
/* Returns true if the queue runs on the compute engines, so that a suspend affects it. */
bool observe_is_compute(uint64_t type);

/* How a value is formatted in tables and JSON. */
enum observe_kind {
	OBSERVE_KIND_TYPE,
	OBSERVE_KIND_NUMBER,
	OBSERVE_KIND_BYTES,
	OBSERVE_KIND_ADDRESS, /* JSON: "0x..." */
	OBSERVE_KIND_YES,     /* table: yes or no; JSON: true or false */
	OBSERVE_KIND_FAULTS,  /* table: none, or the first name and "+N"; JSON: array of names */
};

enum observe_field {
	OBSERVE_TYPE, /* enum observe_type */
	OBSERVE_RING_BYTES,
	OBSERVE_RING_ADDRESS,
	OBSERVE_WPTR_ADDRESS,
	OBSERVE_RPTR_ADDRESS,
	OBSERVE_WPTR, /* write pointer, in the queue's unit: AQL packets, PM4 dwords, SDMA bytes */
	OBSERVE_RPTR, /* read pointer, in the same unit */
	OBSERVE_BACKLOG_BYTES, /* bytes between read and write pointer */
	OBSERVE_PRIORITY,      /* priority in the driver, 0 to 15 */
	OBSERVE_PERCENT,       /* queue percentage in the driver */
	OBSERVE_CU_BITS,       /* CUs in the queue's CU mask; 0: no mask, so all CUs */
	OBSERVE_CWSR_ADDRESS,  /* area in which CWSR saves the waves */
	OBSERVE_CWSR_BYTES,
	OBSERVE_HSA_QUEUE, /* address of the hsa_queue_t in the process */
	OBSERVE_ACTIVE,	   /* 1: the queue has work, as far as the source knows */
	OBSERVE_SUSPENDED, /* 1: the queue is suspended, as far as the source knows */
	OBSERVE_PASID,
	OBSERVE_DOORBELL,   /* offset of the doorbell in the GPU's doorbells, bytes */
	OBSERVE_MQDS,	    /* MQDs of the queue, one for each XCC */
	OBSERVE_HQDS,	    /* hardware slots (HQDs) in which the queue is active now */
	OBSERVE_HQD_XCCS,   /* compute queues: mask of the XCCs of these slots, 1 << XCC */
	OBSERVE_EXCEPTIONS, /* mask of faults that the driver has reported (EXCEPTION_FAULTS) */
	OBSERVE_FIELDS
};

struct observe_field_info {
	const char *key; /* JSON key, with the unit (docs/reference/objects.md) */
	enum observe_kind kind;
};
/* Returns the JSON key and the kind of a field, in a static table. */
const struct observe_field_info *observe_field_info(enum observe_field field);

struct observe_value {
	uint64_t value;
	enum observe_source source; /* OBSERVE_NO_SOURCE: `value` is not valid */
};

#define OBSERVE_NO_ID UINT32_MAX /* debugfs names no queue ids */

struct observe_queue {
	uint32_t context; /* number of the KFD context in the process; 0: first or only one */
	uint32_t id;	  /* KFD's queue id, or OBSERVE_NO_ID */
	uint32_t gpu_id;
	uint32_t source_mask; /* OBSERVE_BIT()s of all sources that listed the queue */
	struct observe_value field[OBSERVE_FIELDS];
};

struct observe_list {
	struct observe_queue *queue;
	size_t count, room;
};

/* Adds an entry at the end, with all values unknown. Returns the entry, valid until the next
 * addition. */
struct observe_queue *observe_list_add(struct observe_list *list);
void observe_list_clear(struct observe_list *list); /* empties the list, keeps its memory */
void observe_list_free(struct observe_list *list);
/* Sorts by context, then id. Entries without an id come last, sorted by gpu_id and ring. */
void observe_list_sort(struct observe_list *list);
/* Returns the entry with that context and id, or NULL. */
struct observe_queue *observe_list_find(const struct observe_list *list, uint32_t context,
					uint32_t id);

static inline bool observe_known(const struct observe_queue *queue, enum observe_field field)
{
	return queue->field[field].source != OBSERVE_NO_SOURCE;
}
/* Sets a value, unless the queue has one from the same source or from a source with a smaller
 * number. Exception: the type "aql" or "pm4" always replaces the type "compute", because it is more
 * exact. */
void observe_set(struct observe_queue *queue, enum observe_field field, uint64_t value,
		 enum observe_source source);

/*
 * Joins the queues of one source (*from) into the list of all queues (*into).
 *
 * An entry with an id is joined to the queue with the same context and id, or added if there is
 * none. An entry without an id (from debugfs) is joined to
 * 1. the only queue on the same node with the same doorbell;
 * 2. else the only queue on the same node with the same ring address. Two processes can have the
 *    same ring address, so *from must be of one process only or have doorbells;
 * 3. else, as a group of entries with the same node, engine and ring size, to all queues with that
 *    node, engine and ring size whose ring address no source reports. Both groups must have the
 *    same size. Each queue then gets the values that all entries of the group have in common.
 * An entry without an id that matches no queue is counted in *unmatched.
 */
void observe_merge(struct observe_list *into, const struct observe_list *from, size_t *unmatched);
/* Returns true if `field` is known for both queues and has the same value. */
bool observe_same(const struct observe_queue *a, const struct observe_queue *b,
		  enum observe_field field);
/* Returns true if both queues have the same node, kind of engine (compute or not) and ring size.
 * This is the weakest match: different queues can have all three in common. */
bool observe_alike(const struct observe_queue *a, const struct observe_queue *b);
/* Joins one entry, which may belong to another process, to the queue with the same id, doorbell or
 * ring address. Returns false if there is no such queue. */
bool observe_join(struct observe_list *into, const struct observe_queue *from);

/* Formats a value for a table; "-" if it is not known. Returns `text`. */
#define OBSERVE_TEXT 64
const char *observe_text(char text[OBSERVE_TEXT], const struct observe_queue *queue,
			 enum observe_field field);
/* Converts an array of exception_json() back to the mask; names that are not known are left out.
 * Returns 0, or -EINVAL if it is no array of strings. */
int observe_faults_read(const json_t *names, uint64_t *mask);
/* Returns {"id", "context", "gpu_id", every field or null, "sources": {KEY: "sysfs", ...}}. */
json_t *observe_json(const struct observe_queue *queue);
/* Sets a value from JSON in the format of observe_json(). Does nothing if the JSON is null,
 * negative, of another type, or the address 0. */
void observe_read(struct observe_queue *queue, enum observe_field field, const json_t *value,
		  enum observe_source source);
/* Reads an object that observe_json() wrote. Unknown keys are ignored. Returns 0 or -EINVAL. */
int observe_from_json(const json_t *json, struct observe_queue *out);

/* ---- observation: observer.c ---- */

/*
 * An observation: what all sources report about the queues of one process at one moment.
 *
 * Ownership: the caller zeroes a struct observation once, can use it for any number of samples, and
 * ends it by observation_free().
 */

#define OBSERVE_WHY 256 /* bytes of a buffer for one sentence, with its NUL */

/* Sources that kfdsched queues and other commands query by default: all but OBSERVE_TRAP. */
enum {
	OBSERVE_ALL = OBSERVE_BIT(OBSERVE_DAEMON) | OBSERVE_BIT(OBSERVE_SHM) |
		      OBSERVE_BIT(OBSERVE_SYSFS) | OBSERVE_BIT(OBSERVE_MEMORY) |
		      OBSERVE_BIT(OBSERVE_MQD) | OBSERVE_BIT(OBSERVE_HQD)
};

/* Result of one source in a sample. */
struct observe_result {
	bool queried; /* the source was queried in this sample */
	int error;    /* 0; -ENOENT: no data about this process; others: `why` has the reason */
	char why[OBSERVE_WHY]; /* one sentence if error != 0 */
	struct observe_list list;
	size_t unmatched; /* entries of `list` that could not be joined to a queue id */
};

/* One sample: the result of each source, and the queues joined from all of them. */
struct observation {
	uint32_t listed; /* OBSERVE_BIT()s of the sources that listed queues by id */
	struct observe_list queues;
	struct observe_result result[OBSERVE_SOURCES];
};

/* Removes all results and queues, and keeps the memory for the next sample. */
void observation_clear(struct observation *observation);
/* Frees the memory of an observation and zeroes it. */
void observation_free(struct observation *observation);

/*
 * Returns the queues of the sample. If a source listed ids, these are the joined queues, else those
 * of debugfs kfd/mqds, which have no ids. *source: the first source in enum observe_source that
 * listed them.
 *
 * If no source listed queues, *source is OBSERVE_NO_SOURCE. *error and *why are those of the source
 * that failed; if several failed, of the last one in enum observe_source.
 */
const struct observe_list *observation_queues(const struct observation *observation,
					      enum observe_source *source, int *error,
					      const char **why);

#endif
