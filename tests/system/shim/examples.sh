#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the examples of kfdshim.h print the same without the library and with it, and with it their
# calls reach the library.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

export PYTHONPATH=$SOURCE/python PYTHONDONTWRITEBYTECODE=1
want=$'request 1 served\nrequest 2 served\nrequest 3 served'

for program in "$REQUEST" "python3 $SOURCE/examples/python/request.py"; do
	[ "$($program)" = "$want" ] || fail "$program, without the library"
	[ "$(LD_PRELOAD=$BUILD/libkfdshim.so $program)" = "$want" ] || fail "$program, with it"
done
# The weak references are bound when the program starts.
bound=$(LD_PRELOAD=$BUILD/libkfdshim.so LD_DEBUG=bindings "$REQUEST" 2>&1 >/dev/null |
	grep -c "libkfdshim.so .*kfdshim_" || true)
[ "$bound" = 4 ] || fail "$bound of 4 functions are bound to the library"
! LD_PRELOAD=$BUILD/libkfdshim.so python3 - <<'END' || fail "a priority of 16 is accepted"
import ctypes, errno, sys
sys.exit(ctypes.CDLL(None).kfdshim_set_priority(16) == -errno.EINVAL)
END
echo "ok: examples in C and Python, with and without the library"
