#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: virtual time works without root.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# The build directory may be in a place that only root may enter.
cp "$BUILD/kfdsim" "$BUILD/libkfdsim-time.so" "$BUILD/time_sleeps" "$BUILD/time_polls" \
	"$BUILD/time_processes" "$work"
chmod 755 "$work" "$work"/*
cd "$work"
as_user=()
if [ "$(id -u)" = 0 ]; then
	as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	chown 65534 "$work"
fi
for name in sleeps polls processes; do
	expect 0 "${as_user[@]}" ./kfdsim --virtual --set host_wake_us=0 --report r.json -- \
		"./time_$name" virtual
	holds r.json '.virtual.forced == 0'
done
same "$("${as_user[@]}" ./kfdsim --virtual -- id -u)" "$("${as_user[@]}" id -u)"
