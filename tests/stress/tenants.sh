#!/bin/bash
# SPDX-License-Identifier: MIT
# tenants.sh SECONDS [EVERY [SEED]]: eight online and eight offline processes, the latter in three
# groups, work on four simulated GPUs for about SECONDS, while the daemon's worker is killed or stopped
# every EVERY seconds (10); SEED can also come from the environment. Proves: no request is lost, every
# workgroup runs once, each new worker serves all of them again, and at the end no queue is suspended.
# Reads BUILD and SOURCE.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

seconds=$1
every=${2:-10}
seed=${3:-${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}}
# The GPU is so slow that its simulation leaves time on two cores.
scale=0.04

if [ -z "${IN_A_WORLD:-}" ]; then
	IN_A_WORLD=1 "$BUILD/kfdsim" --gpu mi210 --gpus 4 --time-scale $scale \
		--report "$work/report.json" -- bash "$0" "$seconds" "$every" "$seed"
	# A queue that the end of a worker has resumed is counted as resumed.
	jq -e '[.processes[].queues[]|.suspends == .resumes]|all' "$work/report.json" >/dev/null ||
		fail "suspended at the end: $(jq -c '[.processes[].queues[]|select(.suspends != .resumes)]' "$work/report.json")"
	jq -e '[.processes[].queues[].suspends]|add > 0' "$work/report.json" >/dev/null ||
		fail "the driver has suspended nothing"
	jq -r '[.processes[].queues[]]|"queues \(length), suspended \(map(.suspends)|add) times, in their work \(map(.preempted)|add) times, kernels \(map(.dispatches)|add)"' "$work/report.json"
	exit 0
fi

RANDOM=$seed
echo "seed $seed"
start_daemon

# replay NAME DEVICE TRACE REQUESTS OPTION...: starts a process; its result is in $work/NAME.json.
names=()
declare -A pid_of requests_of
replay() {
	local name=$1 device=$2 trace=$3 requests=$4
	shift 4
	LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --device "$device" --count \
		--trace "$SOURCE/traces/$trace.csv" --requests "$requests" \
		--json "$work/$name.json" "$@" >/dev/null 2>>"$work/log" &
	pid_of[$name]=$!
	requests_of[$name]=$requests
	children+=("$!")
	names+=("$name")
}
for i in 0 1 2 3 4 5 6 7; do
	# A group has processes on several GPUs, and each GPU has processes of two groups.
	export KFDSHIM_PRIORITY=offline KFDSHIM_GROUP=group$((i % 3))
	if [ $i -lt 4 ]; then
		replay "offline$i" $i offline_gpt2m_train_8x1024 $((seconds / 10)) --closed
	else
		replay "offline$i" $((i - 4)) offline_gemm4000_f32 $((seconds * 30)) --closed
	fi
done
unset KFDSHIM_GROUP
for i in 0 1 2 3 4 5 6 7; do
	export KFDSHIM_PRIORITY=online
	if [ $i -lt 4 ]; then
		replay "online$i" $i online_resnet50_b1 $((seconds * 13 / 10)) --load 0.03 --seed "$((seed + i))"
	else
		replay "online$i" $((i - 4)) online_llama1b_decode_b1 $((seconds / 2)) --load 0.03 --seed "$((seed + i))"
	fi
done

# alive PREFIX: prints [PID,...] of the processes that still work and whose name has this prefix.
alive() {
	local name list=""
	for name in "${names[@]}"; do
		if [[ $name = "$1"* ]] && ! has_ended "${pid_of[$name]}"; then
			list+=,${pid_of[$name]}
		fi
	done
	echo "[${list#,}]"
}
# The daemon serves all processes that still work, the offline ones at level trap.
all_are_served() {
	says "($(alive o) - [.processes[].pid] == []) and
		($(alive off) - [.processes[]|select(.level == \"trap\").pid] == [])"
}
until_true 300 all_are_served || fail "not all have registered: $(status | jq -c '.processes|map([.pid, .level])')"

# worker_gets SIGNAL: signals the worker, $before, at the time $since.
worker_gets() {
	before=$(worker)
	since=${EPOCHREALTIME/./}
	[ -n "$before" ] && kill -"$1" "$before" 2>/dev/null
}

begun=$SECONDS workers=0 slowest_ms=0 slowest_adoption_ms=0
while [ "$(alive o)" != "[]" ]; do
	sleep "$every"
	signal=$([ $((RANDOM % 2)) = 0 ] && echo KILL || echo STOP)
	# The watchdog may be between two workers, if the machine was slow.
	until_true 100 worker_gets "$signal" || fail "no worker"
	until_true 100 says ".daemon.worker_pid != $before" || fail "no other worker after SIG$signal"
	came=${EPOCHREALTIME/./}
	until_true 100 all_are_served || fail "after SIG$signal not all were taken over: $(status | jq -c '.processes|map([.pid, .level])')"
	ms=$(((${EPOCHREALTIME/./} - since) / 1000))
	[ $ms -le $slowest_ms ] || slowest_ms=$ms
	ms=$(((${EPOCHREALTIME/./} - came) / 1000))
	[ $ms -le $slowest_adoption_ms ] || slowest_adoption_ms=$ms
	workers=$((workers + 1))
done
for name in "${names[@]}"; do
	wait "${pid_of[$name]}" || fail "$name ended with $?"
	jq -e '.count.submitted > 0 and .count.executed == .count.submitted and
		.count.twice == 0 and .count.never == 0' "$work/$name.json" >/dev/null ||
		fail "workgroups of $name: $(jq -c .count "$work/$name.json")"
	jq -e ".requests == ${requests_of[$name]}" "$work/$name.json" >/dev/null ||
		fail "requests of $name: $(jq .requests "$work/$name.json") of ${requests_of[$name]}"
done
[ $workers -gt 1 ] || fail "it ended too early: SECONDS is too short"
suspends=$(status | jq .totals.suspends) # without those of a killed worker's last second
echo "$((SECONDS - begun)) s, $workers workers killed or stopped, all that worked taken over" \
	"by the next $slowest_ms ms after the signal at most, $slowest_adoption_ms ms after it" \
	"answered (as polled); more than $suspends suspends;" \
	"requests online $(jq -s 'map(.requests)|add' "$work"/online*.json)," \
	"offline $(jq -s 'map(.requests)|add' "$work"/offline*.json);" \
	"workgroups $(jq -sc 'map(.count)|{executed: map(.executed)|add, twice: map(.twice)|add, never: map(.never)|add}' "$work"/*line?.json)"
