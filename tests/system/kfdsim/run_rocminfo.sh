#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The distribution's rocminfo, unmodified, finds the GPU with the profile's shape.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

# shows NAME VALUE: in the part of the GPU agent.
shows() {
	sed -n '/gfx90a/,$p' "$DIR/out" | grep -qE "^ *$1: *$2" || fail "no '$1: $2' in: $(cat "$DIR/out")"
}

expect 0 "$KFDSIM" --gpu mi210 -- rocminfo
shows Name gfx90a
shows 'Marketing Name' 'AMD Instinct MI210'
shows 'Compute Unit' 104
shows 'SIMDs per CU' 4
shows 'Shader Engines' 8
shows 'Chip ID' 29711
shows Size 67092480
expect 0 "$KFDSIM" --set simd_count=208 -- rocminfo
shows 'Compute Unit' 52
# With no GPU at all it would have failed: the simulation made the difference.
if [ ! -e /dev/kfd ]; then
	! rocminfo >"$DIR/out" 2>&1 || fail "rocminfo works without kfdsim here"
fi
