#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process whose suspend takes longer than slow_suspend_us (here because
# a bounce of the simulated GPU takes 40 ms) is resumed, never suspended again, and
# the status says why; it is held at level gate from then on, which suspends nothing.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
world=bounce_us=40000
in_a_world

printf '[scheduler]\nslow_suspend_us = 20000\n' >"$work/strict.ini"
daemon_options=(--config "$work/strict.ini")
start_daemon
start_online
tell on
offline_level=gate # it is held by a session first, or an attach that finds its queues does it
start_offline --seconds 600
until_true 50 says ".processes[]|select(.pid == $offline)|
	.level == \"gate\" and (.reason|test(\"^a suspend took [0-9]+ us\"))" ||
	fail "not spared: $(status | jq -c .processes)"
tell off
until_true 50 state_is "$offline" running || fail "not resumed"
[ "$(proc_status "$offline" TracerPid)" -eq 0 ] || fail "it is still traced"
sleep 2.5
says ".processes[]|select(.pid == $offline)|.level == \"gate\"" || fail "trap is tried again"
tell on
until_true 50 state_is "$offline" suspended || fail "not held by the gate"
tell off
until_true 50 state_is "$offline" running || fail "not let go by the gate"
