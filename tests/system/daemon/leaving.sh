#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a suspended process that ends in good order, destroying its queues,
# is resumed for that, although a more urgent one stays active.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
start_online
suspend_offline
kill -TERM "$offline"
# kfdreplay gives its last request a second, then destroys its queues as they are
until_true 200 has_ended "$offline" ||
	fail "it hangs in the destruction of a suspended queue"
wait "$offline" || fail "its exit code is $?"

# And by the lane alone: a call that would block is served, which takes less than a
# millisecond; here it has as long as a busy host may need.
tell leave
tell released 5000
tell left
tell released 5000
