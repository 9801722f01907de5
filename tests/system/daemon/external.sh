#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process without the shim gets a priority by `kfdsched set`, and is suspended for an
# online process like any other. If the worker is stopped (SIGSTOP) meanwhile, the steps of the
# process go on within 2 s, a signal that it gets is handled within 2 s, and the next worker knows
# its priority.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

start_daemon
start_online
start_target --seconds 600
says ".processes|all(.pid != $target)" || fail "it is listed before it was tagged"
must_tag "$target" offline
until_true 50 about "$target" '.level == "trap" and .shim == false and .priority == 2 and
	.runtime == "enabled" and .active and (.queues|length) > 0 and .reason == ""' ||
	fail "no session on it: $(status | jq -c .processes)"
"$kfdsched" status | grep -Eq "^ *$target +kfdreplay +no +2 .* trap " ||
	fail "the table: $("$kfdsched" status)"
"$kfdsched" queues "$target" --json | jq -e '.queues|length > 0' >/dev/null || fail "no queues"

# The watchdog kills a stopped worker after half a second, so a late check finds it ended.
is_stopped() {
	grep -q '^State:.T' "/proc/$before/status" 2>/dev/null || has_ended "$before"
}
send on
until_true 50 state_is "$target" suspended || fail "not suspended"
before=$(worker)
# By the rules of this kernel the process is also traced, and its signals wait for the tracer.
traced=$(tracer_of "$target")
"$BUILD/watch_queue" "$target" "$(cat "$work/seen.queue")" 300 2000 "$before" 19 >"$work/moved" &
watching=$!
until_true 100 is_stopped || fail "the worker is not stopped"
start=${EPOCHREALTIME/./}
kill -USR1 "$target"
until_true 30 test -e "$work/seen.usr1" || fail "SIGUSR1 is lost"
took=$(((${EPOCHREALTIME/./} - start) / 1000))
[ "$took" -le 2000 ] || fail "SIGUSR1 was handled after $took ms" # the bound that is promised
wait "$watching" || fail "the process does not run 2 s after the worker was stopped"
echo "ran again $(cat "$work/moved") ms after SIGSTOP, SIGUSR1 handled after $took ms, traced: $traced"
grep -q "is stopped; killing it" "$work/log" || fail "the watchdog did not say why"

until_true 50 says ".daemon.worker_pid != $before" || fail "no other worker"
until_true 50 about "$target" '.level == "trap" and .shim == false' ||
	fail "the next worker has lost the tag: $(status | jq -c .processes)"
kill -INT "$target"
wait "$target" || fail "it ended with $?"
counts_are_right
until_true 50 says '.processes == []' || fail "a process that has ended is listed"
