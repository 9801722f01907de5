#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LD_PRELOAD with a relative path, in a program that then changes its folder:
# the agent is found all the same.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
cd "$BUILD"
printf 'queue\nthreads\nquit\n' |
	"$BUILD/kfdsim" -- env LD_PRELOAD=./libkfdshim.so "$WORKLOAD" / |
	grep -q kfdshim || fail "no agent"
echo ok
