// SPDX-License-Identifier: MIT
/* Maps each reason that the daemon gives for a level (kfd/reasons.def) to an advice. */
#include "cli/doctor/checks.h"

/* Makes a reason without an advice a compile error. */
#pragma GCC diagnostic error "-Wswitch-enum"

#define MESSAGES "'dmesg | grep -e kfd -e amdgpu' shows the driver's messages"

const char *doctor_advice(enum reason_code code)
{
	switch (code) {
	case REASON_device_not_opened:
	case REASON_device_no_version:
		return "start kfdschedd as root, with access to the devices";
	case REASON_kfd_too_old:
		return "use Linux 6.5 or newer, or AMD's driver package of ROCm 6 or newer";
	case REASON_waves_not_saved:
		return "no action is possible for this process: if waves cannot be saved, only level gate works";
	case REASON_traced:
		return "end the process that traces it (gdb, strace): a process can have only one tracer";
	case REASON_yama_forbids:
		return "set kernel.yama.ptrace_scope to 1 in /etc/sysctl.d and reboot";
	case REASON_yama_restricts:
	case REASON_no_right_to_trace:
		return "start kfdschedd as root, outside the container";
	case REASON_session_exists:
		return "end rocgdb or 'kfdsched preempt' for this process; kfdschedd retries when the session has ended";
	case REASON_gpu_busy:
		return "its GPU allows one debug session at a time: end the other session, or set KFDSHIM_LEVEL=gate for this process";
	case REASON_runtime_disabled:
		return "start it with the shim: 'kfdsched run --priority P -- COMMAND'; its runtime does not enable debugging itself";
	case REASON_runtime_never:
	case REASON_shim_not_registered:
		return "start it with the shim from the beginning: 'kfdsched run --priority P -- COMMAND'";
	case REASON_no_priority:
	case REASON_highest_priority:
		return "give it a lower priority than the others: 'kfdsched set PID PRIORITY'";
	case REASON_holds_itself:
	case REASON_keeps_session:
		return "start it without KFDSHIM_LEVEL: the best level that works is then used";
	case REASON_session_given_away:
		return "no action is needed: the other processes on that GPU are held by gate";
	case REASON_no_acknowledgement:
	case REASON_hold_ended:
		return "restart it with KFDSHIM_LOG=error, which logs what failed";
	case REASON_queue_reset:
		return "restart it: its work in that queue is lost; " MESSAGES;
	case REASON_suspend_slow:
		return "restart it: the GPU did not preempt its work in time; slow_suspend_us in kfdschedd's configuration is the limit";
	case REASON_suspend_failed:
	case REASON_first_suspend_failed:
	case REASON_queue_not_suspended:
	case REASON_runtime_error:
		return "restart it; " MESSAGES;
	case REASON_executors_hang:
	case REASON_executor_hangs:
		return "end the process, whose driver call does not return; " MESSAGES;
	case REASON_device_not_used:
	case REASON_runtime_not_yet:
	case REASON_no_queues_yet:
	case REASON_session_tried:
	case REASON_process_ended:
	case REASON_process_ending:
		return "wait: it has just started, or ends";
	case REASON_daemon_stopping:
		return "start kfdschedd again";
	case REASON_NONE:
	case REASON_trace_failed:
	case REASON_session_failed:
	case REASON_session_ended:
	case REASON_no_snapshot:
	case REASON_no_own_session:
	case REASON_executor_failed:
	case REASON_no_executor:
	case REASON_executor_ended:
	case REASONS:
		break;
	}
	return "see kfdschedd's log for the time; KFDSHIM_LEVEL=self or gate needs no tracing";
}
