#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: who holds itself back by order and cannot stay held says so, and is left
# alone from then on, with the reason in the status; so is who does not obey an order
# to hold itself within 1 s. An order to run is over after 1 s, obeyed or not.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

in_a_world

start_daemon
start_online

# start_gated NAME: a client of level gate, with work, told by `gated NAME WORD`.
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
until_true 20 state_is "$gated" suspended || fail "not held by order"
gated lose 5
until_true 20 reason_is 'its hold ended early: Input/output error' ||
	fail "a lost hold is not told: $(status | jq -c .processes)"
gated obey 2000
until_true 20 state_is "$gated" running || fail "not released"
send off
send on
sleep 0.2
state_is "$gated" running || fail "ordered again"
send off

start_gated careless
send on
gated obey 2000
until_true 20 state_is "$gated" suspended || fail "not held by order"
# Measured, for a look in the middle may come late.
begin=${EPOCHREALTIME/./}
send off
until_true 50 state_is "$gated" running || fail "an order to run is not over after 1 s"
took=$(((${EPOCHREALTIME/./} - begin) / 1000))
[ "$took" -ge 1000 ] || fail "an order to run is over after $took ms"
gated obey 2000

start_gated deaf
send on
until_true 5 state_is "$gated" suspending || fail "no order within half a second: $(status | jq -c .processes)"
until_true 50 reason_is 'did not acknowledge a hold command within 1 s' ||
	fail "a deaf client: $(status | jq -c .processes)"
