# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Clients of several users without a GPU, each controlled by its name, and a daemon whose
# configuration changes. Includes daemon.inc.sh.

# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

ini=$work/c.ini
# reload LINE...: puts these lines into force as the configuration.
reload() {
	local before
	before=$(grep -c "reloaded, in force" "$work/log" || true)
	printf '%s\n' '[scheduler]' 'slow_suspend = 10s' "$@" >"$ini"
	kill -HUP "$daemon"
	until_true 100 in_force "$before" || fail "no reload: $*"
}
in_force() {
	[ "$(grep -c "reloaded, in force" "$work/log" || true)" -gt "$1" ]
}

# client NAME UID PRIORITY LEVEL: starts a client of this user; its pid is in pid[NAME].
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
	answers "$1" ready
}
answers() {
	read -r -t 60 -u "${out[$1]}" answer
	[ "$answer" = "$2" ] || fail "$1: $answer"
}
say() {
	echo "$2" >&"${in[$1]}"
	answers "$1" "${2%% *}"
}
# obeys NAME: the client executes the next hold command, to hold itself or to go on, as soon as it
# comes. obeyed NAME: it has done so. (A client that takes longer than a second does not obey.)
obeys() {
	echo "obey 60000" >&"${in[$1]}"
}
obeyed() {
	answers "$1" obey
}
free() {
	until_true 50 says ".processes[]|select(.pid == ${pid[$1]})|.state == \"running\" and .suspends == 0" ||
		fail "$1 is held: $2"
}

start_clients() {
	chmod 755 "$work"
	cp "$BUILD/lane_client" "$work"
	chmod 755 "$work/lane_client"
	printf '[scheduler]\n' >"$ini"
	daemon_options=(--config "$ini")
	start_daemon
}
