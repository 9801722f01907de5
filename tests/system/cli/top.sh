#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, in tmux, with a real process on a simulated GPU and a real daemon: kfdsched top shows the
# queues, slots and memory of the process and, when it is opened, each queue. It gives it a priority,
# suspends and resumes it; a process that is suspended from there runs again when top ends, also by
# kill -9. One frame keeps to its schema. Without a daemon top shows what sysfs has, and the rest is
# unknown.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world
# shellcheck source=tests/lib/tmux.inc.sh
. "$SOURCE/tests/lib/tmux.inc.sh"

start_daemon

# ---- the time in which nodes had work: by one clock, and once for any number of clients ----
node=$(gpu_id)
work_us() {
	status | jq -c '[.daemon.uptime_us, .nodes[0].work_us]'
}
# grows TIMES: in half a second, work_us grows by TIMES as much as the time.
grows() {
	local before
	before=$(work_us)
	sleep 0.5
	jq -en --argjson a "$before" --argjson b "$(work_us)" --argjson times "$1" '
		(($b[1] - $a[1]) - $times * ($b[0] - $a[0])) | fabs <= 2' >/dev/null ||
		fail "work_us does not grow $1 times as fast as time"
}
n_working() {
	says "[.processes[]|select(.active)] | length == $1"
}
grows 0
start_online
send on
mkfifo "$work/others"
"$BUILD/lane_client" "$KFDSHIM_SOCKET" 15 "$node" <"$work/others" >/dev/null 2>>"$work/log" &
other=$!
children+=("$other")
exec {others}>"$work/others"
echo on >&"$others"
soon n_working 2
grows 1
kill -KILL "$other"
soon n_working 1
grows 1
kill -KILL "$online"
soon n_working 0
grows 0

# The work is light, because the display does not depend on how much there is.
offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv
start_offline --seconds 600
tmux_begin 120 30 "exec $BUILD/kfdsched top --interval 200ms"

# ---- the display ----
shows "daemon $daemon, policy strict"
shows " 2 of 24 slots"
row() {
	screen | grep -E "^ *$offline +trap +offline +2 "
}
# Each of the two queues is in one slot, as long as the process is not suspended.
mapped() {
	row | grep -qE ' (yes|no) +2 +2 +1:1 +[0-9.]+[KMG] .* kfdreplay --trace'
}
soon mapped

# ---- the queues of a process ----
keys Enter
shows "Process $offline, level trap"
soon eval "screen | grep '^Sources: daemon, shm, ' | grep -q 'mqd, hqd'"
soon eval "screen | grep -qE '^ +1 +0 +aql +1 MiB +[0-9]+ +[0-9]+ '"

# ---- control requests ----
keys S
shows "Suspend $offline (kfdreplay) until R, or this top ends? y/n"
keys n
shows "Cancelled."
says ".processes[]|select(.pid == $offline)|.lease_us == null" || fail "suspended without a yes"
keys S y
soon state_is "$offline" suspended
shows "level trap, suspended"
keys q
shows "  0 ["
soon eval "row | grep -q ' suspended '"
keys q
shows "1 process suspended here will be resumed. Quit?"
keys n
keys R y
soon state_is "$offline" running
keys t
keys -l 9
keys Enter
soon says ".processes[]|select(.pid == $offline)|.priority == 9 and .priority_override"
keys t
keys -l fast
keys Enter
shows "not 'fast'"

# However top ends, the process runs again.
keys S y
soon state_is "$offline" suspended
kill -KILL "$(tmux_here display-message -p '#{pane_pid}')"
soon state_is "$offline" running
# If another program ends the suspension, top shows it.
tmux_begin 120 30 "exec $BUILD/kfdsched top $offline --interval 200ms"
shows kfdreplay
keys S y
soon state_is "$offline" suspended
"$kfdsched" resume "$offline" >/dev/null
shows "Process $offline: "
keys q

# ---- one frame ----
"$kfdsched" top "$offline" --once --json --interval 300ms >"$work/once.json"
schema top "$work/once.json"
jq -e --argjson pid "$offline" --argjson node "$node" '
	(.nodes | length == 1) and .nodes[0].gpu_id == $node and .nodes[0].slots == 24 and
	.nodes[0].compute_queues == 2 and .nodes[0].busy_source == "daemon" and .nodes[0].busy_ratio > 0 and
	(.processes | length == 1) and .processes[0].pid == $pid and .processes[0].source == "daemon" and
	.processes[0].active_hqds == 2 and .processes[0].hqds_per_queue == 1 and
	.processes[0].vram_bytes > 0' "$work/once.json" >/dev/null ||
	fail "one frame is wrong: $(cat "$work/once.json")"

# ---- without a daemon ----
kill -TERM "$daemon"
soon has_ended "$daemon"
"$kfdsched" top "$offline" --once --json --interval 50ms >"$work/once.json"
schema top "$work/once.json"
jq -e '.daemon == null and .nodes[0].busy_source == "sysfs" and .nodes[0].compute_queues == 2 and
	.processes[0].source == "sysfs" and .processes[0].compute_queues == 2 and
	.processes[0].level == null and .processes[0].state == null' "$work/once.json" >/dev/null ||
	fail "the values without a daemon are wrong: $(cat "$work/once.json")"
tmux_begin 120 30 "exec $BUILD/kfdsched top --interval 200ms"
shows "no daemon: "
shows "of CUs"
soon eval "screen | grep -qE '^ *$offline +- +- +- +- +- +2 +2 +1:1 '"
keys S
shows "This needs a daemon"
keys q

# A process that uses no GPU.
expect 1 "$kfdsched" top $$ --once --interval 50ms
said "uses no GPU"
