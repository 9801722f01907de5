#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# libkfdsched as others meet it: installed, with its header, a program is built with it,
# shared and static; it needs libc alone, shows its own functions alone, all of which the
# header has, and says without a daemon what is wrong.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

into=$work/root
cmake -DCMAKE_INSTALL_PREFIX="$into" -P "$BUILD/scheduler/client/cmake_install.cmake" >"$work/out"
library=$(find "$into" -name libkfdsched.so)
archive=$(find "$into" -name libkfdsched.a)
[ -f "$into/include/kfdsched.h" ] || fail "no header"

nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort >"$work/shown"
grep -o '\bkfdsched_[a-z_]*(' "$into/include/kfdsched.h" | tr -d '(' | sort -u >"$work/declared"
diff -u "$work/declared" "$work/shown" || fail "the library shows something else than its header"
nm -D --defined-only "$library" | grep -q 'kfdsched_open@@KFDSCHED_1$' || fail "no symbol versions"
readelf -d "$library" | grep -q 'SONAME.*\[libkfdsched.so.1\]' || fail "no soname"
# A build with a sanitizer needs that, too.
if ! readelf -d "$library" | grep -qE 'lib[at]san|libubsan'; then
	[ "$(readelf -d "$library" | grep -c '(NEEDED)')" = 1 ] || fail "it needs more than libc"
	cc -I"$into/include" "$SOURCE/examples/own_policy.c" "$archive" -o "$work/static" ||
		fail "the archive does not stand alone"
	cc -I"$into/include" "$SOURCE/examples/own_policy.c" -L"$(dirname "$library")" -lkfdsched \
		-o "$work/shared" || fail "not to be linked"
	export LD_LIBRARY_PATH=${library%/*}
	export KFDSHIM_SOCKET=$work/none
	for program in static shared; do
		expect 2 "$work/$program" 1
		expect 1 "$work/$program" 1 $$ $PPID
		said "no daemon listens at $work/none"
	done
fi
