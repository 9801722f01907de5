#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched trace --container shows the GPU processes of one container, and no others.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world
# shellcheck source=tests/lib/container.inc.sh
. "$SOURCE/tests/lib/container.inc.sh"

id=3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef
start_daemon
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline \
	run_container docker "/docker/$id" "$work/containers/$id/hostname" /etc/hostname
inside=$workload
offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv
start_offline --seconds 600
until_true 100 says "any(.processes[]; .pid == $inside and .level == \"trap\")" ||
	fail "the daemon does not list both at level trap: $(status | jq -c '.processes[]|{pid,level}')"
"$kfdsched" trace --container "${id:0:12}" --json >"$work/trace" 2>"$work/talk" &
tracing=$!
children+=("$tracing")
# The suspensions are repeated until the trace has begun, the other process first.
is_shown() {
	"$kfdsched" preempt "$offline" -n 1 --hold 1ms --pause 1ms >/dev/null 2>&1 || true
	"$kfdsched" preempt "$inside" -n 1 --hold 1ms --pause 1ms >/dev/null 2>&1 || true
	jq -es "any(.[]; .pid == $inside and .name == \"suspend\")" "$work/trace" >/dev/null 2>&1
}
until_true 100 is_shown || fail "nothing of process $inside: $(cat "$work/talk")"
kill -TERM "$tracing" # a background job of a script ignores SIGINT
wait "$tracing" || fail "trace ended with $?"
schema trace "$work/trace" --lines
jq -es "[.[] | .pid | select(. != null and . != $inside)] == []" "$work/trace" >/dev/null ||
	fail "other processes are in it: $(jq -c '[.pid, .name]' "$work/trace" | sort | uniq -c)"
refused 1 "no process of container 0000 uses a GPU" "$kfdsched" trace --container 0000 --seconds 1
