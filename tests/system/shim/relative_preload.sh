#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LD_PRELOAD with a relative path, in a program that then changes its folder:
# the agent is found all the same.
set -eu
cd "$BUILD"
printf 'queue\nthreads\nquit\n' |
	"$BUILD/kfdsim" -- env LD_PRELOAD=./libkfdshim.so "$WORKLOAD" / |
	grep -q kfdshim || { echo "FAILED: no agent" >&2; exit 1; }
echo ok
