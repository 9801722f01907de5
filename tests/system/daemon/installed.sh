#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: what is installed is in its places, and finds itself there.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

DESTDIR=$work/root cmake --install "$BUILD" >/dev/null || fail "it cannot be installed"
installed=$(echo "$work"/root/*/*/sbin/kfdschedd)
installed=${installed%/sbin/kfdschedd}
for file in lib/libkfdshim.so lib/libkfdshim-agent.so bin/kfdreplay share/kfdshim/traces/online_resnet50_b1.csv include/kfdshim.h lib/systemd/system/kfdschedd.socket lib/sysusers.d/kfdsched.conf; do
	[ -e "$installed/$file" ] || fail "$file is not installed: $(find "$work/root")"
done
grep -q "^ExecStart=${installed#"$work/root"}/sbin/kfdschedd --foreground" \
	"$installed/lib/systemd/system/kfdschedd.service" || fail "the unit starts something else"
"$installed/bin/kfdsched" run --priority online -- true || fail "kfdsched does not find its library"
