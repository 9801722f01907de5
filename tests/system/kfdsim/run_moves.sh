#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Packets that move very many bytes: moves.c, the report of it, and what they cost
# when they have ended.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

mkfifo "$DIR/go"
"$KFDSIM" --report "$DIR/r.json" -- "$BUILD/moves" <"$DIR/go" >"$DIR/out" 2>"$DIR/err" &
kfdsim=$!
exec 3>"$DIR/go"

family() {
	echo "$1"
	cat /proc/"$1"/task/*/children 2>/dev/null | tr ' ' '\n' | while read -r child; do
		family "$child"
	done
}
# CPU time of the world and its tasks, in hundredths of a second.
ticks() {
	local pid sum=0
	for pid in $(family "$kfdsim"); do
		sum=$((sum + $(sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }')))
	done
	echo "$sum"
}
ended_or_gone() {
	grep -qx ended "$DIR/out" || ! kill -0 "$kfdsim" 2>/dev/null
}

wait_for 90 ended_or_gone
grep -qx ended "$DIR/out" || fail "$(cat "$DIR/err")"
before=$(ticks)
sleep 1
spent=$(($(ticks) - before))
[ "$spent" -lt 40 ] || fail "nothing moves, and it took $spent hundredths of a second"
echo >&3
exec 3>&-
wait "$kfdsim" || fail "$(cat "$DIR/err")"

# holds FILTER: of the list of all queues.
holds() {
	jq -e "[.processes[].queues[]] | $1" "$DIR/r.json" >/dev/null ||
		fail "not so: $1; the queues: $(jq -c '.processes[].queues[]' "$DIR/r.json")"
}
holds 'all(.submitted == .packets + .discarded)'
holds 'any(.type == "sdma" and .packets == 8)'
holds 'any(.type == "pm4" and .packets == 3)'
holds '[.[] | select(.type == "sdma" and .discarded > 0)] | length == 4'
