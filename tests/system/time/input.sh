#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: while a simulation waits for its standard input, its time stands still, and it only wakes
# some 60 times a second to check that; then it goes on.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

mkfifo "$work/in"
# wakes PID: prints how often its threads have slept. A busy machine makes it less, not more.
wakes() {
	cat /proc/"$1"/task/*/status | awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }'
}
# cpu_ms PID: prints its CPU time. A loop without a sleep uses all of a core.
cpu_ms() {
	cat /proc/"$1"/task/*/schedstat | awk '{ ns += $1 } END { print int(ns / 1000000) }'
}

"$BUILD/kfdsim" --virtual --set host_wake_us=0 --report "$report" -- \
	"$BUILD/time_spins" virtual reads <"$work/in" >"$work/out" &
pid=$!
exec 5>"$work/in"
soon grep -q waits "$work/out"
before=$(wakes $pid) cpu_before=$(cpu_ms $pid)
sleep 4
woken=$(($(wakes $pid) - before)) used=$(($(cpu_ms $pid) - cpu_before))
printf x >&5
exec 5>&-
wait $pid || fail "$? $(cat "$work/out")"
virtual_time '.seconds == 2 and .waits > 0 and .forced == 0'
((woken > 0 && woken < 400)) || fail "the simulation woke $woken times in 4 s"
[ "$used" -lt 2000 ] || fail "the simulation used $used ms of CPU in 4 s"
echo "woken $woken times, $used ms of CPU in 4 s"
