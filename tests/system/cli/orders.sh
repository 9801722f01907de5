#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if no daemon replies to kfdsched suspend, resume, set, policy or events, or another program
# does, the command prints one line that says what to do and ends with 1; it never waits for ever.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# shellcheck source=tests/lib/stand_in.inc.sh
. "$SOURCE/tests/lib/stand_in.inc.sh"
export FAKE_ANSWER="cat $SOURCE/tests/system/cli/status.json"

orders=("suspend $$ --for 5" "resume $$" "set $$ online" "policy strict" "policy 7 share share=9%" events)

# each SOCKET TEXT: every command fails with this text.
each() {
	for order in "${orders[@]}"; do
		# shellcheck disable=SC2086 # words
		refused 1 "$2" timeout 30 "$kfdsched" $order --socket "$1"
	done
}

each "$work/none" "no daemon listens at $work/none: start one with 'kfdschedd'"
# Without a daemon, suspend acts itself, which is not possible without a driver.
[ -e /dev/kfd ] && none=1 || none=77
refused "$none" "/dev/kfd" "$kfdsched" suspend $$ --socket "$work/none"
expect 1 "$kfdsched" resume $$ --socket "$work/none"
said "; no 'kfdsched suspend' in this pid namespace holds process $$"
orders+=("suspend $$")
touch "$work/file"
each "$work/file" "is not a socket"
for fault in "version:not a kfdschedd of this version" "refuse:refuses this user"; do
	FAKE_FAULT=${fault%%:*} start_stand_in "$work/${fault%%:*}"
	each "$work/${fault%%:*}" "${fault#*:}"
done
# This daemon closes the connection.
start_stand_in "$work/s"
orders=("resume $$" "set $$ own" "policy observe")
each "$work/s" "has ended or closed the connection"
orders=("resume $$" events)
FAKE_FAULT=silent start_stand_in "$work/silent"
each "$work/silent" "did not reply within 2 s"

# The daemon goes away, returns, and reports that the process was resumed meanwhile: the command does
# not hold it again.
FAKE_FAULT=resumed FAKE_ANSWER="printf %s resumed" start_stand_in "$work/resumed"
expect 0 timeout 30 "$kfdsched" suspend $$ --socket "$work/resumed"
printed "resumed"
[ "$(wc -l <"$work/out")" = 2 ] || fail "it says $(cat "$work/out")"
# The same happens before the daemon has replied at all.
FAKE_FAULT=lost FAKE_ANSWER="printf %s resumed" start_stand_in "$work/lost"
expect 0 timeout 30 "$kfdsched" suspend $$ --socket "$work/lost"
printed "resumed"

# An argument that is no pid is refused without a request.
for order in "suspend" "resume" "set"; do
	# shellcheck disable=SC2046 # words
	refused 1 "process 4194304: there is no such process" "$kfdsched" $order 4194304 $([ $order != set ] || echo none) --socket "$work/none"
done

# The list of policies comes from the status.
expect 0 "$kfdsched" policy --socket "$work/s"
printed "others  strict"
printed "19729   share        10"
expect 0 "$kfdsched" policy 19729 --json --socket "$work/s"
jq -e '. == {default: {policy: "strict", share_percent: null},
	nodes: [{gpu_id: 19729, policy: "share", share_percent: 10}]}' "$work/out" >/dev/null ||
	fail "not the node's policy"
refused 1 "there is no node 4711" "$kfdsched" policy 4711 --socket "$work/s"
