#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if the first thread of a suspended process ends, the process is resumed, although the
# driver does not know that thread any more.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck disable=SC2154 # of the environment
world_options+=(--kernel "$kernel")
in_a_world

# The process has unfinished work: packets that are in its queues and have not ended.
has_work() {
	"$kfdsched" queues "$offline" --json | jq -e '[.queues[]|select(.active)]|length > 0' >/dev/null
}
has_no_work() {
	! has_work
}

start_daemon
start_online
# The first thread of the program submits without a pause.
LD_PRELOAD=$FIRST_THREAD_LIBRARY:$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" \
	--trace "$offline_trace" --closed --seconds 600 >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
comes_to_level trap '^$'
until_true 100 has_submitted "$offline" || fail "it has submitted nothing"
suspend_offline
has_work || fail "it was suspended without work"
kill -USR1 "$offline"
until_true 50 grep -q ') Z ' "/proc/$offline/stat" || fail "its first thread has not ended"
has_work || fail "its work ends while it is suspended"
send off
comes_to running "it is not resumed"
until_true 100 has_no_work || fail "the driver has not resumed it: $("$kfdsched" queues "$offline")"
kill -KILL "$offline"
until_true 50 says ".processes|all(.pid != $offline)" || fail "it has not ended"
