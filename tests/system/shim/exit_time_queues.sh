#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if destructors of libraries still use their queues when a program ends, the program ends in
# the same way with the library preloaded as without, at once, in each order.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
in_a_world

export XDG_RUNTIME_DIR=$work KFDSHIM_SOCKET=$work/no-daemon
chmod 700 "$work"

# outcome COMMAND...: prints the exit code and the output.
outcome() {
	local status=0 said
	said=$(timeout 20 "$@" 2>&1) || status=$?
	echo "$status $said"
}

for order in early late thread; do
	bare=$(outcome "$LAST_WORDS" $order "$DESTROYER")
	echo "$order: $bare"
	[[ $bare == "0 destroyed "* ]] || fail "$order: without the library it ends with $bare"
	for level in auto self gate weight; do
		ours=$(KFDSHIM_PRIORITY=offline KFDSHIM_LEVEL=$level outcome env \
			LD_PRELOAD="$BUILD/libkfdshim.so" "$LAST_WORDS" $order "$DESTROYER")
		[ "$ours" = "$bare" ] || fail "$order, level $level: it ends with $ours, without the library with $bare"
	done
done
