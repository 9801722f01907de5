#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# However a world ends: no mount, no process, no file stays.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

outside >"$DIR/before"
clean() {
	wait_for 20 none_marked
	outside >"$DIR/after"
	cmp -s "$DIR/before" "$DIR/after" || fail "$1 left: $(diff "$DIR/before" "$DIR/after")"
}

# Processes it started itself, in sessions of their own, ignoring everything.
family='for i in 1 2 3; do setsid sh -c "trap \"\" TERM HUP INT; sleep 600; sleep 600" & done; : >"$0/up"'

expect 0 env "$MARK" "$KFDSIM" -- true
none_marked || fail "kfdsim ended before its world: $(marked)"
clean "a command that ended well"

expect 3 env "$MARK" "$KFDSIM" -- sh -c "$family; exit 3" "$DIR"
none_marked || fail "processes in the background outlived the world: $(marked)"
clean "a command with processes in the background"

expect 2 env "$MARK" "$KFDSIM" --gpu nosuch -- true
expect 127 env "$MARK" "$KFDSIM" -- no-such-command
clean "a command that could not be run"

rm -f "$DIR/up"
env "$MARK" "$KFDSIM" -- sh -c "$family; exec sleep 600" "$DIR" >"$DIR/out" 2>&1 &
kfdsim=$!
wait_for 20 test -e "$DIR/up"
# A process that is just becoming another program shows no environment for a moment.
six_marked() {
	[ "$(marked | wc -l)" -ge 6 ]
}
wait_for 10 six_marked
kill -KILL "$kfdsim"
wait "$kfdsim" || true
clean "kfdsim killed with SIGKILL"

rm -f "$DIR/up" "$DIR/pid"
env "$MARK" "$KFDSIM" -- sh -c "$family; exec sleep 678" "$DIR" >"$DIR/out" 2>&1 &
kfdsim=$!
wait_for 20 test -e "$DIR/up"
is_command() {
	command=
	for pid in $(marked | cut -d / -f 3); do
		case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in
		"sleep 678 ") command=$pid ;;
		esac
	done
	[ -n "$command" ]
}
wait_for 20 is_command
kill -KILL "$command"
status=0
wait "$kfdsim" || status=$?
same "$status" 137
none_marked || fail "the world outlived its killed command: $(marked)"
clean "a command killed with SIGKILL"
