// SPDX-License-Identifier: MIT
#include "cli/util/sample_loop.h"

#include <math.h>

#include "cli/util/command.h"
#include "cli/util/interrupt.h"
#include "common/clock.h"

void sample_task_begin(struct sample_task *task, double interval_us, void (*sample)(void *context),
		       void *context)
{
	*task = (struct sample_task){
		.began_ns = clock_ns(),
		.interval_ns = (uint64_t)ceil(interval_us * 1e3), /* never 0 */
		.last = UINT64_MAX,
		.sample = sample,
		.context = context,
	};
}

/* Returns the time at which the next sample is due; UINT64_MAX: never. */
static uint64_t due(const struct sample_task *task)
{
	return task->over ? UINT64_MAX : task->began_ns + task->next * task->interval_ns;
}

void sample_task_take(struct sample_task *task)
{
	uint64_t slot;

	task->sample(task->context);
	slot = (clock_ns() - task->began_ns) / task->interval_ns;
	if (slot > task->last)
		slot = task->last;
	if (slot > task->next && !task->over) {
		task->missed += slot - task->next;
		task->next = slot;
	}
	task->over |= task->next++ == task->last;
}

/* Ends a task. loop->code keeps the first exit code other than CLI_DONE. */
static void end(struct sample_loop *loop, struct sample_task *task)
{
	int code = task->end ? task->end(task->context) : CLI_DONE;

	if (loop->code == CLI_DONE)
		loop->code = code;
}

int sample_loop_run(struct sample_loop *loop)
{
	bool stopped = false;

	while (loop->count > 0) {
		uint64_t next_ns = UINT64_MAX;
		size_t left = 0;

		for (size_t i = 0; i < loop->count; i++) {
			struct sample_task *task = loop->tasks[i];

			if (!stopped && clock_ns() >= due(task))
				sample_task_take(task);
			if (stopped || task->over) {
				end(loop, task);
				continue;
			}
			loop->tasks[left++] = task;
			if (due(task) < next_ns)
				next_ns = due(task);
		}
		loop->count = left;
		if (left > 0)
			stopped = loop->wait ? loop->wait(loop->context, next_ns)
					     : stop_sleep_until(next_ns);
	}
	return loop->code;
}
