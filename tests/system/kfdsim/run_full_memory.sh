#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The world's memory is full: ENOMEM, and no SIGBUS.
set -eu
# Needs root.
[ "$(id -u)" = 0 ] || exec "$SOURCE/tests/lib/as_root.sh" bash "$0" "$@"
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

# The GPUs' memory lies in the world's /run.
expect 0 "$KFDSIM" --report "$DIR/r.json" -- sh -c 'mount -o remount,size=96M /run && exec "$0"' \
	"$BUILD/rule_full"
[ "$(wc -l <"$DIR/out")" = 4 ] || fail "$(cat "$DIR/out")"
