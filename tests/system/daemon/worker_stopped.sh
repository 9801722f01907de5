#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: when the worker is stopped (SIGSTOP) while an offline process is
# suspended, the watchdog kills it, the process runs again within WITHIN_MS, another
# worker serves it, and it loses no work and does none twice.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
start_online
suspend_offline
before=$(worker)
ms=$("$BUILD/watch_queue" "$offline" "$(rptr_of "$offline")" 300 "$WITHIN_MS" "$before" 19) ||
	fail "the offline process does not run $WITHIN_MS ms after its scheduler was stopped"
echo "ran again $ms ms after SIGSTOP"
grep -q "is stopped: killing it" "$work/log" || fail "the watchdog did not say why"
until_true 50 says ".daemon.worker_pid != $before and
	any(.processes[]; .pid == $offline and .level == \"trap\")" ||
	fail "no other worker took it over"
end_offline
