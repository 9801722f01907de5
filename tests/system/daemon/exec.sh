#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process that is active and begins another program without the library
# holds nobody back any more, whenever the daemon looks.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
for round in 1 2; do
	mkfifo "$work/orders"
	LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=14 "$WORKLOAD" \
		<"$work/orders" >"$work/said" 2>>"$work/log" &
	pid=$!
	children+=("$pid")
	exec {orders}>"$work/orders"
	printf 'queue\nreserve\n' >&"$orders"
	until_true 100 state_is "$offline" suspended || fail "round $round: not suspended"
	echo exec >&"$orders"
	until_true 50 grep -qx sleep "/proc/$pid/comm" || fail "round $round: no other program"
	until_true 30 state_is "$offline" running ||
		fail "round $round: held for a program that is no more: $(status | jq -c .processes)"
	says "all(.processes[]; .pid != $pid)" || fail "round $round: it is still listed"
	exec {orders}>&-
	kill "$pid"
	rm "$work/orders"
done
