#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsim killed while its processes sleep in the driver: they are gone with it,
# those in sessions of their own too; until then their calls fail.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

for signal in KILL SEGV; do
	env "$MARK" "$KFDSIM" -- sh -c 'setsid "$0" >"$1/one" & "$0" >"$1/two"' "$BUILD/run_waiting" "$DIR" \
		2>"$DIR/err" &
	kfdsim=$!
	wait_for 20 grep -qs waiting "$DIR/one"
	wait_for 20 grep -qs waiting "$DIR/two"
	kill -"$signal" "$kfdsim"
	wait "$kfdsim" && fail "SIG$signal did not end it"
	wait_for 20 none_marked
	! grep -q answered "$DIR/one" "$DIR/two" || fail "a wait was answered"
	rm "$DIR/one" "$DIR/two"
done
