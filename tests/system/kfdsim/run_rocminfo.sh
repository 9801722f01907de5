#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the distribution's rocminfo, unmodified, finds the GPU with the properties of the profile.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# agent NAME VALUE: the part of the GPU agent has this value.
agent() {
	sed -n '/gfx90a/,$p' "$work/out" | grep -qE "^ *$1: *$2" || fail "no '$1: $2' in: $(cat "$work/out")"
}

expect 0 "$BUILD/kfdsim" --gpu mi210 -- rocminfo
agent Name gfx90a
agent 'Marketing Name' 'AMD Instinct MI210'
agent 'Compute Unit' 104
agent 'SIMDs per CU' 4
agent 'Shader Engines' 8
agent 'Chip ID' 29711
agent Size 67092480
expect 0 "$BUILD/kfdsim" --set simd_count=208 -- rocminfo
agent 'Compute Unit' 52
# Without a GPU rocminfo fails, so the simulation made the difference.
if [ ! -e /dev/kfd ]; then
	! rocminfo >"$work/out" 2>&1 || fail "rocminfo works without kfdsim here"
fi
