#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the exit code of kfdsim is that of its command: its own, 128 + signal, or 126 and 127 as in
# a shell if the command cannot be run.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

expect 0 "$BUILD/kfdsim" -- true
expect 7 "$BUILD/kfdsim" -- sh -c 'exit 7'
expect 7 "$BUILD/kfdsim" sh -c 'exit 7'
# shellcheck disable=SC2016
expect 143 "$BUILD/kfdsim" -- sh -c 'kill -TERM $$'
expect 127 "$BUILD/kfdsim" -- no-such-command
one_line 'no-such-command'
expect 127 "$BUILD/kfdsim" -- "$work/nothing/here"
: >"$work/plain"
expect 126 "$BUILD/kfdsim" -- "$work/plain"
one_line "$work/plain"
expect 126 "$BUILD/kfdsim" -- "$work"
# A directory of PATH that may not be searched, because another user owns it: the command is not found
# there. Root may search any directory, but not in a user namespace without its owner.
closed=/root
enter=()
if [ "$(id -u)" = 0 ]; then
	closed=$work/closed
	mkdir -m 700 "$closed"
	chown 65534 "$closed"
	enter=(unshare --user --map-root-user)
fi
PATH=$closed:$PATH expect 127 "${enter[@]}" "$BUILD/kfdsim" -- no-such-command
PATH=$closed:$PATH expect 0 "${enter[@]}" "$BUILD/kfdsim" -- true
# If the caller ignores SIGCHLD, the exit code is right all the same.
(
	trap '' CHLD
	expect 9 "$BUILD/kfdsim" -- sh -c 'exit 9'
)
expect 0 "$BUILD/kfdsim" --help
grep -q -- '--gpu' "$work/out" || fail "--help does not list the options"
