#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: however a simulation ends, it leaves no mount, no process and no file behind.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

outside >"$work/before"
clean() {
	soon none_marked
	outside >"$work/after"
	cmp -s "$work/before" "$work/after" || fail "$1 left: $(diff "$work/before" "$work/after")"
}

# The command starts processes in sessions of their own, which ignore every signal.
family='for i in 1 2 3; do setsid sh -c "trap \"\" TERM HUP INT; sleep 600; sleep 600" & done; : >"$0/up"'

expect 0 env "$mark" "$BUILD/kfdsim" -- true
none_marked || fail "kfdsim ended before its processes: $(marked)"
clean "a command that ended well"

expect 3 env "$mark" "$BUILD/kfdsim" -- sh -c "$family; exit 3" "$work"
none_marked || fail "processes in the background outlived the simulation: $(marked)"
clean "a command with processes in the background"

expect 2 env "$mark" "$BUILD/kfdsim" --gpu nosuch -- true
expect 127 env "$mark" "$BUILD/kfdsim" -- no-such-command
clean "a command that could not be run"

rm -f "$work/up"
env "$mark" "$BUILD/kfdsim" -- sh -c "$family; exec sleep 600" "$work" >"$work/out" 2>&1 &
kfdsim=$!
soon test -e "$work/up"
# A process that is just executing another program has no environment for a moment.
six_marked() {
	[ "$(marked | wc -l)" -ge 6 ]
}
soon six_marked
kill -KILL "$kfdsim"
wait "$kfdsim" || true
clean "kfdsim killed with SIGKILL"

rm -f "$work/up" "$work/pid"
env "$mark" "$BUILD/kfdsim" -- sh -c "$family; exec sleep 678" "$work" >"$work/out" 2>&1 &
kfdsim=$!
soon test -e "$work/up"
is_command() {
	command=
	for pid in $(marked | cut -d / -f 3); do
		case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in
		"sleep 678 ") command=$pid ;;
		esac
	done
	[ -n "$command" ]
}
soon is_command
kill -KILL "$command"
status=0
wait "$kfdsim" || status=$?
same "$status" 137
none_marked || fail "processes outlived the killed command: $(marked)"
clean "a command killed with SIGKILL"
