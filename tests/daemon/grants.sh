#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: one user preempts another's process with a grant only, in the direction that it
# names, from the moment that it is in force until it is not.
set -eu
# shellcheck source=tests/daemon/daemon.inc.sh
. "$SOURCE/tests/daemon/daemon.inc.sh"

ini=$work/c.ini
# grants LINE...: these are in force from now on.
grants() {
	local before
	before=$(grep -c "read again, in force" "$work/log" || true)
	printf '%s\n' '[scheduler]' 'slow_suspend = 10s' '[authority]' "$@" >"$ini"
	kill -HUP "$daemon"
	until_true 100 in_force "$before" || fail "no reload: $*"
}
in_force() {
	[ "$(grep -c "read again, in force" "$work/log" || true)" -gt "$1" ]
}

# client NAME UID PRIORITY LEVEL: a process of this user: its pid in pid[NAME].
declare -A pid in out
client() {
	local to from
	mkfifo "$work/$1.words" "$work/$1.answers"
	setpriv --reuid "$2" --clear-groups "$work/lane_client" "$KFDSHIM_SOCKET" "$3" 4711 "$4" \
		<"$work/$1.words" >"$work/$1.answers" 2>>"$work/log" &
	pid[$1]=$!
	children+=("$!")
	exec {to}>"$work/$1.words" {from}<"$work/$1.answers"
	in[$1]=$to
	out[$1]=$from
	said "$1" ready
}
said() {
	read -r -t 60 -u "${out[$1]}" answer
	[ "$answer" = "$2" ] || fail "$1: $answer"
}
say() {
	echo "$2" >&"${in[$1]}"
	said "$1" "${2%% *}"
}
# ordered NAME: it is told to hold itself, or to go on, and does.
ordered() {
	say "$1" "obey 60000"
}
free() {
	until_true 50 says ".processes[]|select(.pid == ${pid[$1]})|.state == \"running\" and .suspends == 0" ||
		fail "$1 is held: $2"
}

chmod 755 "$work"
cp "$BUILD/lane_client" "$work"
chmod 755 "$work/lane_client"
printf '[scheduler]\n' >"$ini"
daemon_options=(--config "$ini")
start_daemon
client urgent 65001 15 auto
client other 65002 9 gate
say urgent on
say other on
free other "without a grant"
grants 'grant = uid 65002 over uid 65001'
free other "by the grant of the one below"
grants 'grant = uid 65001 over uid 65003'
free other "by a grant over somebody else"
grants 'grant = uid 65001 over uid 65002'
ordered other # to hold
until_true 50 state_is "${pid[other]}" suspended || fail "not held"
grants 'grant = uid 65001 over gid 4711'
ordered other # to go on
until_true 50 state_is "${pid[other]}" running || fail "held without a grant"
# Not the other way round, with the same grant.
grants 'grant = uid 65001 over all'
ordered other
say urgent "priority 1"
ordered other
until_true 50 says "all(.processes[]; .state == \"running\")" || fail "held by one below"
until_true 50 says ".processes[]|select(.pid == ${pid[urgent]})|.suspends == 0" || fail "the grant has two ways"
