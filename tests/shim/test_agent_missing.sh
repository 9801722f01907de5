#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# On a (simulated) GPU, without its agent: the workload works, and with
# KFDSHIM_LOG=error one line says why nothing is scheduled. KFDSHIM_DISABLE=1
# says nothing at all.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$BUILD/libkfdshim.so" "$work"
printf 'queue\nblock\nthreads\nfinish\ndestroy\nquit\n' >"$work/orders"

# workload LIBRARY VARIABLE...: leaves $work/{out,err}.
workload() {
	local lib=$1
	shift
	"$BUILD/kfdsim" -- env LD_PRELOAD="$lib" "$@" "$WORKLOAD" \
		<"$work/orders" >"$work/out" 2>"$work/err"
	# A runtime built with its checks on counts its own leaked signals.
	sed -i '/SharedSignalPool/d' "$work/err"
}

# says N: that many lines on stderr, and the workload did what it was told.
says() {
	if [ "$(wc -l <"$work/err")" != "$1" ]; then
		echo "FAILED: expected $1 lines, got:" >&2
		cat "$work/err" >&2
		exit 1
	fi
	if [ "$(grep -c '^ok$' "$work/out")" != 3 ] || grep -q kfdshim "$work/out"; then
		echo "FAILED: the workload said:" >&2
		cat "$work/out" >&2
		exit 1
	fi
}

workload "$work/libkfdshim.so" KFDSHIM_LOG=error
says 1
grep -q 'kfdshim: nothing is scheduled in this process.*libkfdshim-agent.so' "$work/err" ||
	{ echo "FAILED: unclear: $(cat "$work/err")" >&2; exit 1; }
workload "$work/libkfdshim.so" KFDSHIM_LOG=off
says 0
workload "$work/libkfdshim.so" KFDSHIM_PRIORITY=online
says 0
workload "$BUILD/libkfdshim.so" KFDSHIM_DISABLE=1 KFDSHIM_LOG=debug
says 0
echo ok
