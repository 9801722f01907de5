/* SPDX-License-Identifier: MIT */
/*
 * A tools library of the HSA runtime that observes packets as profilers do. Each queue that the
 * program creates becomes an intercept queue: every packet passes through a handler, which forwards
 * it unchanged. To be included by one source file of such a library.
 */
#ifndef KFDSHIM_TESTS_BENCH_INTERCEPT_H
#define KFDSHIM_TESTS_BENCH_INTERCEPT_H

#include <hsa/hsa.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Offsets in bytes in the API tables, because hsa_api_trace.h is C++. `version` is the major
 * version of the root table that OnLoad() receives. From version 3 on (ROCr 6 and 7), two functions
 * that ROCr 5 does not have stand before those of intercept queues. */
#define ROOT_CORE 16
#define ROOT_AMD 24
#define CORE_QUEUE_CREATE 72
#define AMD_INTERCEPT_CREATE(version) ((version) < 3 ? 296 : 312)
#define AMD_INTERCEPT_REGISTER(version) ((version) < 3 ? 304 : 320)

typedef hsa_status_t create_fn(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
			       void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
			       uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue);

typedef void write_fn(const void *packets, uint64_t count);
typedef void handler_fn(const void *packets, uint64_t count, uint64_t index, void *data,
			write_fn *write);
typedef hsa_status_t register_fn(hsa_queue_t *queue, handler_fn *handler, void *data);

/* The functions of the runtime that create an intercept queue and register its handler. */
static create_fn *intercept_create;
static register_fn *intercept_register;

/* The handler: forwards the packets. */
static void intercept_pass_on(const void *packets, uint64_t count, uint64_t index, void *data,
			      write_fn *write)
{
	(void)index;
	(void)data;
	write(packets, count);
}

/* Replaces hsa_queue_create() in the table. */
static hsa_status_t intercepted_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
				       void (*callback)(hsa_status_t, hsa_queue_t *, void *),
				       void *data, uint32_t private_bytes, uint32_t group_bytes,
				       hsa_queue_t **queue)
{
	hsa_status_t status = intercept_create(agent, size, type, callback, data, private_bytes,
					       group_bytes, queue);

	return status == HSA_STATUS_SUCCESS ? intercept_register(*queue, intercept_pass_on, NULL)
					    : status;
}

/* Returns the pointer at offset `at` of a table. */
static void *intercept_entry(const char *table, size_t at)
{
	void *value;

	memcpy(&value, table + at, sizeof(value));
	return value;
}

/* Makes all queues intercept queues. To be called in OnLoad(), with its table and version. */
static void intercept_queues(char *table, uint64_t version)
{
	char *core = intercept_entry(table, ROOT_CORE), *amd = intercept_entry(table, ROOT_AMD);

	intercept_create = (create_fn *)intercept_entry(amd, AMD_INTERCEPT_CREATE(version));
	intercept_register = (register_fn *)intercept_entry(amd, AMD_INTERCEPT_REGISTER(version));
	*(create_fn **)(void *)(core + CORE_QUEUE_CREATE) = intercepted_create;
}

#endif
