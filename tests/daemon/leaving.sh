#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a suspended process that ends in good order, destroying its queues,
# is resumed for that, although a more urgent one stays active.
set -eu
# shellcheck source=tests/daemon/daemon.inc.sh
. "$SOURCE/tests/daemon/daemon.inc.sh"
in_a_world

start_daemon
start_offline --requests 10
start_online
# At each of many moments: it finishes its work, and goes while the other one
# has just begun.
tell random 5 300 4000
tell on
tell off
wait "$offline" || fail "its exit code is $?"
counts_are_right

# And by the lane alone: a call that would block is served within 10 ms.
tell leave
tell released 1000
tell left
