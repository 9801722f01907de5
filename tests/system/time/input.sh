#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: while a simulation waits for its standard input, its time stands still and it uses hardly any
# CPU time; then it goes on.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

mkfifo "$work/in"
cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' \
		"/proc/$1/stat"
}

"$BUILD/kfdsim" --virtual --set host_wake_us=0 --report "$report" -- \
	"$BUILD/time_spins" virtual reads <"$work/in" >"$work/out" &
pid=$!
exec 5>"$work/in"
soon grep -q waits "$work/out"
before=$(cpu_ms $pid)
sleep 4
used=$(($(cpu_ms $pid) - before))
printf x >&5
exec 5>&-
wait $pid || fail "$? $(cat "$work/out")"
virtual_time '.seconds == 2 and .waits > 0 and .forced == 0'
[ "$used" -lt 100 ] || fail "the simulation used $used ms of CPU in 4 s"
echo "$used ms of CPU in 4 s"
