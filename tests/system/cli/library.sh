#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: a program can be built with the installed libkfdsched and its header, shared and static.
# The library needs libc alone and exports only the functions that its header declares. Without a
# daemon it returns an error that says so.
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
# A build with a sanitizer needs the library of the sanitizer, too.
if ! readelf -d "$library" | grep -qE 'lib[at]san|libubsan'; then
	[ "$(readelf -d "$library" | grep -c '(NEEDED)')" = 1 ] || fail "the library needs more than libc"
	cc -I"$into/include" "$SOURCE/examples/own_policy.c" "$archive" -o "$work/static" ||
		fail "the archive needs another library"
	cc -I"$into/include" "$SOURCE/examples/own_policy.c" -L"$(dirname "$library")" -lkfdsched \
		-o "$work/shared" || fail "the shared library cannot be linked"
	export LD_LIBRARY_PATH=${library%/*}
	export KFDSHIM_SOCKET=$work/none
	for program in static shared; do
		expect 2 "$work/$program" 1
		expect 1 "$work/$program" 1 $$ $PPID
		said "no daemon listens at $work/none"
	done
fi
