#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: without root, the same simulation runs in a user namespace, in which the command has the
# same user as outside and no capability.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# The build directory may be in a place that only root may enter.
cp "$BUILD/kfdsim" "$work/kfdsim"
chmod 755 "$work"
cd "$work"
as_user=()
if [ "$(id -u)" = 0 ]; then
	as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	chown 65534 "$work"
fi
same "$("${as_user[@]}" ./kfdsim -- id -u)" "$("${as_user[@]}" id -u)"
same "$("${as_user[@]}" ./kfdsim -- sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)" \
	0000000000000000
expect 7 "${as_user[@]}" ./kfdsim --report r.json -- sh -c \
	'test -w /dev/kfd && test -w /dev/dri/renderD128 && test -w /dev/shm && exit 7'
jq -e '.simulated and .exit_code == 7' r.json >/dev/null || fail "no report: $(cat r.json)"
expect 0 "${as_user[@]}" ./kfdsim -- rocminfo
grep -q 'Name: *gfx90a' out || fail "rocminfo shows no GPU: $(cat out)"
