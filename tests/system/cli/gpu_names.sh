#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: status, policy, queues, top and doctor print the usual names of GPUs (index, marketing
# name, PCI address, render node and partition), and `policy` takes any of them. queues, monitor,
# record, analyze, compare, verify, diagnose, events and status --dump print the index, and all names
# in JSON. doctor prints what is wrong, what is the same on several GPUs once, and a summary; -v
# prints everything.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"

if [ -z "${IN_A_WORLD:-}" ]; then
	# There are eight cards, one of them in partitions: few lines, and each partition has its number.
	# shellcheck disable=SC2016 # of the world's shell
	"$BUILD/kfdsim" --gpu mi308x --gpus 8 -- sh -c '"$kfdsched" doctor >"$1"; "$kfdsched" doctor -v >"$2"
		"$kfdsched" doctor --json >"$3"; true' sh "$work/out" "$work/all" "$work/doctor.json"
	[ "$(wc -l <"$work/out")" -lt 20 ] || fail "doctor prints $(wc -l <"$work/out") lines for eight GPUs"
	printed "8 GPUs, "
	printed "(-v shows all)"
	! grep -qE "^[^ ].*  ok  " "$work/out" || fail "doctor prints what is in order"
	[ "$(grep -c "render node  *ok" "$work/all")" = 8 ] || fail "-v has not each GPU"
	schema doctor "$work/doctor.json"
	holds "$work/doctor.json" '[.gpus[].index] == [range(0; 8)]' 'all(.gpus[]; .bdf != null and .render_minor >= 128)'
fi
in_a_world

start_daemon
offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv
start_offline --seconds 600
"$kfdsched" doctor --json >"$work/doctor.json" || true
id=$(jq '.gpus[0].gpu_id' "$work/doctor.json")
bdf=$(jq -r '.gpus[0].bdf' "$work/doctor.json")
holds "$work/doctor.json" '.gpus | length == 1 and .[0].index == 0 and .[0].render_minor == 128 and .[0].partitions == 1'
[ ! -e /usr/share/libdrm/amdgpu.ids ] || holds "$work/doctor.json" '.gpus[0].product == "AMD Instinct MI210"'
for command in "status" "policy" "top --once --interval 50ms" "doctor -v"; do
	# shellcheck disable=SC2086 # words
	"$kfdsched" $command >"$work/out" || true
	printed "$bdf, renderD128, gpu_id $id"
done
expect 0 "$kfdsched" queues "$offline"
grep -qE "^.* GPU +SOURCES" "$work/out" || fail "queues has no column GPU: $(cat "$work/out")"
grep -qE " 0 +daemon" "$work/out" || fail "queues has no GPU: $(cat "$work/out")"

# has_names PATH: the GPU of that list in the JSON has all its names, and is the only one.
has_names() {
	jq -e --arg bdf "$bdf" --argjson id "$id" "[$1] | length == 1 and (.[0] | .gpu_id == \$id and
		.bdf == \$bdf and .index == 0 and .render_minor == 128 and .partitions == 1)" "$work/out" >/dev/null ||
		fail "no names at $1: $(head -c 2000 "$work/out")"
}
# has_row PATTERN: the output has such a line.
has_row() {
	grep -qE "$1" "$work/out" || fail "no line '$1': $(cat "$work/out")"
}
expect 0 "$kfdsched" queues "$offline" --json
has_names ".gpus[]"
expect 0 "$kfdsched" monitor "$offline" --seconds 100ms --interval 50ms --record "$work/recording" --json
has_names ".gpus[]"
expect 0 "$kfdsched" record -o "$work/recorded" --samples 5 --interval 300ms --json -- \
	"$BUILD/kfdreplay" --trace "$offline_trace" --closed --seconds 3
has_names ".gpus[]"
for dir in "$work/recording" "$work/recorded"; do
	expect 0 "$kfdsched" analyze "$dir" --json
	has_names ".gpus[]"
	expect 0 "$kfdsched" analyze "$dir"
	has_row "^ +[0-9]+ +0  (aql|compute) "
done
expect 0 "$kfdsched" compare "$work/recording" "$work/recorded" --json
has_names ".a.gpus[]"
has_names ".b.gpus[]"
expect 0 "$kfdsched" verify "$offline" --json
has_names ".gpus[]"
expect 0 "$kfdsched" verify "$offline"
has_row "^ +[0-9]+ +0  aql "
expect 0 "$kfdsched" diagnose "$offline" --json
has_names ".gpus[]"
expect 0 "$kfdsched" diagnose "$offline"
has_row "[0-9] aql on GPU 0, source: "
expect 0 "$kfdsched" status "$offline" --dump --json
has_names ".gpus[]"
expect 0 "$kfdsched" status "$offline" --dump
has_row "^ +0  (yes|no) "
expect 0 "$kfdsched" top --once --interval 50ms --json
has_names ".gpus[]"
"$kfdsched" suspend "$offline" --for 60 >/dev/null
"$kfdsched" resume "$offline" >/dev/null
was_suspended() {
	"$kfdsched" events --json | jq -s '[.[] | select(.kind == "suspend")][0]' >"$work/out" &&
		[ "$(cat "$work/out")" != null ]
}
until_true 100 was_suspended || fail "no event"
has_names ".gpus[]"
expect 0 "$kfdsched" events
has_row " suspended on GPU 0 "
for word in 0 gpu0 "$bdf" "${bdf#0000:}" renderD128 /dev/dri/renderD128 "$id"; do
	expect 0 "$kfdsched" policy "$word" observe
	says ".nodes[0].policy == \"observe\"" || fail "'$word' is not the GPU"
	expect 0 "$kfdsched" policy "$word" strict
done
refused 2 "" "$kfdsched" policy renderD129 observe
