#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a driver call that has not ended after ten seconds costs its own tenant the
# executor process, and no other tenant anything: the worker is the same, suspends the other
# tenant's process meanwhile and afterwards, and log and status say what hangs. The session on
# another process of the first tenant is ended, although the process that had it does not end,
# and it has a session again, by another executor process.
set -eu
# Nothing here is measured, so the simulated GPU is slow, and the machine has time.
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
until_true 20 is_stuck || fail "the stuck driver call has ended: nothing is shown"
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
until_true 50 says '.daemon.executors.stuck == 0' || fail "still said to be stuck"
[ "$(worker)" = "$before" ] || fail "the worker is another one"
