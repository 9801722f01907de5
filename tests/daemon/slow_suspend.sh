#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process whose suspend takes longer than slow_suspend_us (here because
# a bounce of the simulated GPU takes 200 ms) is resumed, never suspended again,
# and the status says why.
set -eu
# shellcheck source=tests/daemon/daemon.inc.sh
. "$SOURCE/tests/daemon/daemon.inc.sh"
world=bounce_us=200000
in_a_world

daemon_options=()
start_daemon
start_offline --seconds 60
start_online
tell on
until_true 50 says ".processes[]|select(.pid == $offline)|.suspends == 1 and
	.level == \"observe\" and (.reason|test(\"^a suspend took [0-9]+ us\"))" ||
	fail "not spared: $(status | jq -c .processes)"
tell off
until_true 50 state_is "$offline" running || fail "not resumed"
tell random 1 20 100000
says ".processes[]|select(.pid == $offline)|.suspends == 1 and .resumes == 1" ||
	fail "suspended again"
