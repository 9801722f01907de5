#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: on a GPU that allows one debug session, the first process has it, and the others are held
# at level gate with the reason. If its owner has no work, the session goes to a process that has,
# and if its owner ends, to the next. No work is lost. A priority that a program sets for itself
# takes effect at once.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

world_options=(--gpu mi100)
in_a_world

# level_of PID LEVEL REASON (a regular expression)
level_of() {
	until_true 80 says ".processes[]|select(.pid == $1)|.level == \"$2\" and (.reason|test(\"$3\"))" ||
		fail "$1 not at level $2 because '$3': $(status | jq -c '.processes[]|{pid, level, active, reason}')"
}

start_daemon
# This process works only when it gets a command.
mkfifo "$work/orders"
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$WORKLOAD" \
	<"$work/orders" >"$work/said" 2>>"$work/log" &
first=$!
children+=("$first")
exec {orders}>"$work/orders"
printf 'queue\nblock\n' >&"$orders"
level_of "$first" trap '^$'

offline_level=gate
start_offline --seconds 600
second=$offline
level_of "$second" gate "busy: its GPU debugs another process.; process $first has the session"
start_online
send on
for pid in "$first" "$second"; do
	until_true 50 state_is "$pid" suspended || fail "$pid is not held: $(status | jq -c .processes)"
done
send off
until_true 50 state_is "$first" running || fail "not released"
sleep 1.5
says ".processes[]|select(.pid == $first)|.level == \"trap\"" || fail "the session was taken from a process that has work"

echo finish >&"$orders"
level_of "$second" trap '^$'
level_of "$first" gate "the one debug session of its GPU was given to process $second"
suspend_offline
send off
echo block >&"$orders"
sleep 1.5
says ".processes[]|select(.pid == $second)|.level == \"trap\"" || fail "the session was taken from a process that has work"
kill -INT "$second"
wait "$second" || true
counts_are_right
level_of "$first" trap '^$'
send on
until_true 50 state_is "$first" suspended || fail "not held at trap"
# A priority that the program sets by kfdshim.h takes effect, too.
echo priority 15 >&"$orders"
until_true 50 state_is "$first" running || fail "held at the highest priority"
echo priority 2 >&"$orders"
until_true 50 state_is "$first" suspended || fail "not held at a lower priority again"
send off
printf 'finish\ndestroy\nquit\n' >&"$orders"
wait "$first" || fail "the workload ended with $?"
says '.totals.failures == 0' || fail "failures: $(status | jq -c .totals)"
