#!/bin/bash
# SPDX-License-Identifier: MIT
# held_program.sh PROGRAM [ARGUMENT]...: a program whose kernels take long (unknown_kernel_us =
# 3000, so that suspensions meet them) is offline work at level trap, suspended at random from its
# beginning to its end, and does what it does without that: it ends with 0.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

[ $# -gt 0 ] || set -- "$BUILD/matrix_hsa" "$BUILD"
seed=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
if [ -z "${IN_A_WORLD:-}" ]; then
	IN_A_WORLD=1 SEED=$seed "$BUILD/kfdsim" --gpu mi210 --set unknown_kernel_us=3000 ${root:+--root "$root"} \
		--report "$work/report.json" -- bash "$0" "$@"
	# What the suspensions met, and that each is undone.
	holds "$work/report.json" '[.processes[].queues[].preempted] | add > 0' \
		'[.processes[].queues[] | .suspends - .resumes] | all(. >= 0 and . <= 1)'
	exit 0
fi

start_daemon
start_online
echo "seed $seed"
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline KFDSHIM_LEVEL=trap "$@" >"$work/program" 2>>"$work/log" &
offline=$!
children+=("$offline")
part=0
while ! has_ended "$offline"; do
	# On and off in turns, up to 20 ms each.
	tell play $((seed + part)) 20 20000
	part=$((part + 1))
done
wait "$offline" || fail "$1 ended with $?: $(tail -n 5 "$work/program")"
! grep -qE $'\tfail' "$work/program" || fail "$(grep -E $'\tfail' "$work/program")"
