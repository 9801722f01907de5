#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves (held_program.sh PROGRAM [ARGUMENT]...): a program with long kernels that is offline work at
# level trap, and is suspended and resumed from beginning to end in turns of random length, has the
# same result as without that: it ends with 0. Each kernel (50 ms, MATRIX_KERNEL_MS) is longer than the
# longest turn (20 ms), so suspensions preempt kernels with any seed.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

[ $# -gt 0 ] || set -- "$BUILD/matrix_hsa" "$BUILD"
seed=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
if [ -z "${IN_A_WORLD:-}" ]; then
	# Upstream's driver shares memory only by dmabufs; ROCr 6.3 to 7.1 uses those with this setting.
	IN_A_WORLD=1 SEED=$seed MATRIX_KERNEL_MS=50 HSA_ENABLE_IPC_MODE_LEGACY=0 \
		"$BUILD/kfdsim" --gpu mi210 ${root:+--root "$root"} --report "$work/report.json" -- bash "$0" "$@"
	# Suspensions preempted kernels, and each suspend has a resume.
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
	# The client is active and idle in turns, up to 20 ms each.
	send play $((seed + part)) 20 20000
	part=$((part + 1))
done
wait "$offline" || fail "$1 ended with $?: $(tail -n 5 "$work/program")"
! grep -qE $'\tfail' "$work/program" || fail "$(grep -E $'\tfail' "$work/program")"
