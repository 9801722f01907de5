#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, by the dynamic sections: libkfdshim.so exports exactly the wrapped names, the two of a tools
# library with its priority, and kfdshim.h; it needs libc.so.6 alone, is never unloaded, and runs one
# function at load, which finds the next ioctl (tests/system/shim/lookups.c); the agent runs none.
# The agent also needs liburcu-bp, which is beside it. None of the three needs a symbol version above
# GLIBC_2.34, the version of RHEL 9.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

lib=$BUILD/libkfdshim.so
agent=$BUILD/libkfdshim-agent.so
urcu=$BUILD/liburcu-bp.so.8
map=$SOURCE/preload/exports.map
header=$SOURCE/include/kfdshim.h

on_a_line() {
	sort | tr '\n' ' '
}

# exported FILE: prints "NAME TYPE", a line each, of whatever another object can bind to. A versioned
# name would be NAME@VERSION, and the runtime's own would be preferred to it.
exported() {
	readelf --wide --dyn-syms "$1" |
		awk '$1 ~ /^[0-9]+:$/ && $5 != "LOCAL" && $7 != "UND" { print $8, $4 }'
}

wrapped="ioctl
hsa_queue_create hsa_queue_destroy
hsa_signal_load_relaxed hsa_signal_load_scacquire hsa_signal_load_acquire
hsa_signal_store_relaxed hsa_signal_store_screlease hsa_signal_store_release
hsa_signal_wait_relaxed hsa_signal_wait_scacquire hsa_signal_wait_acquire
hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_scacquire
hsa_queue_add_write_index_screlease hsa_queue_add_write_index_scacq_screl
hsa_queue_add_write_index_acquire hsa_queue_add_write_index_release
hsa_queue_add_write_index_acq_rel
hsa_queue_cas_write_index_relaxed hsa_queue_cas_write_index_scacquire
hsa_queue_cas_write_index_screlease hsa_queue_cas_write_index_scacq_screl
hsa_queue_cas_write_index_acquire hsa_queue_cas_write_index_release
hsa_queue_cas_write_index_acq_rel
hsa_queue_store_write_index_relaxed hsa_queue_store_write_index_screlease
hsa_queue_store_write_index_release
hsa_amd_memory_async_copy hsa_amd_memory_async_copy_on_engine hsa_amd_memory_async_copy_rect"
api=$(sed -n 's/^[a-z].* \**\(kfdshim_[a-z_]*\)(.*__attribute__((weak));$/\1/p' "$header")
[ "$(wc -l <<<"$api")" = "$(grep -c '__attribute__((weak))' "$header")" ] ||
	fail "kfdshim.h declares what this test cannot read: $api"
# shellcheck disable=SC2086 # words
want=$({
	printf '%s FUNC\n' $wrapped $api OnLoad OnUnload
	echo HSA_AMD_TOOL_PRIORITY OBJECT
} | on_a_line)
have=$(exported "$lib" | on_a_line)
[ "$have" = "$want" ] || fail "libkfdshim.so exports '$have', not '$want'"
# The export map lists the same names.
listed=$(sed -n '/global:/,/local:/s/^[[:space:]]*\([A-Za-z_]*\);$/\1/p' "$map" | on_a_line)
[ "$listed" = "$(exported "$lib" | cut -d ' ' -f 1 | on_a_line)" ] || fail "exports.map lists '$listed'"
have=$(exported "$agent" | on_a_line)
[ "$have" = 'kfdshim_agent_start FUNC ' ] || fail "the agent exports '$have'"

needed=$(readelf --wide --dynamic "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || fail "libkfdshim.so needs '$needed'"
needed=$(readelf --wide --dynamic "$agent" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | on_a_line)
[ "$needed" = "libc.so.6 liburcu-bp.so.8 " ] || fail "the agent needs '$needed'"
found=$(ldd "$agent" | sed -n 's/.*liburcu-bp.so.8 => \([^ ]*\) .*/\1/p')
[ "$found" -ef "$urcu" ] || fail "the agent's liburcu is '$found', not the one beside it"
# versions FILE: prints every version that it needs, also those of no symbol (GLIBC_ABI_DT_RELR).
versions() {
	readelf --wide --version-info "$1" | sed -n 's/.* Name: \([^ ]*\) .*Flags:.*Version:.*/\1/p' | sort -u
}
for so in "$lib" "$agent" "$urcu"; do
	[ -n "$(versions "$so")" ] || fail "no needed versions of $so can be read"
	for version in $(versions "$so"); do
		[[ $version =~ ^GLIBC_2\.[0-9]+(\.[0-9]+)?$ ]] || fail "$so needs $version"
		[ "$(printf '%s\nGLIBC_2.34\n' "$version" | sort -V | tail -n 1)" = GLIBC_2.34 ] ||
			fail "$so needs $version, newer than GLIBC_2.34"
	done
done
# A symbol without a version could be bound to any library; the three weak ones belong to the linker.
loose=$(readelf --wide --dyn-syms "$lib" |
	awk '$1 ~ /^[0-9]+:$/ && $7 == "UND" && NF >= 8 && $8 !~ /@GLIBC_/ { print $8, $5 }' | on_a_line)
for name in _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __gmon_start__; do
	loose=${loose/"$name WEAK "/}
done
[ -z "$loose" ] || fail "libkfdshim.so needs '$loose' of no library"
unresolved=$(ldd -r "$lib" 2>&1 | grep -E 'undefined|not found' || true)
[ -z "$unresolved" ] || fail "$unresolved"

for so in "$lib" "$agent"; do
	readelf --dynamic "$so" | grep -q 'FLAGS_1.*NODELETE' || fail "$so could be unloaded"
	path=$(readelf --wide --dynamic "$so" | sed -n 's/.*(R[UNPATH]*PATH).*\[\(.*\)\]/\1/p')
	want=""
	# shellcheck disable=SC2016 # the dynamic linker's own variable
	[ "$so" = "$lib" ] || want='$ORIGIN'
	[ "$path" = "$want" ] || fail "$so searches libraries in '$path'"
	# One constructor is frame_dummy, which the compiler adds.
	want=8
	[ "$so" = "$agent" ] || want=16
	size=$(readelf --dynamic "$so" | awk '/INIT_ARRAYSZ/ { print $3 }')
	[ "$size" = "$want" ] || fail "$so has constructors: $size bytes of them"
	! readelf --wide --segments "$so" | grep -q ' TLS ' || fail "$so has thread-local variables"
done
echo "ok: exports, needs, symbol versions $(versions "$lib" | on_a_line)"
