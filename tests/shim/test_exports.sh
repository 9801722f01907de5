#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# libkfdshim.so as the dynamic linker sees it: exactly the wrapped names, libc
# alone, nothing newer than glibc 2.34, never unloaded, nothing run at load.
set -eu
lib=$BUILD/libkfdshim.so
agent=$BUILD/libkfdshim-agent.so

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

exported() {
	objdump -T "$1" | awk '$0 !~ /\*UND\*/ && $NF ~ /^[A-Za-z_]/ && NF >= 6 { print $NF }' | sort | tr '\n' ' '
}

want='hsa_signal_store_relaxed hsa_signal_store_screlease hsa_signal_wait_relaxed hsa_signal_wait_scacquire ioctl '
[ "$(exported "$lib")" = "$want" ] || fail "libkfdshim.so exports: $(exported "$lib")"
[ "$(exported "$agent")" = 'kfdshim_agent_start ' ] || fail "the agent exports: $(exported "$agent")"

needed=$(readelf -d "$lib" | awk '/NEEDED/ { print $NF }')
[ "$needed" = '[libc.so.6]' ] || fail "libkfdshim.so needs $needed"

newest=$(objdump -T "$lib" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -1)
[ "$(printf '%s\n2.34\n' "$newest" | sort -V | tail -1)" = 2.34 ] || fail "needs glibc $newest"

for so in "$lib" "$agent"; do
	readelf -d "$so" | grep -q 'FLAGS_1.*NODELETE' || fail "$so could be unloaded"
	# The compiler's own frame_dummy is the only constructor.
	size=$(readelf -d "$so" | awk '/INIT_ARRAYSZ/ { print $3 }')
	[ "$size" = 8 ] || fail "$so has constructors: $size bytes of them"
	readelf -Wl "$so" | grep -q ' TLS ' && fail "$so has thread-local variables"
done
echo "ok: exports, needs, symbol versions up to $newest"
