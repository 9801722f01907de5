#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: when an executor process is stopped (SIGSTOP) while an offline process is suspended,
# or killed, the offline process runs within WITHIN_MS and is served by another executor
# process, and the worker is the same.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# A session of $offline is an executor's again, and it is not the one before.
served_anew() {
	says "any(.processes[]; .pid == $offline and .level == \"trap\")" &&
		[ -n "$(executor)" ] && [ "$(executor)" != "$executor" ]
}

start_daemon
start_offline --seconds 600
start_online
before=$(worker)
for signal in 19 9; do
	suspend_offline
	executor=$(executor)
	[ "$executor" != "$before" ] || fail "the worker traces it itself"
	ms=$("$BUILD/watch_queue" "$offline" "$(rptr_of "$offline")" 300 "$WITHIN_MS" "$executor" $signal) ||
		fail "the offline process does not run $WITHIN_MS ms after signal $signal of its executor"
	echo "ran again $ms ms after signal $signal"
	tell off
	until_true 100 served_anew ||
		fail "not served by another executor: $(status | jq -c .processes), tracer $(executor)"
done
grep -q "executor process [0-9]* is stopped: killing it" "$work/log" || fail "not said of the stop"
grep -q "executor process [0-9]* ended by signal 9" "$work/log" || fail "not said of the end"
[ "$(worker)" = "$before" ] || fail "the worker is another one"
end_offline
