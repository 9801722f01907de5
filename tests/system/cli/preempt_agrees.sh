#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: `kfdsched preempt` reports what was done: the simulated driver counts one suspend and one
# resume for each round and for the opening of the session, and no more. If a bounce costs 20 ms,
# each reported time has that size, and each suspend and resume caused a bounce.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
export work light_trace=$SOURCE/traces/offline_gemm4000_f32.csv

# shellcheck disable=SC2016 # for the inner shell
timeout 120 "$BUILD/kfdsim" --set bounce_us=20000 --report "$work/report" -- bash -c '
	LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$light_trace" --rate 10 --seconds 600 \
		>/dev/null 2>&1 &
	p=$!
	# The queues of another process stay on the GPU, so that each resume takes them off for a moment.
	"$BUILD/kfdreplay" --trace "$light_trace" --rate 10 --seconds 600 >/dev/null 2>&1 &
	other=$!
	until [ -e /sys/class/kfd/kfd/proc/$other/queues/1 ]; do sleep 0.1; done
	# The process has both of its queues, so that each is suspended as often.
	until [ -e /sys/class/kfd/kfd/proc/$p/queues/1 ]; do sleep 0.1; done
	cp /sys/class/kfd/kfd/simulation.json "$work/before"
	"$kfdsched" preempt $p -n 8 --hold 1ms --pause 1ms --json >"$work/preempt"
	# The file is up to date after a tenth of a second, if the machine has time.
	least=$(($(jq .bounces "$work/before") + 18))
	for _ in $(seq 100); do
		cp /sys/class/kfd/kfd/simulation.json "$work/after"
		[ "$(jq .bounces "$work/after")" -lt $least ] || break
		sleep 0.1
	done
	kill $p $other' 2>"$work/err" || fail "$(cat "$work/err")"

jq -e '.succeeded == 8 and .tried == 8 and ([.opening_suspend_us, .first[], .suspend_us.min,
	.resume_us.min][] | . > 10000)' "$work/preempt" >/dev/null || fail "$(cat "$work/preempt")"
jq -e '[.processes[].queues[]|select(.type == "aql" and .suspends > 0)] | length > 0 and
	all(.[]; .suspends == 9 and .resumes == 9)' "$work/report" >/dev/null ||
	fail "$(jq -c '[.processes[].queues]' "$work/report")"
[ $(($(jq .bounces "$work/after") - $(jq .bounces "$work/before"))) -ge 18 ] || fail "there were fewer bounces"
