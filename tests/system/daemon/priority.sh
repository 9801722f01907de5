#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a priority that changes while the program runs (kfdshim.h) decides from
# then on, both ways, over the link that is there, and nothing stays suspended.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
online_priority=9
start_online
suspend_offline
# The one whom others wait for changes.
for _ in 1 2 3; do
	tell priority 1
	until_true 50 state_is "$offline" running || fail "held for a lower priority"
	tell priority 9
	until_true 50 state_is "$offline" suspended || fail "not held for a higher one"
done
tell off

# A program changes its own: not to be preempted, then preempted, then not again.
mkfifo "$work/orders"
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=online "$WORKLOAD" \
	<"$work/orders" >"$work/said" 2>>"$work/log" &
pid=$!
children+=("$pid")
exec {orders}>"$work/orders"
printf 'queue\nblock\n' >&"$orders"
until_true 100 says "any(.processes[]; .pid == $pid)" || fail "no workload"
tell on
until_true 50 state_is "$offline" suspended || fail "not suspended"
state_is "$pid" running || fail "the highest priority is suspended"
for _ in 1 2 3; do
	echo priority 2 >&"$orders"
	until_true 50 state_is "$pid" suspended || fail "not suspended: $(status | jq -c .processes)"
	echo priority 15 >&"$orders"
	until_true 50 state_is "$pid" running || fail "suspended at the highest priority"
done
[ "$(grep -c "process $pid .* came" "$work/log")" -eq 1 ] || fail "it came more than once"
tell off
printf 'finish\ndestroy\nquit\n' >&"$orders"
wait "$pid" || fail "the workload ended with $?"
[ "$(grep -c '^ok$' "$work/said") $(grep -c '^0$' "$work/said")" = "3 6" ] || fail "it said: $(cat "$work/said")"
end_offline
says '.totals.suspends == .totals.resumes' || fail "suspends and resumes differ"
