#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if a process that holds itself on command cannot keep the hold, it reports that, and the
# daemon does not hold it again and gives the reason in the status. The same applies to a process
# that does not acknowledge a hold command within 1 s. A command to release is taken as executed
# after 1 s, acknowledged or not.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

in_a_world

start_daemon
start_online

# start_gated NAME: starts a client of level gate that has work; `gated WORD` sends it a command.
start_gated() {
	mkfifo "$work/$1.words" "$work/$1.answers"
	"$BUILD/lane_client" "$KFDSHIM_SOCKET" 2 "$(gpu_id)" gate \
		<"$work/$1.words" >"$work/$1.answers" 2>>"$work/log" &
	gated=$!
	children+=("$gated")
	exec {to}>"$work/$1.words" {from}<"$work/$1.answers"
	read -r -t 60 -u "$from" answer
	[ "$answer" = ready ] || fail "lane_client: $answer"
	gated on
}
gated() {
	echo "$*" >&"$to"
	read -r -t 60 -u "$from" answer || fail "no answer to $*"
	[ "$answer" = "$1" ] || fail "lane_client: $answer"
}
reason_is() {
	says ".processes[]|select(.pid == $gated)|.level == \"observe\" and (.reason|test(\"$1\"))"
}

start_gated loser
send on
gated obey 2000
until_true 20 state_is "$gated" suspended || fail "not held on command"
gated lose 5
until_true 20 reason_is 'its hold ended early: Input/output error' ||
	fail "a lost hold is not reported: $(status | jq -c .processes)"
gated obey 2000
until_true 20 state_is "$gated" running || fail "not released"
send off
send on
sleep 0.2
state_is "$gated" running || fail "held again"
send off

start_gated careless
send on
gated obey 2000
until_true 20 state_is "$gated" suspended || fail "not held on command"
# The time is measured, because a check in the middle could come too late.
begin=${EPOCHREALTIME/./}
send off
until_true 50 state_is "$gated" running || fail "the release is not over after 1 s"
took=$(((${EPOCHREALTIME/./} - begin) / 1000))
[ "$took" -ge 1000 ] || fail "the release is over after $took ms"
gated obey 2000

start_gated deaf
send on
until_true 5 state_is "$gated" suspending || fail "no hold command within half a second: $(status | jq -c .processes)"
until_true 50 reason_is 'did not acknowledge a hold command within 1 s' ||
	fail "a client that does not acknowledge: $(status | jq -c .processes)"
