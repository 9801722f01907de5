#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsim ends with its command: it does not wait for what that left running,
# and the end of an orphan is not the command's.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

start=$SECONDS
expect 4 env "$mark" "$BUILD/kfdsim" -- sh -c 'setsid sleep 600 & exit 4'
[ $((SECONDS - start)) -lt 10 ] || fail "it took $((SECONDS - start)) s"
none_marked || fail "still there: $(marked)"
expect 6 "$BUILD/kfdsim" -- sh -c '(setsid sh -c "exit 1" &); sleep 0.5; exit 6'
