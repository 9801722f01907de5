#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: clients that are stopped in any phase, have no descriptors left, or send packets of
# any wrong size, version or kind cost a bounded number of log lines and delay no other client.
set -eu
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

# Lines about others than the clients that every test has.
log_lines() {
	grep -cvE 'attack_newcomer|attack_online|kfdreplay' "$work/log" || true
}
# clumsy WHAT [SECONDS]: at most a line for what is wrong with each client, and those that say
# that it came and that it ended.
clumsy() {
	local before lines clients
	before=$(log_lines)
	attack "$1" clumsy "$@"
	lines=$(($(log_lines) - before))
	clients=$(sed -n 's/^\([0-9]*\) clients$/\1/p' "$work/attacker")
	echo "$1: $lines lines in the log about $clients clients"
	[ "$lines" -le $((3 * clients)) ] || problem "$1: $lines lines in the log about $clients clients"
}

begin
newcomers_must_come
clumsy packets
clumsy few
clumsy stopped 4

# A command that holds a process suspended and is stopped: it goes on to hold, and no other client is
# delayed.
"$work/attack_clumsy" "$KFDSHIM_SOCKET" obedient 2>>"$work/log" &
held=$!
children+=("$held")
until_true 100 state_is "$held" running || fail "the obedient client did not register"
"$kfdsched" suspend "$held" >/dev/null 2>>"$work/log" &
holder=$!
children+=("$holder")
until_true 100 state_is "$held" suspended || fail "the obedient client is not suspended"
kill -STOP "$holder"
start_asking
preempt 30 20
end_asking
echo "stopped holder: root's status worst $ask_worst_ms ms; preemption worst $worst_us us, $never not within 1 s"
[ "$unanswered" -eq 0 ] || problem "stopped holder: $unanswered of $asked questions were not answered within 1 s"
[ "$never" -eq 0 ] || problem "stopped holder: $never of 30 preemptions took longer than 1 s"
state_is "$held" suspended || problem "stopped holder: it does not hold any more"
kill -KILL "$holder"
until_true 100 state_is "$held" running || problem "stopped holder: its process stays suspended after its end"
kill -KILL "$held"
judge "stopped holder"
finish
