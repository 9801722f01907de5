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
# A caller that ignores SIGCHLD must not cost the exit code.
(
	trap '' CHLD
	expect 9 "$BUILD/kfdsim" -- sh -c 'exit 9'
)
expect 0 "$BUILD/kfdsim" --help
grep -q -- '--gpu' "$work/out" || fail "--help does not tell the options"
