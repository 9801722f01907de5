#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a worker that dies again and again is started again, after the second
# time with a pause, and the daemon answers in the end.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

start_daemon
for _ in 1 2 3; do
	until_true 50 says .daemon.worker_pid || fail "no answer"
	pid=$(worker)
	kill -KILL "$pid"
	until_true 50 says ".daemon.worker_pid != $pid" || fail "no other worker"
done
[ "$(grep -c 'signal 9: starting another' "$work/log")" -ge 3 ] || fail "not told thrice"
grep -q 'starting another after a pause' "$work/log" || fail "no pause"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"
