#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: --api hip plays the same trace through HIP. Every workgroup runs exactly once, also with
# copies of all kinds in between, with the shim, and up to SIGTERM. The JSON has the same keys as with
# HSA.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"

expect 2 "$BUILD/kfdreplay" --trace "$resnet" --api cuda
one_line "'cuda' is not hsa or hip"

on_gpu --report "$work/report.json" -- \
	"$BUILD/kfdreplay" --trace "$resnet" --api hip --requests 10 --count --json "$json" >/dev/null
holds "$json" '.api == "hip"' '.agent == "gfx90a"' '.requests == 10' '.count.submitted > 100000' \
	'.count.executed == .count.submitted' '.count.twice == 0' '.count.never == 0'
submitted=$(jq .count.submitted "$json")
# From version 6 on, HIP copies a few bytes by a kernel of one workgroup in the same queue.
copies=$(jq '[.kernels[] | select(.name != "kfdreplay_spin").dispatches] | add // 0' "$work/report.json")
jq -e "[.processes[].queues[].workgroups] | max | . == $submitted or . == $submitted + $copies" "$work/report.json" >/dev/null ||
	fail "not $submitted workgroups in the report: $(jq -c .processes "$work/report.json")"
jq -c 'keys' "$json" >"$work/hip.keys"
on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --requests 1 --json "$json" >/dev/null
holds "$json" '.api == "hsa"'
[ "$(jq -c keys "$json")" = "$(cat "$work/hip.keys")" ] || fail "other keys: $(cat "$work/hip.keys")"

head=op,launch_ns,start_ns,duration_ns,grid,block,bytes,name
kernel=kernel,0,0,5000,132x1x1,64x1x1,,
copies='memcpy_h2d,0,0,1000,,,4096, memcpy_d2d,0,0,1000,,,65536, memcpy_d2h,0,0,1000,,,65536,'
# shellcheck disable=SC2086 # words
printf '%s\n' $head $copies $kernel $copies $kernel $kernel memset,0,0,700,,,64, $copies \
	sync,0,,,,,, $kernel sync,0,,,,,, $copies sync,0,,,,,, >"$work/mixed.csv"
on_gpu -- env LD_PRELOAD="$BUILD/libkfdshim.so" KFDSHIM_PRIORITY=offline \
	"$BUILD/kfdreplay" --trace "$work/mixed.csv" --api hip --requests 30 --count --json "$json" >/dev/null
holds "$json" '.requests == 30' '.count.submitted == 10 * (4 * 104 + 1)' \
	'.count.executed == .count.submitted' '.count.twice == 0'

# shellcheck disable=SC2016 # for the inner shell
on_gpu -- bash -c '
	"$0" "$@" >/dev/null 2>&1 &
	# On a busy machine HIP takes many seconds to start, and has short work then.
	for busy in 1 2 3 4 5; do
		until grep -q "[1-9]" /sys/class/kfd/kfd/proc/$!/stats_*/cu_occupancy 2>/dev/null; do
			sleep 0.1
			kill -0 $! || exit 1
		done
		sleep 0.2
	done
	kill -TERM $! || exit 1
	wait $!' "$BUILD/kfdreplay" --trace "$gpt2" --api hip --closed --seconds 600 --count --json "$json" ||
	fail "ended with $? after SIGTERM"
holds "$json" '.count.twice == 0' '.count.executed <= .count.submitted' '.count.executed > 0'

expect 2 on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --api hip --device 1
one_line 'no device 1'
echo ok
