#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsim's exit code is the command's: its own, 128 + signal, or a shell's
# 126 and 127 where it could not be run.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

expect 0 "$KFDSIM" -- true
expect 7 "$KFDSIM" -- sh -c 'exit 7'
expect 7 "$KFDSIM" sh -c 'exit 7'
# shellcheck disable=SC2016
expect 143 "$KFDSIM" -- sh -c 'kill -TERM $$'
expect 127 "$KFDSIM" -- no-such-command
said 'no-such-command'
expect 127 "$KFDSIM" -- "$DIR/nothing/here"
: >"$DIR/plain"
expect 126 "$KFDSIM" -- "$DIR/plain"
said "$DIR/plain"
expect 126 "$KFDSIM" -- "$DIR"
# A caller that ignores SIGCHLD must not cost the exit code.
(
	trap '' CHLD
	expect 9 "$KFDSIM" -- sh -c 'exit 9'
)
expect 0 "$KFDSIM" --help
grep -q -- '--gpu' "$DIR/out" || fail "--help does not tell the options"
