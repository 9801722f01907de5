#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: when the worker is killed while an offline process is suspended, that
# process runs again within WITHIN_MS, another worker serves it, and it loses
# no work and does none twice.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
start_online
suspend_offline
before=$(worker)
killed=$(date +%s%N)
ms=$("$BUILD/watch_queue" "$offline" "$(rptr_of "$offline")" 300 "$WITHIN_MS" "$before" 9) ||
	fail "the offline process does not run $WITHIN_MS ms after its scheduler was killed"
echo "ran again $ms ms after SIGKILL"
until_true 50 says ".daemon.worker_pid != $before and
	any(.processes[]; .pid == $offline and .level == \"trap\")" ||
	fail "no other worker took it over"
echo "and was served again within $((($(date +%s%N) - killed) / 1000000)) ms"
end_offline
