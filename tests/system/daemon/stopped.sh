#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: when an executor process, or the worker, is stopped (SIGSTOP) while an offline process
# is suspended, the watchdog kills it, the offline process runs again within WITHIN_MS, another
# executor or worker serves it, and it loses no work and does none twice.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# stop executor|worker: stops the process, and checks that the offline process runs again.
stop() {
	local ms
	suspend_offline
	before=$("$1")
	ms=$("$BUILD/watch_queue" "$offline" "$(rptr_of "$offline")" 300 "$WITHIN_MS" "$before" 19) ||
		fail "the offline process does not run $WITHIN_MS ms after its $1 was stopped"
	echo "ran again $ms ms after SIGSTOP of the $1"
	grep -q "$before is stopped; killing it" "$work/log" || fail "the watchdog did not say why"
}
# is_served: another executor than before serves the process, and not the worker itself.
is_served() {
	says "any(.processes[]; .pid == $offline and .level == \"trap\")" &&
		[ -n "$(executor)" ] && [ "$(executor)" != "$before" ] && [ "$(executor)" != "$(worker)" ]
}

start_daemon
start_offline --seconds 600
start_online
first=$(worker)
stop executor
send off
until_true 100 is_served || fail "not served by another executor: $(status | jq -c .processes)"
[ "$(worker)" = "$first" ] || fail "the worker was replaced"
stop worker
until_true 50 says ".daemon.worker_pid != $before" || fail "no other worker"
until_true 50 is_served || fail "no other worker took it over: $(status | jq -c .processes)"
end_offline
