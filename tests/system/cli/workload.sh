#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched workload runs each preset on a GPU, with the shim if a priority is given; its JSON
# is that of kfdreplay. With --all-gpus a process runs on each GPU, and with a priority these
# processes are one group.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

for preset in gemm cnn transformer llm-decode; do
	"$BUILD/kfdsim" --gpu mi210 -- "$kfdsched" workload "$preset" --seconds 2 --json >"$work/$preset" 2>"$work/err" &
	children+=("$!")
	pids="${pids:-} $!"
done
for pid in $pids; do
	wait "$pid" || fail "a workload failed: $(cat "$work/err")"
done
children=()
for preset in gemm cnn transformer llm-decode; do
	schema workload "$work/$preset"
done
mode() {
	jq -r '"\(.mode) \(.trace) \(.simulated)"' "$work/$1"
}
[ "$(mode gemm)" = "closed offline_gemm4000_f32 true" ] || fail "gemm: $(mode gemm)"
[ "$(mode cnn)" = "open online_resnet50_b1 true" ] || fail "cnn: $(mode cnn)"
[ "$(mode transformer)" = "closed offline_gpt2m_train_8x1024 true" ] || fail "transformer: $(mode transformer)"
[ "$(mode llm-decode)" = "closed online_llama1b_decode_b1 true" ] || fail "llm-decode: $(mode llm-decode)"
jq -e '.requests > 0' "$work/gemm" >/dev/null || fail "gemm has executed nothing"

# With a priority the workload has the shim and keeps its pid, so that other commands find it.
# shellcheck disable=SC2016 # of the world's shell
expect 0 "$BUILD/kfdsim" --gpu mi210 -- bash -c '
	"$1" workload transformer --seconds 30 --priority offline >/dev/null 2>&1 &
	for _ in $(seq 100); do
		! "$1" queues $! --json 2>/dev/null | jq -es ".[0].queues[0].sources.ring_bytes == \"shm\"" >/dev/null || exit 0
		sleep 0.1
	done
	exit 1' - "$kfdsched"

# With --all-gpus there is a process on each GPU, and a result of each.
expect 0 "$BUILD/kfdsim" --gpu mi210 --gpus 3 -- "$kfdsched" workload gemm --all-gpus --seconds 2 --json
schema workload-all-gpus "$work/out"
holds "$work/out" '[.gpus[].index] == [0, 1, 2]' 'all(.gpus[].result; .requests > 0 and .trace == "offline_gemm4000_f32")' \
	'[.gpus[].gpu_id] | unique | length == 3'
# With a priority they are one group. On SIGTERM they leave their results.
# shellcheck disable=SC2016 # of the world's shell
expect 0 env KFDSHIM_SOCKET="$work/socket" "$BUILD/kfdsim" --gpu mi210 --gpus 2 -- bash -c '
	"$2" --foreground --socket "$KFDSHIM_SOCKET" 2>/dev/null &
	"$1" workload transformer --all-gpus --seconds 300 --priority offline >"$3" 2>/dev/null &
	workload=$! grouped=1
	for _ in $(seq 300); do
		! "$1" status --json 2>/dev/null | jq -es ".[0].processes as \$p | (\$p | length) == 2 and
			(\$p[0].group | test(\"^workload-\")) and \$p[0].group == \$p[1].group and
			([\$p[].queues[] | select(.type == \"aql\").gpu_id] | unique | length) == 2" >/dev/null || { grouped=0; break; }
		sleep 0.1
	done
	"$1" status --json | jq -c "[.processes[] | [.group, .nodes]]" >&2
	kill -TERM "$workload"
	wait "$workload" && exit "$grouped"' - "$kfdsched" "$BUILD/kfdschedd" "$work/table"
grep -qE "^ +1 +[0-9]+ " "$work/table" || fail "no row of GPU 1: $(cat "$work/table") $(cat "$work/err")"

refused 2 "" "$kfdsched" workload
expect 2 "$kfdsched" workload bert
said "'bert' is not a valid workload: gemm, cnn, transformer or llm-decode"
expect 2 "$kfdsched" workload gemm --seconds -1
expect 2 "$kfdsched" workload gemm --priority fast
expect 2 "$kfdsched" workload gemm --all-gpus --device 1
said "exclude each other"
# A machine without a GPU says so.
expect 77 "$kfdsched" workload gemm
expect 77 "$kfdsched" workload gemm --all-gpus
