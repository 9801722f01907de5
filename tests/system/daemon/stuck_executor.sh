#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: while a driver call on one tenant's process cannot be killed, and the worker is killed,
# the suspended process of another tenant runs again, and the next worker suspends it by a debug
# session. The stuck process is held at a lower level, and at level trap again when its driver call
# has ended.
set -eu
# shellcheck source=tests/lib/stuck.inc.sh
. "$SOURCE/tests/lib/stuck.inc.sh"

start_two_tenants
send on
until_true 50 state_is "$mine" suspended || fail "not suspended"
until_true 50 state_is "$other" suspended || fail "the other tenant is not suspended"
stuck "$mine"
send off # its resume waits
until_true 50 state_is "$other" running || fail "not resumed"
wait_until_stuck
send on
until_true 50 state_is "$other" suspended || fail "not suspended again"
before=$(worker)
ms=$("$BUILD/watch_queue" "$other" "$(rptr_of "$other")" 300 1000 "$before" 9) ||
	fail "the other tenant's process does not run a second after the worker was killed"
echo "the other tenant ran again $ms ms after SIGKILL of the worker"
until_true 20 is_stuck || fail "the stuck driver call has ended, so this test proves nothing"
until_true 100 says ".daemon.worker_pid != $before" || fail "no other worker"
until_true 100 at "$other" trap || fail "no session on the other: $(status | jq -c .processes)"
another_online
send on
until_true 50 state_is "$other" suspended || fail "the next worker does not suspend the other tenant"
send off
until_true 50 state_is "$other" running || fail "not resumed by the next worker"
at "$mine" trap && fail "the process has a second session before its first one has ended"
until_true 20 is_stuck || fail "the stuck driver call has ended, so this test proves nothing"
says '.daemon.executors.stuck == 1' || fail "not in the status: $(status | jq -c .daemon)"

unstuck
until_true 400 at "$mine" trap || fail "no session after the end: $(status | jq -c .processes)"
until_true 50 says '.daemon.executors.stuck == 0' || fail "the status still reports a stuck executor"
send on
until_true 50 state_is "$mine" suspended || fail "not suspended after the end"
send off
until_true 50 state_is "$mine" running || fail "not resumed after the end"
