#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: programs that bypass the time library are named, on standard error and in the report, and
# others are not.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

# virtual COMMAND...: runs it in virtual time; its standard error is in $work/err.
virtual() {
	expect 0 "$BUILD/kfdsim" --virtual --set host_wake_us=0 --report "$report" -- "$@"
}
# while_asleep SCRIPT: a shell runs it in the background, and ends it after a virtual minute.
while_asleep() {
	virtual sh -c "$1"' sleep 60; kill $!; wait' "$program"
}
# named COMMAND PROCESSES LIBRARY CALL: the report names this program, and no other.
named() {
	jq -e --arg command "$1" --argjson processes "$2" --argjson library "$3" --argjson call "$4" \
		'[.virtual.bypasses[] | del(.pid)] == [{command: $command, processes: $processes,
			library: $library, call: $call}]' \
		"$report" >/dev/null || fail "not $*: $(jq -c .virtual "$report")"
}

program=$BUILD/time_static
# shellcheck disable=SC2016 # what follows is the inner shell's
for call in nanosleep clock_nanosleep poll futex; do
	while_asleep '"$0" '"$call &"
	named time_static 1 false "\"$call\""
	one_line "^kfdsim: time_static \(process 3\) uses this machine's clock, on which it waited in $call,"
done
# The program waits for no time, but reads the machine's clock.
virtual sh -c 'sleep 60 | "$0" read; :' "$program"
named time_static 1 false null
one_line 'time_static \(process 4\) uses this machine.s clock, because it runs without the time library'
# A program is named once, with the number of its processes, also if a process was another program before.
while_asleep '"$0" nanosleep & a=$!; (sleep 1; exec "$0" poll) & b=$!; sleep 50
	kill $a $b; sleep 1000 &'
named time_static 2 false '"nanosleep"'
one_line 'time_static \(process 3 and 1 more\)'
# It does not stop the time of the others.
virtual_time '.seconds >= 60'

# The program has the library, but bypasses it.
program=$BUILD/time_bypass
while_asleep '"$0" poll &'
named time_bypass 1 true '"poll"'
one_line '^kfdsim: time_bypass \(process 3\) waited in poll on this machine.s clock, because it called'

# Programs that use the library are not named.
virtual bash -c 'sleep 100 & read -r -t 5 <><(:); wait; timeout 5 sleep 1000; true'
[ ! -s "$work/err" ] || fail "$(cat "$work/err")"
for name in sleeps locks polls; do
	virtual "$BUILD/time_$name" virtual
	[ ! -s "$work/err" ] || fail "$name: $(cat "$work/err")"
	virtual_time '.bypasses == []'
done
