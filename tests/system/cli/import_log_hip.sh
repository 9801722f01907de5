#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the packets and dispatches of each queue that kfdsched import-log counts in the log of a
# HIP process under kfdsim (with the runtimes of `root`, if that is set) are those that the simulated
# GPU executed. HIP 7 logs packets at level 5, so that is the level here.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"

printf '%s\n' op,launch_ns,start_ns,duration_ns,grid,block,bytes,name \
	memcpy_h2d,0,0,1000,,,4096, kernel,0,0,5000,132x1x1,64x1x1,, \
	kernel,0,0,5000,132x1x1,64x1x1,, memcpy_d2h,0,0,1000,,,65536, sync,0,,,,,, >"$work/short.csv"
on_gpu --report "$work/report.json" -- env AMD_LOG_LEVEL=5 AMD_LOG_LEVEL_FILE="$work/hip.log" \
	"$BUILD/kfdreplay" --trace "$work/short.csv" --api hip --requests 2 >/dev/null
# From 5.6 on, HIP appends its pid to the name of the log.
cat "$work"/hip.log* | "$kfdsched" import-log - --json >"$json"
holds "$json" '.complete' '.processes | length == 1' '.processes[0] | .pid > 0 and (.threads | length > 0)'

logged=$(jq -c '[.processes[].queues[] | select(.dispatches > 0) | [.dispatches, .dispatches + .barriers]] | sort' "$json")
ran=$(jq -c '[.processes[].queues[] | select(.type == "aql" and .dispatches > 0) | [.dispatches, .packets]] | sort' "$work/report.json")
# Not all queues are HIP's: ROCr 5 has a queue of its own, for copies by a kernel.
jq -ne --argjson logged "$logged" --argjson ran "$ran" '($logged | length > 0) and ($logged - $ran == [])' >/dev/null ||
	fail "logged [dispatches, packets]: $logged; executed: $ran"
holds "$json" '[.processes[].threads[] | .calls // 0] | add > 8' '[.processes[].queues[].ring_packets] | max >= 4096'
echo ok
