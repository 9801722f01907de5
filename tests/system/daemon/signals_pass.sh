#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process at level trap still gets its signals: job control stops and continues it,
# suspended or not, and SIGTERM ends it normally, with the destruction of its queues, while a more
# urgent process is active.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

process_state() {
	[ "$(sed 's/.*) //;s/ .*//' "/proc/$offline/stat")" = "$1" ]
}

start_daemon
start_offline --seconds 600
start_online
for word in on off on; do
	send "$word"
	kill -STOP "$offline"
	until_true 100 process_state t || fail "SIGSTOP did not stop the process"
	sleep 0.2
	process_state t || fail "the process does not stay stopped"
	kill -CONT "$offline"
	until_true 100 eval '! process_state t' || fail "SIGCONT did not continue the process"
done
until_true 100 state_is "$offline" suspended || fail "not suspended"
send off
"$BUILD/watch_queue" "$offline" "$(rptr_of "$offline")" 0 10000 >/dev/null || fail "the queue does not advance"
kill -TERM "$offline"
send random 3 200 2000
send on
wait "$offline" || fail "its exit code is $?"
jq -e ".count.executed > 0 and .count.twice == 0" "$work/offline.json" >/dev/null || fail "the result of the process is wrong"
