/* SPDX-License-Identifier: MIT */
/*
 * Fields of the objects that the JSON of several commands has (cli/output/fields.h). Threads: none.
 */
#ifndef KFDSHIM_CLI_UTIL_OBJECTS_H
#define KFDSHIM_CLI_UTIL_OBJECTS_H

#include "cli/inspect/process.h"
#include "cli/output/fields.h"

/* Types of fields that several objects have. Each type is a list of the allowed words. */
#define FIELD_LEVELS "trap|self|gate|weight|observe"
#define FIELD_ROLES "online|offline|seen"
#define FIELD_SOURCES "daemon|shm|trap|sysfs|mqd|hqd|memory"
#define FIELD_QUEUE_TYPES "aql|pm4|compute|sdma|xgmi|drm"
#define FIELD_EXCEPTIONS                                                                           \
	"wave_abort|wave_trap|wave_math_error|wave_illegal_instruction|wave_memory_violation|"     \
	"wave_aperture_violation|packet_dispatch_dim_invalid|"                                     \
	"packet_dispatch_group_segment_size_invalid|packet_dispatch_code_invalid|packet_reserved|" \
	"packet_unsupported|packet_dispatch_work_group_size_invalid|"                              \
	"packet_dispatch_register_invalid|packet_vendor_unsupported|preemption_error"

extern const struct field fields_gpu[];		  /* struct gpu_name */
extern const struct field fields_gpu_names[];	  /* names in struct gpu_name, each can be null */
extern const struct field fields_node_policy[];	  /* from the daemon's status */
extern const struct field fields_container[];	  /* struct container */
extern const struct field fields_process[];	  /* struct process_identity */
extern const struct field fields_process_pids[];  /* pids and name of struct process_identity */
extern const struct field fields_queue[];	  /* from observe_json() */
extern const struct field fields_source_result[]; /* struct observe_result, without "source" */

#endif
