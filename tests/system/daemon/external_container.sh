#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the daemon outside takes in a process without the shim that is in a PID namespace of its
# own, by either of its pids, and suspends and resumes it like any other. A daemon in a PID
# namespace of its own takes in no process, because the driver's list has other pids; the reply
# says so and what to do, also to a caller outside.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

# start_in COMMAND...: COMMAND starts the latecomer; $starter is the pid of COMMAND.
start_in() {
	start_latecomer "$@" "$LATECOMER" none 2
	starter=$late_pid
}

# The process is in a container and the daemon outside. Another PID namespace is another tenant.
printf '[authority]\ngrant = all over all\n' >>"$work/patient.ini"
start_daemon
start_online
start_in unshare --pid --fork --mount-proc --kill-child
target=$(grep -lsx "PPid:[[:space:]]*$starter" /proc/[0-9]*/status | cut -d / -f 3)
must_tag "$target" 3
until_true 50 about "$target" '.shim == false and .priority == 3 and .level == "trap"' ||
	fail "no session on it: $(status | jq -c .processes)"
nsenter --target "$target" --pid --mount "$kfdsched" set 1 4 >"$work/answer" 2>&1 ||
	fail "requested from within: $(cat "$work/answer")"
about "$target" '.priority == 4' || fail "1 in there is not $target: $(status | jq -c .processes)"
send on
until_true 50 state_is "$target" suspended || fail "not suspended"
send off
until_true 50 state_is "$target" running || fail "not resumed"
late work
exec {late_words}>&- {late_answers}<&-
wait "$starter" || fail "it ended with $?"
kill -KILL "$online"
exec {words}>&- {answers}<&-
kill -TERM "$daemon"
wait "$daemon" || fail "the daemon ended with $?"

# The daemon is in a container with a process beside it, and another process is outside.
before=$(times_listening)
unshare --pid --fork --mount-proc --kill-child "$BUILD/kfdschedd" --foreground \
	--socket "$KFDSHIM_SOCKET" 2>>"$work/log" &
children+=("$!")
until_true 50 listens_since "$before" || fail "no socket"
daemon=$(grep -lsx "PPid:[[:space:]]*$!" /proc/[0-9]*/status | cut -d / -f 3)
inside=(nsenter --target "$daemon" --pid --mount)
start_in "${inside[@]}"
# Of all pids there, this is the one of the latecomer.
number=$("${inside[@]}" sh -c 'grep -lsx "Name:[[:space:]]*latecomer" /proc/[0-9]*/status' | cut -d / -f 3)
code=0
"${inside[@]}" "$kfdsched" set "$number" 2 >"$work/out" 2>"$work/answer" || code=$?
[ "$code $(wc -l <"$work/answer")" = "1 1" ] || fail "in a container: $code, $(cat "$work/answer")"
grep -q "the driver .*its pid.*: kfdschedd is in another PID namespace.* run it on the host" "$work/answer" ||
	fail "in a container: $(cat "$work/answer")"
must_refuse $$ 2 "the requesting process is not in kfdschedd's pid namespace: .* run kfdschedd on the host"
"${inside[@]}" "$kfdsched" status --json | jq -e '.processes == []' >/dev/null ||
	fail "a process was taken in"
late work
