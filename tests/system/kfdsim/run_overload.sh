#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: a GPU that is faster than this machine can simulate loses time, which the report shows, but
# no work.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

replay=("$BUILD/kfdreplay" --trace "$SOURCE/traces/offline_gpt2m_train_8x1024.csv"
	--closed --count --requests 1)
# shellcheck disable=SC2016 # of the shell in the world
expect 0 "$BUILD/kfdsim" --time-scale 100 --report "$work/r.json" -- \
	sh -c '"$@" & "$@"; first=$?; wait $! && exit $first' sh "${replay[@]}"
[ "$(grep -c ' 0 twice, 0 never' "$work/out")" = 2 ] || fail "not every workgroup once: $(cat "$work/out")"
jq -e '.lost_ns > 0' "$work/r.json" >/dev/null || fail "the GPU is a hundred times as fast, but no time is lost"

expect 0 "$BUILD/kfdsim" --time-scale 0.01 --report "$work/r.json" -- true
jq -e '.lost_ns == 0' "$work/r.json" >/dev/null || fail "time is lost where there is nothing to do"
