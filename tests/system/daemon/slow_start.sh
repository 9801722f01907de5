#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a worker that takes 2 s to start, as on a busy machine, is not killed as one that hangs,
# neither the first one nor one that follows.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

LD_PRELOAD=$SLOW_START${LD_PRELOAD:+:$LD_PRELOAD} start_daemon
until_true 100 says '.daemon.worker_pid > 0' || fail "the first worker does not serve"
says '.daemon.uptime_us >= 2000000' || fail "the start was not delayed: $(status | jq -c .daemon)"
first=$(worker)
kill -KILL "$first"
until_true 100 says ".daemon.worker_pid > 0 and .daemon.worker_pid != $first" ||
	fail "the second worker does not serve"
says '.daemon.worker_restarts == 1' || fail "more than one restart: $(status | jq -c .daemon)"
! grep -q "hangs; killing it" "$work/log" || fail "a worker that starts was killed"
