#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: an offline process that is suspended and resumed a thousand times at
# random executes every workgroup once.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600 # until it is told
start_online
tell cycle 1 1000 1000
says '.totals.suspends >= 1000 and .totals.failures == 0' ||
	fail "not a thousand: $(status | jq -c '.totals|{suspends, resumes, failures}')"
kill -TERM "$offline"
wait "$offline" || true
counts_are_right
says '.totals.suspends == .totals.resumes' || fail "suspends and resumes differ"
