#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mix.sh [SECONDS [SEED]]: eight GPU processes at a time, with and without
# runtimes, under random kill -9, SIGSTOP, fork and exec. Nothing may hang,
# nothing may be left.
set -eu
seconds=${1:-20}
seed=${2:-1}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# Lines that stand twice come twice as often.
cat >"$dir/commands" <<-END
	$BUILD/chaos_hsa
	$BUILD/chaos_hsa
	$BUILD/chaos_forker
	$BUILD/chaos_forker
	$BUILD/kfdreplay --trace $SOURCE/traces/online_resnet50_b1.csv --requests 20 --rate 100
	$BUILD/kfdreplay --trace $SOURCE/traces/offline_gpt2m_train_8x1024.csv --closed --requests 2
	$BUILD/kfdreplay --trace $SOURCE/traces/offline_gemm4000_f32.csv --closed --requests 50 --count
END

# What the supervisor has: descriptors, and memory that is its own.
holds() {
	find "/proc/$1/fd" -mindepth 1 | wc -l
	awk '/^RssAnon/ {print $2}' "/proc/$1/status"
}

"$BUILD/kfdsim" --report "$dir/report.json" -- "$BUILD/chaos_mix" "$seconds" "$seed" 8 \
	"$dir/commands" >"$dir/out" 2>"$dir/err" &
sim=$!
trap 'kill -9 "$sim" 2>/dev/null || true; rm -rf "$dir"' EXIT
sleep $((seconds / 4))
mapfile -t early < <(holds "$sim")
sleep $((seconds / 2))
mapfile -t late < <(holds "$sim")
status=0
wait "$sim" || status=$?
cat "$dir/out"
[ "$status" = 0 ] || fail "ended with $status: $(tail -n 5 "$dir/err")"

# Descriptors belong to live processes, of which there are never more than a
# few for each of the eight; memory may grow with the report's records alone.
[ "${late[0]}" -lt $((early[0] + 100)) ] || fail "descriptors: ${early[0]}, later ${late[0]}"
[ "${late[1]}" -lt $((early[1] * 2 + 20000)) ] || fail "memory: ${early[1]} kB, later ${late[1]} kB"
[ "$(jq '.started > 8 and .done > 0 and .killed > 0 and .stopped > 0' "$dir/out")" = true ] ||
	fail "nothing much happened"
