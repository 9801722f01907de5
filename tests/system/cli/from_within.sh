#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: in a container whose processes have the socket of a daemon on the host, kfdsched names
# processes by the container's pids, and the daemon acts on the right ones.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

start_daemon
# shellcheck disable=SC2016 # expanded in there
KFDSHIM_PRIORITY=offline unshare --pid --fork --kill-child --mount-proc bash -c '
	LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$SOURCE/traces/offline_gemm4000_f32.csv" \
		--rate 5 --seconds 300 >/dev/null 2>&1 &
	wait' &
children+=("$!")
# The process has two queues, the second a moment after the first.
is_known() {
	status >"$work/status.json" && jq -e '.processes[0] | .own_pid != null and (.queues | length) > 1' "$work/status.json" >/dev/null
}
until_true 300 is_known || fail "the daemon does not know it: $(jq -c .processes "$work/status.json")"
outer=$(jq '.processes[0].pid' "$work/status.json")
inner=$(jq '.processes[0].own_pid' "$work/status.json")
[ "$inner" != "$outer" ] || fail "the process has one pid only"
[ "$(jq '.processes[0].pid_namespace' "$work/status.json")" = "$(stat -Lc %i "/proc/$outer/ns/pid")" ] || fail "the status has another namespace"

within() {
	nsenter --target "$outer" --pid --mount "$kfdsched" "$@"
}
within queues "$inner" --json >"$work/queues.json"
schema queues "$work/queues.json"
jq -e ".processes[0] | .pid == $inner and .host_pid == null and
	any(.source_results[]; .source == \"daemon\" and .answered)" "$work/queues.json" >/dev/null ||
	fail "the daemon was asked for the wrong process: $(jq -c .processes "$work/queues.json")"
jq -e 'all(.queues[]; .suspended == false and .sources.ring_address == "shm")' "$work/queues.json" >/dev/null ||
	fail "not all that the daemon knows: $(jq -c '.queues[0]' "$work/queues.json")"
# What kfdsched prints of the daemon's data belongs to the right process.
is_trapped() {
	within diagnose "$inner" --json >"$work/diagnosis.json" &&
		jq -e ".processes[0] | .pid == $inner and .gpu.registered and .level == \"trap\" and
			.process.host_pid == null" "$work/diagnosis.json" >/dev/null
}
until_true 100 is_trapped || fail "not diagnosed: $(jq -c '.processes[0] | del(.levels)' "$work/diagnosis.json")"
schema diagnose "$work/diagnosis.json"
# All listed processes are those of the container.
within queues --json | jq -e "[.processes[].pid] == [$inner]" >/dev/null || fail "not those of the container"
# Control requests use the container's pids, too.
within preempt "$inner" -n 2 --hold 1ms --pause 1ms --json | jq -e ".pid == $inner and .by_daemon and .succeeded == 2" >/dev/null ||
	fail "not preempted by the daemon"
expect 77 within suspend "$inner" --queues 0 # the daemon holds whole processes only
# In the container, the pid of the process on the host is unused, or of another process.
expect 1 within queues "$outer"
[ ! -s "$work/out" ] || fail "the pid of the host has a meaning in the container"
# Of a process on the host, doctor prints only a number of connections.
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" \
	--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 5 --seconds 300 >/dev/null 2>&1 &
children+=("$!")
are_two() { [ "$(status | jq '.processes | length')" = 2 ]; }
until_true 100 are_two || fail "the daemon does not list the process of the host: $(status | jq -c .processes)"
within doctor --json >"$work/doctor.json" || true
jq -e 'any(.findings[]; .check == "connections" and (.found | startswith("2 processes, 1 of them in other pid namespaces,")))' \
	"$work/doctor.json" >/dev/null || fail "not counted: $(jq -c '.findings[] | select(.check == "connections")' "$work/doctor.json")"
within queues --json | jq -e "[.processes[].pid] == [$inner]" >/dev/null || fail "the process of the host is shown in the container"
echo "ok"
