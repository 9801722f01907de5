#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched queues lists a process with the shim and one without, without a daemon and with
# one. Each value has the source that can know it; a value that no source has is "-" and null.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# value JQ-EXPRESSION: the expression is true of the last JSON.
value() {
	holds "$work/q.json" "$1"
}

# The workload has little to do, because its work does not matter.
load=(--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 10 --seconds 300)
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
with=$!
"$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
without=$!
children+=("$with" "$without")
# all_queues PID JQ-CONDITION: the process has queues, and the condition is true of each. No output
# means no queues; jq -e alone takes an empty input for true.
all_queues() {
	"$kfdsched" queues "$1" --json 2>/dev/null |
		jq -es "length == 1 and (.[0].queues|length >= 2 and all(.[]; $2))" >/dev/null
}
has_queues() {
	all_queues "$1" true
}
until_true 100 has_queues "$with" || fail "the process with the shim has no queues"
until_true 100 has_queues "$without" || fail "the process without the shim has no queues"
# The client shared memory appears a moment later than the queues.
has_shm() {
	all_queues "$with" '.sources.ring_address == "shm"'
}
until_true 100 has_shm || fail "no client shared memory without a daemon: $("$kfdsched" queues "$with" --json | jq -c '.processes[].source_results')"
# The descriptors in debugfs appear a tenth of a second later, or more.
has_descriptors() {
	all_queues "$1" '.mqds == 1'
}
until_true 100 has_descriptors "$with" || fail "not all queues have descriptors"
until_true 100 has_descriptors "$without" || fail "not all queues have descriptors"

"$kfdsched" queues --json >"$work/q.json"
schema queues "$work/q.json"
value "[.processes[].pid] == [$with, $without]"
value "all(.queues[]; .host_pid == .pid and .container_pid == null)"
value "all(.queues[] | select(.pid == $with); .sources.ring_bytes == \"shm\" and .queue_priority != null)"
value "any(.queues[] | select(.pid == $with); .type == \"aql\" and .hsa_queue != null and .cwsr_bytes > 0)"
value "any(.queues[] | select(.pid == $with); .sources.wptr == \"memory\" and .wptr >= .rptr and .backlog_bytes == (.wptr - .rptr) * 64)"
value "all(.queues[] | select(.pid == $without); .sources.ring_bytes == \"sysfs\" and .hsa_queue == null and .suspended == null)"
value "all(.queues[]; .suspended == null and .active == null)"
# The ids are those of the driver, and no others.
ids=$(find "/sys/class/kfd/kfd/proc/$without/queues" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | jq -cs .)
value "[.queues[] | select(.pid == $without) | .id] == $ids"

# debugfs has the address of the ring and the hardware slots, also of a process without the shim.
value "any(.queues[] | select(.pid == $without); .type == \"aql\" and .sources.type == \"mqd\" and .mqds == 1 and
	.active_hqds == 1 and .sources.active_hqds == \"hqd\" and .sources.wptr == \"memory\")"
# The slots of different processes are different.
value "[.queues[] | select(.doorbell_offset) | .doorbell_offset] | length == (unique | length)"

# A user who may read neither debugfs nor the process gets the values of sysfs, and the reason.
setpriv --reuid 65534 --regid 65534 --clear-groups "$kfdsched" queues "$without" --json >"$work/q.json"
schema queues "$work/q.json"
value 'all(.queues[]; .type == "compute" or .type == "sdma") and all(.queues[]; .ring_address == null and .mqds == null)'
value 'all(.processes[0].source_results[] | select(.source != "sysfs"); .answered == false and .reason != null)'

"$kfdsched" queues "$without" >"$work/table"
[ "$(wc -l <"$work/table")" = "$(($(jq length <<<"$ids") + 1))" ] || fail "a row a queue"
grep -Eq " aql +- +- " "$work/table" || fail "an unknown value is not '-': $(cat "$work/table")"
"$kfdsched" queues "$with" --addresses | grep -q "CWSR ADDRESS" || fail "no addresses"

"$kfdsched" queues "$with" --format c >"$work/ids.c"
compute=$("$kfdsched" queues "$with" --json | jq -c '[.queues[] | select(.type == "aql") | .id]')
grep -qF "uint32_t queue_ids[$(jq length <<<"$compute")] = {$(jq -r 'map(tostring) | join(", ")' <<<"$compute")};" "$work/ids.c" ||
	fail "not a ready array: $(cat "$work/ids.c")"
# The array is valid C.
printf '#include <stdint.h>\n' | cat - "$work/ids.c" | gcc -fsyntax-only -xc - || fail "the array is not valid C"

# With a daemon, the values include whether a queue works and whether it is suspended.
start_daemon
knows_it() {
	"$kfdsched" queues "$with" --json >"$work/q.json"
	jq -e 'any(.queues[]; .type == "aql" and .suspended == false and .sources.suspended == "daemon" and
		.sources.active == "shm")' "$work/q.json" >/dev/null
}
until_true 100 knows_it || fail "the daemon reports no state: $(jq -c '.processes' "$work/q.json")"
until_true 100 says ".processes[]|select(.pid == $with)|.level == \"trap\"" || fail "not at level trap"
"$kfdsched" suspend "$with" --for 60 >/dev/null
"$kfdsched" queues "$with" --json >"$work/q.json"
schema queues "$work/q.json"
value 'all(.queues[] | select(.type == "aql"); .suspended == true)'
value 'all(.queues[] | select(.type == "sdma"); .suspended == false)'
"$kfdsched" queues "$with" | grep -q suspended || fail "the table does not show the suspension"
"$kfdsched" resume "$with" >/dev/null

# The process has no queues, or does not exist.
refused 1 "process $$ (bash): no source reports queues" "$kfdsched" queues $$
sleep 0 &
gone=$!
wait "$gone"
refused 1 "no process $gone" "$kfdsched" queues "$gone"
sleep 60 &
children+=($!)
expect 2 "$kfdsched" queues --format c
echo "ok"
