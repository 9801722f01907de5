#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsched queues: a process with the shim and one without, without a daemon and with one;
# each value is known by the source that can know it, and what nobody knows is "-" and null.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# value JQ-EXPRESSION: of the last JSON.
value() {
	holds "$work/q.json" "$1"
}

# Little work: what it does is not looked at.
load=(--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 10 --seconds 300)
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
with=$!
"$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
without=$!
children+=("$with" "$without")
# all_queues PID JQ-CONDITION: it has queues, and the condition is true of each. No answer is no
# queues; jq -e alone takes an empty input for true.
all_queues() {
	"$kfdsched" queues "$1" --json 2>/dev/null |
		jq -es "length == 1 and (.[0].queues|length >= 2 and all(.[]; $2))" >/dev/null
}
has_queues() {
	all_queues "$1" true
}
until_true 100 has_queues "$with" || fail "no queues of the one with the shim"
until_true 100 has_queues "$without" || fail "no queues of the one without"
# The lane is there a moment later than the queues.
has_lane() {
	all_queues "$with" '.sources.ring_address == "shm"'
}
until_true 100 has_lane || fail "no lane without a daemon: $("$kfdsched" queues "$with" --json | jq -c '.processes[].source_results')"
# And descriptors in debugfs, a tenth later or more.
has_descriptors() {
	all_queues "$1" '.mqds == 1'
}
until_true 100 has_descriptors "$with" || fail "not all have descriptors"
until_true 100 has_descriptors "$without" || fail "not all have descriptors"

"$kfdsched" queues --json >"$work/q.json"
schema queues "$work/q.json"
value "[.processes[].pid] == [$with, $without]"
value "all(.queues[]; .host_pid == .pid and .container_pid == null)"
value "all(.queues[] | select(.pid == $with); .sources.ring_bytes == \"shm\" and .queue_priority != null)"
value "any(.queues[] | select(.pid == $with); .type == \"aql\" and .hsa_queue != null and .cwsr_bytes > 0)"
value "any(.queues[] | select(.pid == $with); .sources.wptr == \"memory\" and .wptr >= .rptr and .backlog_bytes == (.wptr - .rptr) * 64)"
value "all(.queues[] | select(.pid == $without); .sources.ring_bytes == \"sysfs\" and .hsa_queue == null and .suspended == null)"
value "all(.queues[]; .suspended == null and .active == null)"
# The driver's ids, and nothing else.
ids=$(find "/sys/class/kfd/kfd/proc/$without/queues" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | jq -cs .)
value "[.queues[] | select(.pid == $without) | .id] == $ids"

# debugfs knows where rings lie and in which hardware slot, of one without the shim, too.
value "any(.queues[] | select(.pid == $without); .type == \"aql\" and .sources.type == \"mqd\" and .mqds == 1 and
	.active_hqds == 1 and .sources.active_hqds == \"hqd\" and .sources.wptr == \"memory\")"
# One process's slots are not another's.
value "[.queues[] | select(.doorbell_offset) | .doorbell_offset] | length == (unique | length)"

# Who may read neither debugfs nor the process gets what sysfs tells, and why no more.
setpriv --reuid 65534 --regid 65534 --clear-groups "$kfdsched" queues "$without" --json >"$work/q.json"
schema queues "$work/q.json"
value 'all(.queues[]; .type == "compute" or .type == "sdma") and all(.queues[]; .ring_address == null and .mqds == null)'
value 'all(.processes[0].source_results[] | select(.source != "sysfs"); .answered == false and .reason != null)'

"$kfdsched" queues "$without" >"$work/table"
[ "$(wc -l <"$work/table")" = "$(($(jq length <<<"$ids") + 1))" ] || fail "a row a queue"
grep -Eq " aql +- +- " "$work/table" || fail "what nobody knows is not '-': $(cat "$work/table")"
"$kfdsched" queues "$with" --addresses | grep -q "CWSR ADDRESS" || fail "no addresses"

"$kfdsched" queues "$with" --format c >"$work/ids.c"
compute=$("$kfdsched" queues "$with" --json | jq -c '[.queues[] | select(.type == "aql") | .id]')
grep -qF "uint32_t queue_ids[$(jq length <<<"$compute")] = {$(jq -r 'map(tostring) | join(", ")' <<<"$compute")};" "$work/ids.c" ||
	fail "not a ready array: $(cat "$work/ids.c")"
# It is C.
printf '#include <stdint.h>\n' | cat - "$work/ids.c" | gcc -fsyntax-only -xc - || fail "the array is no C"

# With a daemon: whether it works, and whether it is held.
start_daemon
knows_it() {
	"$kfdsched" queues "$with" --json >"$work/q.json"
	jq -e 'any(.queues[]; .type == "aql" and .suspended == false and .sources.suspended == "daemon" and
		.sources.active == "shm")' "$work/q.json" >/dev/null
}
until_true 100 knows_it || fail "the daemon knows no state: $(jq -c '.processes' "$work/q.json")"
until_true 100 says ".processes[]|select(.pid == $with)|.level == \"trap\"" || fail "not at level trap"
"$kfdsched" suspend "$with" --for 60 >/dev/null
"$kfdsched" queues "$with" --json >"$work/q.json"
schema queues "$work/q.json"
value 'all(.queues[] | select(.type == "aql"); .suspended == true)'
value 'all(.queues[] | select(.type == "sdma"); .suspended == false)'
"$kfdsched" queues "$with" | grep -q suspended || fail "the table does not say it"
"$kfdsched" resume "$with" >/dev/null

# Nobody that has queues, and nobody at all.
refused 1 "process $$ (bash): no source reports queues" "$kfdsched" queues $$
sleep 0 &
gone=$!
wait "$gone"
refused 1 "no process $gone" "$kfdsched" queues "$gone"
sleep 60 &
children+=($!)
expect 2 "$kfdsched" queues --format c
echo "ok"
