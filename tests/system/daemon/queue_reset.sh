#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if a suspend ends because the driver has reset a queue that did not leave the GPU (from
# Linux 6.12 on, after 4 s), the daemon reports it, and does not suspend the process by trap again.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

world=preempt_stuck=queue
in_a_world

start_daemon
start_online
start_offline --requests 3000
send on
until_true 300 grep -q "process $offline (kfdreplay): .*the driver has reset a compute queue" "$work/log" ||
	fail "a reset is not reported: $(cat "$work/log")"
send off
# The rest of the process is held by level gate, and trap is not tried again.
comes_to_level gate 'the driver has reset a compute queue'
send on
sleep 2.5
send off
comes_to_level gate 'the driver has reset a compute queue'
[ "$(grep -c "process $offline .*level trap" "$work/log")" = 1 ] || fail "trap was tried again"
until_true 100 state_is "$offline" running || fail "the process stays held: $(status | jq -c .processes)"
