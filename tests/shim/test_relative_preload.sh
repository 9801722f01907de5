#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LD_PRELOAD with a relative path, in a program that then changes its folder:
# the agent is found all the same.
set -eu
cd "$BUILD"
# The agent's thread gives itself its name when it first runs.
{
	printf 'queue\n'
	sleep 0.5
	printf 'threads\nquit\n'
} |
	"$BUILD/kfdsim" -- env LD_PRELOAD=./libkfdshim.so "$WORKLOAD" / |
	grep -q kfdshim || { echo "FAILED: no agent" >&2; exit 1; }
echo ok
