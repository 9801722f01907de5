#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, with artificial recordings (a server with 24 queues in 96 hardware slots, and a model that
# uses one): kfdsched analyze and compare print the expected text, their JSON keeps to its schema,
# and the picture is XML. A recording that is missing, empty, cut off, garbage, of another version,
# a link, a pipe or enormous gets one sentence, or its bad parts are left out, with a message.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# recording DIR QUEUES NODES HQDS SAMPLES [CHANGE]: QUEUES spread over nodes 1001 and so on;
# CHANGE, a filter, is applied to each sample as "." with its number as $n.
recording() {
	mkdir "$work/$1"
	jq -nc --argjson queues "$2" --argjson nodes "$3" --argjson hqds "$4" --argjson samples "$5" '
		def value(v): {v: v};
		{kfdsched_recording: 1, made_by: "record", pid: null, comm: null,
		 command: ["serve", "--model", "x"], interval_us: 1000000, sources: ["sysfs", "mqd", "hqd"],
		 gpu_processes: [{pid: 7, comm: "chat", role: "online"}, {pid: 8, comm: "shell", role: null}],
		 nodes: [range($nodes) | {gpu_id: (1001 + .), node: (. + 1), gfx_target_version: 90402, xccs: $hqds,
			compute_slots: 24, sdma_engines: 2, xgmi_engines: 0, sdma_queues: 8}]},
		{sample: 1, phase: "baseline", seconds: 0, processes: [], mqds: null, hqds: null},
		(range($samples) as $n | {sample: ($n + 2), phase: "sample", seconds: ($n + 1),
			processes: [{pid: (4000 + $queues + $samples), host_pid: null, started_ticks: 5, comm: "serve", source: "sysfs",
				unknown: null, queues: [range($queues) | {id: ., context: 0, gpu_id: (1001 + . % $nodes),
					type: "aql", ring_bytes: 65536, queue_priority: 7, mqds: $hqds, active_hqds: $hqds,
					hqd_xcc_mask: (pow(2; $hqds) - 1), sources: {type: "mqd", ring_bytes: "sysfs", queue_priority: "mqd", mqds: "mqd",
						active_hqds: "hqd", hqd_xcc_mask: "hqd"}}]}],
			mqds: null, hqds: null} | '"${6:-.}"'),
		{sample: 99, phase: "final", seconds: ($samples + 1), processes: [], mqds: null, hqds: null},
		{end: {reason: "done", exit_code: 0, signal: null,
			gpu_processes: [{pid: 7, comm: "chat", role: "online"}, {pid: 9, comm: "train", role: "offline"}]}, samples: ($samples + 2)}' >"$work/$1/index.jsonl"
}

cd "$work"
recording server 24 8 4 5
recording model 1 1 4 5
recording again 24 8 4 3
# Much work waits in the two queues of one recording, and hardly any in those of the other.
for side in "busy 40 20" "calm 1 0"; do
	read -r name first second <<<"$side"
	recording "$name" 2 1 1 4 ".processes[0].queues[] |= (.sources.backlog_bytes = \"memory\" |
		.backlog_bytes = 64 * (if \$n == 0 then 0 elif .id == 0 then $first else $second end))"
done
# Queue 3 ends and another one begins; queue 0 changes.
recording moving 4 2 1 4 'if $n >= 2 then .processes[0].queues[3].id = 9 | .processes[0].queues[0].queue_priority = 11 else . end'

for name in server moving; do
	expect 0 "$kfdsched" analyze "$name" --svg "$work/$name.svg"
	diff -u "$SOURCE/tests/system/cli/analyze_$name.golden" "$work/out" || fail "the text of $name is not the expected one"
	python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$work/$name.svg" || fail "no XML"
done
expect 0 "$kfdsched" analyze server --json
schema analyze "$work/out"
jq -e '.complete and .samples == 5 and .exit_code == 0 and (.processes | length) == 1 and
	(.processes[0] | .stable and .queues.max == 24) and (.nodes | length) == 8 and
	([.nodes[].active_hqds] | add) == 96 and all(.nodes[]; .hqds_per_queue == {min: 4, max: 4} and
		.by_xcc == [range(4) | {xcc: ., queues: 3}])' \
	"$work/out" >/dev/null || fail "not a server of 24 queues in 96 slots"
expect 0 "$kfdsched" analyze moving --json
schema analyze "$work/out"
jq -e '.processes[0] | .verdict == "changing" and .changed_samples == 1 and
	(.attributes | map(select(.changed == ["queue_priority"]) | .queue.id)) == [0] and
	(.presence | map(select(.id == 3 or .id == 9) | .present_ratio)) == [0.5, 0.5]' "$work/out" >/dev/null ||
	fail "the changes are wrong"

expect 0 "$kfdsched" compare server model
diff -u "$SOURCE/tests/system/cli/compare.golden" "$work/out" || fail "the text of compare is not the expected one"
expect 0 "$kfdsched" compare server again --json
schema compare "$work/out"
jq -e '.ids_predictable and .common == 24 and .only_a + .only_b + .differing == 0 and .shared_nodes == 8' \
	"$work/out" >/dev/null || fail "two runs with the same ids are not the same"
jq -e '.a.exit_code == 0 and .a.signal == null' "$work/out" >/dev/null || fail "the end of the command is wrong"
refused 2 "both sides are recordings" "$kfdsched" compare server again --interval 1
expect 0 "$kfdsched" compare again moving --json
jq -e '.ids_predictable == false' "$work/out" >/dev/null || fail "changing ids are called predictable"

# The names of GPUs are those of the recorded machine: the index in text, all of them in JSON.
mkdir named
jq -c 'if .nodes then .nodes |= [to_entries[] | .value + {index: (7 - .key), bdf: "0000:0\(.key):00.0",
	render_minor: (128 + .key), product: "A GPU", compute_partition: null, partition: 0, partitions: 1}] else . end' \
	server/index.jsonl >named/index.jsonl
expect 0 "$kfdsched" analyze named
grep -qE "^ +0 +7  aql" "$work/out" || fail "queue 0 is not on GPU 7: $(cat "$work/out")"
printed "On GPU 7 and 7 more"
expect 0 "$kfdsched" analyze named --json
schema analyze "$work/out"
holds "$work/out" '[.gpus[] | [.gpu_id, .index, .bdf]][0] == [1001, 7, "0000:00:00.0"]' '.nodes[0].gpu_id == 1001'
expect 0 "$kfdsched" compare named server
grep -qE "both +7 aql +100.0 % +\[1001\] aql" "$work/out" || fail "each side does not have its own names: $(cat "$work/out")"
expect 0 "$kfdsched" compare named server --json
schema compare "$work/out"
holds "$work/out" '(.a.gpus | length) == 8 and .b.gpus == []'

expect 0 "$kfdsched" compare calm busy
printed "More work waited in process 4006 (serve) of B than in process 4006 (serve) of A: packets in 75.0 % of the samples against 75.0 %, 60.0 against 1.0 at the median (60.0 times as many), 60 against 1 at most."
grep -Eq '^ +all +all +all +\[1001\] +75.0 % +1.0 +1 +\[1001\] +75.0 % +60.0 +60$' "$work/out" || fail "no row of the GPU"
grep -Eq '^ +1 +0 +1 +\[1001\] +0.0 % +0.0 +0 +\[1001\] +75.0 % +20.0 +20$' "$work/out" || fail "no row of queue 1"
expect 0 "$kfdsched" compare calm busy --json
schema compare "$work/out"
jq -e '.a.processes[0].backlog == {samples: 4, waiting_ratio: 0.75, median_packets: 1, max_packets: 1} and
	.nodes[0].b_backlog.max_packets == 60 and (.queues[1] | .a_backlog.waiting_ratio == 0 and .b_backlog.median_packets == 20)' \
	"$work/out" >/dev/null || fail "the backlog is wrong"
expect 0 "$kfdsched" compare server busy --json
schema compare "$work/out"
jq -e '.a.processes[0].backlog == null and .nodes[1].a_backlog == null and .queues[0].a_backlog == null' \
	"$work/out" >/dev/null || fail "an unknown backlog is not null"

# These are not recordings.
for verb in analyze "compare server"; do
	# shellcheck disable=SC2086 # a verb and what stands before the folder
	for name in missing nothing garbage version link fifo; do
		case $name in
		nothing) mkdir -p nothing ;;
		garbage) mkdir -p garbage && head -c 300000 /dev/urandom >garbage/index.jsonl ;;
		version) mkdir -p version && echo '{"kfdsched_recording": 2}' >version/index.jsonl ;;
		link) mkdir -p link && ln -sf "$work/server/index.jsonl" link/index.jsonl ;;
		fifo) mkdir -p fifo && { [ -p fifo/index.jsonl ] || mkfifo fifo/index.jsonl; } ;;
		esac
		refused 1 "" "$kfdsched" $verb $name
	done
	# shellcheck disable=SC2086
	expect 1 "$kfdsched" $verb version
	said "version 2, and this kfdsched reads version 1"
done
expect 1 "$kfdsched" analyze link
said "a link, which is not followed"

# A recording that is cut off anywhere is readable up to there.
for bytes in 700 5000 20000; do
	rm -rf cut && mkdir cut
	head -c "$bytes" server/index.jsonl >cut/index.jsonl
	expect "[01]" "$kfdsched" analyze cut
	[ -s "$work/out" ] || one_line ""
done
mkdir damaged
{
	# An invalid entry, a name with a terminal sequence, and an unknown role.
	head -n 1 server/index.jsonl |
		jq -c '.gpu_processes = [3, {pid: -1}, {pid: 5, comm: "\u001b[2Jy", role: "king"}]'
	sed -n 2,3p server/index.jsonl
	head -c 1000 /dev/urandom | tr -d '\n'
	echo
	# Numbers that are too large, and numbers that are none.
	sed -n 4p server/index.jsonl | jq -c '.processes[0].queues[0].gpu_id = 99999999999999'
	sed -n 4p server/index.jsonl | jq -c '.processes[0].pid = -1'
	sed -n 4p server/index.jsonl | jq -c '.seconds = 1e300 | .mqds = "../../../../etc/passwd"'
	sed -n 4p server/index.jsonl | jq -c '.processes[0] |= (.comm = "\u001b[2Jx" | .queues = [range(3000) as $n |
		.queues[0] | .id = $n * 2])'
} >damaged/index.jsonl
expect 0 "$kfdsched" analyze damaged --svg "$work/damaged.svg" --json
jq -e '.damaged_lines == 3 and (.complete | not) and .samples == 3 and
	.gpu_processes == {begin: [{pid: 5, comm: "?[2Jy", role: null}], end: null}' "$work/out" >/dev/null || fail "the damaged lines are not counted"
python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$work/damaged.svg" || fail "no XML"
expect 0 "$kfdsched" analyze damaged
if grep -q "$(printf '\033')" "$work/out"; then fail "an escape sequence reaches the terminal"; fi
printed "3 lines could not be read"
