#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: on SIGTERM the daemon resumes what it has suspended within WITHIN_MS, detaches from it,
# removes its socket and ends with 0.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
start_online
suspend_offline
[ "$(proc_status "$offline" TracerPid)" -ne 0 ] || fail "the process is not traced"
ms=$("$BUILD/watch_queue" "$offline" "$(rptr_of "$offline")" 300 "$WITHIN_MS" "$daemon" 15) ||
	fail "not resumed"
echo "ran again $ms ms after SIGTERM of the daemon"
wait "$daemon" || fail "the daemon's exit code is $?"
[ ! -e "$KFDSHIM_SOCKET" ] || fail "the socket file remains"
[ "$(proc_status "$offline" TracerPid)" -eq 0 ] || fail "the process is still traced"
grep -q worker "$work/log" && fail "the worker did not end by itself"
end_offline
