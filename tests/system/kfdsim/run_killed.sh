#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if kfdsim is killed while its processes sleep in the driver, these processes end with it, also
# those in sessions of their own; until then their calls fail.
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
	wait "$kfdsim" && fail "SIG$signal did not end kfdsim"
	soon none_marked
	! grep -q answered "$work/one" "$work/two" || fail "a wait has returned"
	rm "$work/one" "$work/two"
done
