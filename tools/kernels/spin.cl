// SPDX-License-Identifier: MIT
// The only kernel of kfdreplay: it occupies a compute unit for a given time and does nothing else.
//
// A wave reads the 100 MHz realtime counter in a loop, and ends when it has *run* for `ticks`. The
// counter continues while a wave is preempted. So a step of more than GAP ticks between two reads
// is taken as a preemption and counts as one tick (which also guarantees that every wave ends). On
// a running wave two reads are about 0.2 us apart.
//
// `cells`, if not null, has one word for each workgroup. No other workgroup writes that word, so a
// plain addition is enough. kfdsim recognises this kernel by its name and these two arguments, and
// does the addition itself.

#define GAP 5000ul /* 50 us */

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void kfdreplay_spin(ulong ticks, global volatile uint *cells)
{
	ulong left = ticks;
	ulong last = __builtin_amdgcn_s_memrealtime();

	while (left > 0) {
		__builtin_amdgcn_s_sleep(1); /* no instruction issued for 64 clocks */
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
