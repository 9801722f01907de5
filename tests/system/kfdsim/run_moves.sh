#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: packets that move very many bytes (moves.c) have the right effect and report, and cost no CPU
# time when they have ended.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

mkfifo "$work/go"
"$BUILD/kfdsim" --report "$report" -- "$BUILD/moves" <"$work/go" >"$work/out" 2>"$work/err" &
kfdsim=$!
exec 3>"$work/go"

family() {
	echo "$1"
	cat /proc/"$1"/task/*/children 2>/dev/null | tr ' ' '\n' | while read -r child; do
		family "$child"
	done
}
# ticks: prints the CPU time of the simulation and its tasks, in hundredths of a second.
ticks() {
	local pid sum=0
	for pid in $(family "$kfdsim"); do
		sum=$((sum + $(sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }')))
	done
	echo "$sum"
}
ended_or_gone() {
	grep -qx ended "$work/out" || ! kill -0 "$kfdsim" 2>/dev/null
}

soon ended_or_gone
grep -qx ended "$work/out" || fail "$(cat "$work/err")"
before=$(ticks)
sleep 1
spent=$(($(ticks) - before))
[ "$spent" -lt 40 ] || fail "no packet moves bytes, but the simulation took $spent hundredths of a second"
echo >&3
exec 3>&-
wait "$kfdsim" || fail "$(cat "$work/err")"

queues 'all(.submitted == .packets + .discarded)'
queues 'any(.type == "sdma" and .packets == 8)'
queues 'any(.type == "pm4" and .packets == 3)'
queues '[.[] | select(.type == "sdma" and .discarded > 0)] | length == 4'
