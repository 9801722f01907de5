// SPDX-License-Identifier: MIT
// The one kernel of kfdreplay: it keeps its place on a compute unit for a
// given time and does nothing else.
//
// A wave looks at the 100 MHz realtime counter again and again and ends when
// it has *run* for `ticks`. The counter goes on while a wave is preempted, so
// a step of more than GAP ticks between two looks is taken for a preemption:
// it counts as one tick (which also makes sure that every wave ends). Two
// looks are about 0.2 us apart on a wave that runs.
//
// `cells`, if not null, has one word for each workgroup; no other workgroup
// touches it, so a plain addition is enough. kfdsim models this kernel by its
// name and these two arguments and carries out the addition itself.

#define GAP 5000ul /* 50 us */

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void kfdreplay_spin(ulong ticks, global volatile uint *cells)
{
	ulong left = ticks;
	ulong last = __builtin_amdgcn_s_memrealtime();

	while (left > 0) {
		__builtin_amdgcn_s_sleep(1); /* 64 clocks without an issue slot */
		ulong now = __builtin_amdgcn_s_memrealtime();
		ulong step = now - last;

		last = now;
		if (step > GAP)
			step = 1;
		left = step < left ? left - step : 0;
	}
	if (cells && __builtin_amdgcn_workitem_id_x() == 0)
		cells[__builtin_amdgcn_workgroup_id_x()] += 1;
}
