#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched warns of what is dangerous on a real GPU in the help and, first, on stderr of
# preempt, suspend, verify --trap and monitor --source trap. On a real GPU preempt asks on its
# terminal, and without a terminal it requires --yes. If the daemon has a session open already, there
# is no warning. (A copy of sysfs without simulation.json plays the real GPU.)
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

danger="a busy runtime has crashed when"
for verb in preempt suspend verify monitor; do
	"$kfdsched" help $verb | tr -s ' \n' ' ' | grep -qF "$danger a debug session was opened" || fail "not in the help of $verb"
done
load=(--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 5 --seconds 600)
LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
target=$!
children+=("$target")
until_true 300 test -e "/sys/class/kfd/kfd/proc/$target/queues/1" || fail "no queues"
# warns COMMAND...: the first line on stderr is the warning.
warns() {
	expect "@(0|1|77)" timeout 60 "$kfdsched" "$@"
	head -n 1 "$work/err" | grep -qF "process $target: on a real GPU $danger" || fail "$*: $(cat "$work/err")"
}
preempt=(preempt "$target" -n 1 --hold 1ms --pause 1ms)
warns "${preempt[@]}"
warns verify "$target" --trap
warns monitor "$target" --source trap --seconds 0.1 --interval 0.1
"$kfdsched" suspend "$target" >"$work/suspended" 2>"$work/err" &
held=$!
children+=("$held")
until_true 100 test -s "$work/suspended" || fail "not suspended: $(cat "$work/err")"
kill -INT "$held"
wait "$held" || fail "suspend ended with $?"
head -n 1 "$work/err" | grep -qF "$danger" || fail "suspend: $(cat "$work/err")"

mkdir "$work/kfd"
cp -rL /sys/class/kfd/kfd "$work/kfd/" 2>/dev/null || true
rm "$work/kfd/kfd/simulation.json"
# real COMMAND...: runs it where the GPU looks like a real one.
real() {
	# shellcheck disable=SC2016 # expanded in there
	unshare -m bash -c 'mount --bind "$1" /sys/class/kfd && shift && "$@"' real "$work/kfd" "$@"
}
expect 2 real "$kfdsched" "${preempt[@]}" </dev/null
one_line ""
said "$danger a debug session was opened: confirm with --yes that process $target may be lost"
expect 0 real "$kfdsched" "${preempt[@]}" --yes </dev/null
printed "1/1 successes"
answers() {
	echo "$1" | real script -qec "$kfdsched ${preempt[*]}" /dev/null >"$work/out" 2>"$work/err"
}
answers n && fail "preempt goes on after 'n': $(cat "$work/out")"
printed "$danger"
printed "continue? [y/N]"
! grep -q successes "$work/out" || fail "preempt has suspended the process after 'n'"
answers y || fail "after 'y' preempt ends with $?: $(cat "$work/out")"
printed "1/1 successes"

start_daemon
start_work() {
	LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
	children+=("$!")
	target=$!
}
start_work
until_true 100 says "any(.processes[]; .pid == $target and .level == \"trap\")" || fail "the daemon does not list it at level trap"
expect 0 real "$kfdsched" preempt "$target" -n 1 --hold 1ms --pause 1ms </dev/null
[ ! -s "$work/err" ] || fail "by the daemon: $(cat "$work/err")"
