#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the installed files are in their places, and the programs find each other there.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

DESTDIR=$work/root cmake --install "$BUILD" >/dev/null || fail "it cannot be installed"
installed=$(echo "$work"/root/*/*/sbin/kfdschedd)
installed=${installed%/sbin/kfdschedd}
for file in lib/libkfdshim.so lib/libkfdshim-agent.so lib/liburcu-bp.so.8 bin/kfdreplay share/kfdshim/traces/online_resnet50_b1.csv include/kfdshim.h lib/systemd/system/kfdschedd.socket lib/sysusers.d/kfdsched.conf; do
	[ -e "$installed/$file" ] || fail "$file is not installed: $(find "$work/root")"
done
grep -q "^ExecStart=${installed#"$work/root"}/sbin/kfdschedd --foreground" \
	"$installed/lib/systemd/system/kfdschedd.service" || fail "the unit starts something else"
"$installed/bin/kfdsched" run --priority online -- true || fail "kfdsched does not find its library"

# Debian's Python finds the package, and the package finds the library, without any setting.
dist=$(echo "$installed"/lib/python3*/dist-packages)
version=$(cd "$work" && env -u LD_LIBRARY_PATH PYTHONPATH="$dist" PYTHONDONTWRITEBYTECODE=1 \
	/usr/bin/python3 -c 'import kfdshim; kfdshim.Scheduler(); print(kfdshim.__version__)') ||
	fail "Python does not find the package, or the package not its library"
same "$version" "$(sed -n 's/^project(kfdshim VERSION \([0-9.]*\).*/\1/p' "$SOURCE/CMakeLists.txt")"
/usr/bin/python3 -c 'import sys; sys.exit(sys.argv[1] not in sys.path)' "${dist#"$work/root"}" ||
	fail "Python does not search $dist"
