#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if the memory of the simulation is full, calls fail with ENOMEM, and no process gets SIGBUS.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
as_root "$@"

# The memory of the GPUs is a file in /run of the simulation.
expect 0 "$BUILD/kfdsim" --report "$work/r.json" -- sh -c 'mount -o remount,size=96M /run && exec "$0"' \
	"$BUILD/rule_full"
[ "$(wc -l <"$work/out")" = 4 ] || fail "$(cat "$work/out")"
