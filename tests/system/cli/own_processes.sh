#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: watch, pidmap, top, queues and doctor list no process of kfdschedd as a user of a GPU,
# although the driver lists its worker and executors; they list a user's program with a similar name.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

daemon_options+=(--record "$work/record")
start_daemon
offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv
start_offline --seconds 600
cp "$BUILD/kfdreplay" "$work/kfdsched_bench"
cp "$BUILD/kfdreplay" "$work/kfdschedd_user"
load=(--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 5 --seconds 600)
for name in kfdsched_bench kfdschedd_user; do
	"$work/$name" "${load[@]}" >/dev/null 2>&1 &
	children+=("$!")
done
# lists COMMAND...: the output has none of the daemon's processes, and has the others.
lists() {
	"$kfdsched" "$@" --json >"$work/list" 2>>"$work/log" || fail "$* ended with $?"
	jq -r ".. | objects | select(has(\"pid\") and (has(\"comm\") or has(\"command\"))) | \"\(.pid) \(.comm // .command // \"\")\"" "$work/list" | sort -u >"$work/pids"
	for pid in "${ours[@]}"; do
		! grep -q "^$pid " "$work/pids" || fail "$*: process $pid of the daemon is listed: $(cat "$work/pids")"
	done
	grep -qF kfdsched_bench "$work/list" || fail "$*: no kfdsched_bench: $(cat "$work/pids")"
	grep -qF kfdschedd_user "$work/list" || fail "$*: no kfdschedd_user: $(cat "$work/pids")"
}
has_both() {
	"$kfdsched" pidmap --json 2>/dev/null | grep -q kfdsched_bench && "$kfdsched" pidmap --json | grep -q kfdschedd_user
}
until_true 100 has_both || fail "pidmap lacks a program of a user: $("$kfdsched" pidmap)"
mapfile -t ours < <(pgrep --parent "$daemon"; echo "$daemon")
[ "${#ours[@]}" -ge 5 ] || fail "the daemon has few processes: ${ours[*]}"
lists pidmap
lists queues
lists top --once
"$kfdsched" doctor --json >"$work/list" || true
grep -q kfdsched_bench "$work/list" || fail "doctor lacks kfdsched_bench"
# The processes of a new daemon are no new workload.
timeout 60 "$kfdsched" watch --interval 50ms --timeout 3 --json >"$work/out" 2>"$work/err" &
watching=$!
children+=("$watching")
until_true 100 grep -q "waiting for" "$work/err" || fail "watch does not begin"
kill -KILL "$(worker)"
soon says '.daemon.worker_pid > 0 and any(.processes[]; .level == "trap")'
code=0
wait "$watching" || code=$?
[[ $code = 1 && ! -s $work/out ]] || fail "watch ended with $code: $(cat "$work/out")"
