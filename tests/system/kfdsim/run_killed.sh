#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsim killed while its processes sleep in the driver: they are gone with it,
# those in sessions of their own too; until then their calls fail.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

for signal in KILL SEGV; do
	env "$mark" "$BUILD/kfdsim" -- sh -c 'setsid "$0" >"$1/one" & "$0" >"$1/two"' "$BUILD/run_waiting" "$work" \
		2>"$work/err" &
	kfdsim=$!
	soon grep -qs waiting "$work/one"
	soon grep -qs waiting "$work/two"
	kill -"$signal" "$kfdsim"
	wait "$kfdsim" && fail "SIG$signal did not end it"
	soon none_marked
	! grep -q answered "$work/one" "$work/two" || fail "a wait was answered"
	rm "$work/one" "$work/two"
done
