#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if LD_PRELOAD has a relative path and the program changes its directory, the agent is found.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
cd "$BUILD"
printf 'queue\nthreads\nquit\n' |
	"$BUILD/kfdsim" -- env LD_PRELOAD=./libkfdshim.so "$WORKLOAD" / |
	grep -q kfdshim || fail "no agent"
echo ok
