#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsim's exit code is the command's: its own, 128 + signal, or a shell's
# 126 and 127 where it could not be run.
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
# A folder of PATH that may not be searched, because it is another user's: the command is nowhere all
# the same. Root may search each, but not in a user namespace that does not have its owner.
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
# A caller that ignores SIGCHLD must not cost the exit code.
(
	trap '' CHLD
	expect 9 "$BUILD/kfdsim" -- sh -c 'exit 9'
)
expect 0 "$BUILD/kfdsim" --help
grep -q -- '--gpu' "$work/out" || fail "--help does not tell the options"
