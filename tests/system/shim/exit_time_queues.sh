#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program ends, and destructors of its libraries still use their queues: with the
# library preloaded it comes to what it comes to without, at once, in each order.
set -eu

if [ -z "${IN_A_WORLD:-}" ]; then
	IN_A_WORLD=1 exec "$BUILD/kfdsim" ${root:+--root "$root"} -- bash "$0"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work KFDSHIM_SOCKET=$work/no-daemon
chmod 700 "$work"

# How it ends, and what it says.
ends() {
	local status=0 said
	said=$(timeout 20 "$@" 2>&1) || status=$?
	echo "$status $said"
}

for order in early late thread; do
	bare=$(ends "$LAST_WORDS" $order "$DESTROYER")
	echo "$order: $bare"
	case $bare in
	"0 destroyed "*) ;;
	*)
		echo "FAILED: $order: without the library it ends with $bare" >&2
		exit 1
		;;
	esac
	for level in auto self gate weight; do
		ours=$(KFDSHIM_PRIORITY=offline KFDSHIM_LEVEL=$level ends env \
			LD_PRELOAD="$BUILD/libkfdshim.so" "$LAST_WORDS" $order "$DESTROYER")
		[ "$ours" = "$bare" ] || {
			echo "FAILED: $order, level $level: it ends with $ours, without us with $bare" >&2
			exit 1
		}
	done
done
