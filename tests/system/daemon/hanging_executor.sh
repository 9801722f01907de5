#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if a driver call has not ended after ten seconds, its tenant loses the executor process,
# and no other tenant loses anything: the worker stays and suspends the other tenant's process
# meanwhile and afterwards, and log and status report what hangs. The session on another process of
# the first tenant ends, although the executor that had it does not end, and another executor
# process opens a new one.
set -eu
# Nothing is measured here, so the simulated GPU is slow, to leave the cores to the rest.
scale=0.02
# shellcheck source=tests/lib/stuck.inc.sh
. "$SOURCE/tests/lib/stuck.inc.sh"

killed() {
	grep -q "killing executor process [0-9]*: .*for process $mine " "$work/log"
}

start_two_tenants
start_one
another=$!
until_true 100 at "$another" trap || fail "no third process: $(status | jq -c .processes)"
says '.daemon.executors == {processes: 2, stuck: 0}' || fail "not two executor processes: $(status | jq -c .daemon)"
before=$(worker)
stuck "$mine"
suspend_and_resume "$other" "at the beginning"
wait_until_stuck
for ((n = 0; n < 60; n++)); do
	suspend_and_resume "$other" "while it hangs"
	killed && break
	sleep 0.2
done
killed || fail "the executor process is not killed"
until_true 20 is_stuck || fail "the stuck driver call has ended, so this test proves nothing"
until_true 50 says ".processes[]|select(.pid == $mine)|
	.level == \"gate\" and (.reason|test(\"its executor hangs in a driver call\"))" ||
	fail "the status does not say why: $(status | jq -c .processes)"
says '.daemon.executors.stuck == 1' || fail "not in the status: $(status | jq -c .daemon)"
at "$other" trap || fail "the other tenant has lost its session"
suspend_and_resume "$other" "afterwards"
rm "$work/stuck/$mine"
until_true 100 at "$another" trap || fail "no session on another process: $(status | jq -c .processes)"
says '.daemon.executors == {processes: 3, stuck: 1}' || fail "not by another executor: $(status | jq -c .daemon)"
suspend_and_resume "$other" "with another process of the first tenant"
unstuck
until_true 50 says '.daemon.executors.stuck == 0' || fail "the status still reports a stuck executor"
[ "$(worker)" = "$before" ] || fail "the worker was replaced"
