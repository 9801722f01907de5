#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The world's memory is full: ENOMEM, and no SIGBUS.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
as_root "$@"

# The GPUs' memory lies in the world's /run.
expect 0 "$BUILD/kfdsim" --report "$work/r.json" -- sh -c 'mount -o remount,size=96M /run && exec "$0"' \
	"$BUILD/rule_full"
[ "$(wc -l <"$work/out")" = 4 ] || fail "$(cat "$work/out")"
