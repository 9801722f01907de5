#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: with three queues on each of eight GPUs by ROCr, every command that reports queues counts
# 24 queues, and as many active HQDs as these queues need in all XCCs. GPU, XCCS; RUNTIMES: a root
# directory of packaging/roots.sh with a ROCr that knows this GPU; without it this machine's ROCr.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
world_options=(--gpu "$GPU" --gpus 8)
if [ -n "${RUNTIMES:-}" ] && [ -z "${IN_A_WORLD:-}" ]; then
	root=$("$SOURCE/packaging/roots.sh" "$RUNTIMES") || fail "no root folder '$RUNTIMES': packaging/roots.sh says why"
fi
in_a_world

slots=$((24 * XCCS))
# If the root has no jsonschema, the other run of this test checks the schemas.
schema_here() {
	! python3 -c "import jsonschema" 2>/dev/null || schema "$@"
}

mkfifo "$work/hold"
"$kfdsched" record -o "$work/recording" --interval 500ms --samples 100000 -- "$BUILD/matrix_queues" --hold \
	<"$work/hold" >"$work/steps" 2>"$work/words" &
recorder=$!
children+=("$recorder")
exec {hold}>"$work/hold"
made() {
	grep -q "^in hqds.pass$" "$work/steps"
}
until_true 300 made || fail "no queues: $(cat "$work/steps" "$work/words")"
# The descriptors appear a moment later.
described() {
	"$kfdsched" queues --json >"$work/queues" 2>/dev/null &&
		jq -e '[.queues[] | select(.mqds != null)] | length == 24' "$work/queues" >/dev/null
}
until_true 100 described || fail "not all queues have descriptors: $(head -c 2000 "$work/queues")"
process=$(jq '.queues[0].pid' "$work/queues")

schema_here queues "$work/queues"
holds "$work/queues" '[.queues[].id] == [range(24)]'
holds "$work/queues" "[.queues[].active_hqds] | add == $slots"
holds "$work/queues" '[.queues[].gpu_id] | group_by(.) | map(length) == [3, 3, 3, 3, 3, 3, 3, 3]'
holds "$work/queues" 'all(.queues[]; .type == "aql" and .sources.type == "mqd" and .sources.ring_bytes == "sysfs")'

"$kfdsched" verify "$process" >"$work/verify" || fail "$(cat "$work/verify")"
grep -qx "agree: sysfs and mqd report the same 24 queues" "$work/verify" || fail "$(cat "$work/verify")"
grep -Eqx "all +$XCCS +24 +$slots +$slots +1:$XCCS +0" "$work/verify" || fail "$(cat "$work/verify")"
[ "$(grep -Ecx "[0-9]+ +$XCCS +3 +$((3 * XCCS)) +$((3 * XCCS)) +1:$XCCS +0" "$work/verify")" = 8 ] ||
	fail "the table does not have each GPU: $(cat "$work/verify")"
"$kfdsched" verify "$process" --trap --json >"$work/verify.json" || fail "$(cat "$work/verify.json")"
schema_here verify "$work/verify.json"
holds "$work/verify.json" ".verdict == \"agree\" and .all.compute_queues == 24 and .all.active_hqds == $slots and .all.ratio == \"1:$XCCS\""
holds "$work/verify.json" 'all(.queues[]; .reported.trap == "yes" and .reported.mqd == "yes" and .ring_address != null)'
holds "$work/verify.json" '([.gpus[].gpu_id] | length) == 8'

"$kfdsched" monitor "$process" --seconds 200ms --interval 100ms >"$work/monitor" || fail "$(cat "$work/monitor")"
grep -q "sample 1: 24 queues (ids 0-23)$" "$work/monitor" || fail "$(cat "$work/monitor")"
"$kfdsched" top --once --json >"$work/top" || fail "top: $(cat "$work/top")"
schema_here top "$work/top"
holds "$work/top" "[.processes[] | [.queues, .active_hqds, .hqds_per_queue]] == [[24, $slots, $XCCS]]"
holds "$work/top" '[.nodes[].compute_queues] == [3, 3, 3, 3, 3, 3, 3, 3]'

# The recorder takes samples, too; then the process ends as it would without the recorder.
samples() {
	[ "$(grep -c '"phase": *"sample"' "$work/recording/index.jsonl")" -gt $((seen + 1)) ]
}
seen=$(grep -c '"phase": *"sample"' "$work/recording/index.jsonl" || true)
until_true 300 samples || fail "no samples: $(head -c 2000 "$work/recording/index.jsonl")"
exec {hold}>&-
wait "$recorder" || fail "the process failed: $(cat "$work/steps" "$work/words")"
children=()
grep -q "^shutdown.pass$" "$work/steps" || fail "the process did not end as it should: $(cat "$work/steps")"
"$kfdsched" analyze "$work/recording" --json >"$work/analyze" || fail "analyze: $(cat "$work/analyze")"
schema_here analyze "$work/analyze"
holds "$work/analyze" "[.nodes[] | [.compute_queues, .active_hqds, .hqds_per_queue.min, .hqds_per_queue.max]] ==
	[range(8) | [3, $((3 * XCCS)), $XCCS, $XCCS]]"
holds "$work/analyze" "all(.nodes[]; .by_xcc == [range($XCCS) | {xcc: ., queues: 3}])"
holds "$work/analyze" '(.processes | length) == 1 and .processes[0].queues.max == 24 and .exit_code == 0'
holds "$work/analyze" '.baseline.queues == 0 and .final.queues == 0'
holds "$work/analyze" "any(.conclusion[]; contains(\"1:$XCCS\") and contains(\"24 queues in $slots\"))"
echo ok
