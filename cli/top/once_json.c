// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "cli/top/once_json.h"
#include "common/text.h"

static json_t *number(int64_t value)
{
	return value < 0 ? json_null() : json_integer((json_int_t)value);
}

static json_t *real(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *yes(int8_t value)
{
	return value < 0 ? json_null() : json_boolean(value);
}

static json_t *node_json(const struct top_node_row *row)
{
	static const char *const sources[] = {NULL, "daemon", "sysfs"};
	const struct top_node *node = row->node;

	return json_pack("{sI so so ss? so so so so so}", "gpu_id", (json_int_t)node->gpu_id,
			 "name", plain_or_null(node->name), "busy_ratio", real(row->busy_ratio),
			 "busy_source", sources[row->busy_by], "compute_queues",
			 number(node->queues), "slots", number(node->slots), "urgent",
			 yes(node->urgent), "suspended", number(node->suspended), "policy",
			 plain_or_null(node->policy));
}

static json_t *process_json(const struct top_row *row)
{
	const struct top_process *p = row->process;

	return json_pack(
		"{sI so ss so so so so so so so so so so so so so so so}", "pid",
		(json_int_t)p->pid, "container_pid",
		number(p->inner_pid ? p->inner_pid : TOP_UNKNOWN), "source",
		p->by_daemon ? "daemon" : "sysfs", "command", plain_or_null(p->command), "shim",
		yes(p->shim), "level", plain_or_null(p->level), "role", plain_or_null(p->role),
		"priority", number(p->priority), "state", plain_or_null(p->state), "active",
		yes(p->active), "queues", number(p->queues), "compute_queues",
		number(p->compute_queues), "mqds", number(p->mqds), "active_hqds", number(p->hqds),
		"hqds_per_queue", number(p->hqds_per_queue), "vram_bytes", number(p->vram_bytes),
		"held_ratio", real(row->held_ratio), "suspends_per_s", real(row->suspends_per_s));
}

static json_t *daemon_json(const struct top_state *now)
{
	if (!now->by_daemon)
		return json_null();
	return json_pack("{so so so}", "pid", number(now->daemon_pid), "worker_pid",
			 number(now->worker_pid), "policy", plain_or_null(now->policy));
}

json_t *once_json(const struct top_frame *frame)
{
	const struct top_state *now = frame->now;
	json_t *nodes = json_array(), *processes = json_array(), *latency;

	for (size_t i = 0; i < frame->node_count; i++)
		json_array_append_new(nodes, node_json(&frame->nodes[i]));
	for (size_t i = 0; i < frame->row_count; i++)
		json_array_append_new(processes, process_json(&frame->rows[i]));
	latency = json_pack("{so so so so}", "suspend_p50_us", real(frame->suspend_p50_us),
			    "suspend_p99_us", real(frame->suspend_p99_us), "detection_p50_us",
			    real(frame->detection_p50_us), "detection_p99_us",
			    real(frame->detection_p99_us));
	return json_pack("{so so so so so so so so so}", "seconds",
			 frame->seconds > 0 ? json_real(frame->seconds) : json_null(), "daemon",
			 daemon_json(now), "why_no_daemon", plain_or_null(now->why),
			 "suspends_per_s", real(frame->suspends_per_s), "resumes_per_s",
			 real(frame->resumes_per_s), "failures_per_s", real(frame->failures_per_s),
			 "latency", latency, "nodes", nodes, "processes", processes);
}
