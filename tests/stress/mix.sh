#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves (mix.sh [SECONDS [SEED]]): with eight GPU processes at a time, with HSA, HIP and no runtime,
# under random kill -9, SIGSTOP, fork and exec, nothing hangs, nothing is left behind, and every packet
# is accounted for.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

seconds=${1:-20}
seed=${2:-${SEED:-1}}
echo "seed $seed"
warm_up=$((seconds / 5 < 30 ? seconds / 5 + 2 : 30))
slack_kb=${SLACK_KB:-4096} # more where a sanitizer keeps memory of its own

# A command with two lines is drawn twice as often.
cat >"$work/commands" <<-END
	$BUILD/chaos_hsa
	$BUILD/chaos_hsa
	$BUILD/chaos_hip $BUILD
	$BUILD/chaos_hip $BUILD
	$BUILD/chaos_forker
	$BUILD/chaos_forker
	$BUILD/kfdreplay --trace $SOURCE/traces/online_resnet50_b1.csv --requests 20 --rate 100
	$BUILD/kfdreplay --trace $SOURCE/traces/offline_gpt2m_train_8x1024.csv --closed --requests 2
	$BUILD/kfdreplay --trace $SOURCE/traces/offline_gemm4000_f32.csv --closed --requests 50 --count
END

# The simulation has a round that fills every cache and table, silence, the round that counts, and
# silence. In each silence no GPU process exists, and this script measures what kfdsim holds: "quiet1"
# and "quiet2" announce a silence, "seen1" and "seen2" end it.
cat >"$work/world" <<-'END'
	set -eu
	silence() {
		# The driver drops the last process, which is chaos_mix, and then its memory.
		blocks=""
		until [ -z "$(ls /sys/class/kfd/kfd/proc)" ] && [ "$blocks" = "$(stat -f -c '%b %f' /dev/kfd)" ]; do
			blocks=$(stat -f -c '%b %f' /dev/kfd)
			sleep 0.3
		done
		echo "$blocks" >"$work/blocks$1"
		touch "$work/quiet$1"
		while [ ! -e "$work/seen$1" ]; do sleep 0.1; done
	}
	"$BUILD/chaos_mix" "$warm_up" "$((seed + 1))" 8 "$work/commands" >"$work/first"
	silence 1
	"$BUILD/chaos_mix" "$seconds" "$seed" 8 "$work/commands" >"$work/out"
	silence 2
END

# measure N: waits for silence N, then sets $descriptors and $memory (kB, its own) of kfdsim, and
# $blocks of the file system in which the simulated memory is.
measure() {
	local all free last=-1 same=0
	while [ ! -e "$work/quiet$1" ]; do
		kill -0 "$sim" 2>/dev/null || return 0 # its exit status is checked later
		sleep 0.2
	done
	# kfdsim closes the descriptors of the last processes a moment later.
	for _ in $(seq 30); do
		sleep 0.3
		descriptors=$(find "/proc/$sim/fd" -mindepth 1 | wc -l)
		same=$((descriptors == last ? same + 1 : 0))
		[ $same -lt 3 ] || break
		last=$descriptors
	done
	memory=$(awk '/^RssAnon/ {print $2}' "/proc/$sim/status")
	read -r all free <"$work/blocks$1"
	blocks=$((all - free))
	touch "$work/seen$1"
}

export work seconds seed warm_up
"$BUILD/kfdsim" --report "$work/report.json" -- sh "$work/world" 2>"$work/err" &
sim=$!
children+=("$sim")
measure 1
early=("${descriptors:-}" "${memory:-}" "${blocks:-}")
measure 2
status=0
wait "$sim" || status=$?
cat "$work/first" "$work/out" 2>/dev/null || true
[ "$status" = 0 ] || fail "ended with $status: $(head -n 40 "$work/err")"
echo "descriptors ${early[0]}, then $descriptors; memory ${early[1]} kB, then $memory kB;" \
	"blocks ${early[2]}, then $blocks"

# Memory may grow only with the records of the report, which are kept to the end.
records=$(($(stat -c %s "$work/report.json") / 1024))
[ "$descriptors" = "${early[0]}" ] || fail "descriptors are left"
[ "$memory" -lt $((early[1] + 4 * records + slack_kb)) ] || fail "memory is left ($records kB of records)"
[ "$blocks" -le $((early[2] + 16)) ] || fail "simulated memory is left"

[ "$(jq '.started > 8 and .done > 0 and .killed > 0 and .stopped > 0' "$work/out")" = true ] ||
	fail "too little happened"
report() {
	jq "$@" "$work/report.json"
}
unbalanced=$(report '[.processes[].queues[] | select(.submitted != .packets + .discarded)] | length')
[ "$unbalanced" = 0 ] || fail "$unbalanced queues whose packets do not add up"
report -c '[.processes[].queues[]] | {queues: length, submitted: (map(.submitted) | add),
	executed: (map(.packets) | add), discarded: (map(.discarded) | add)}'
[ "$(report '[.processes[].queues[].submitted] | add > 0')" = true ] || fail "nothing was submitted"
# The old runtime calls ioctls of AMD's own driver, from 128 on. Other unknown ioctls would be missing
# in kfdsim; an unknown ioctl never succeeds (kfdconform checks that).
[ "$(report '.unknown_ioctls | all(.type == "K" and .nr >= 128)')" = true ] ||
	fail "unknown ioctls: $(report -c .unknown_ioctls)"
