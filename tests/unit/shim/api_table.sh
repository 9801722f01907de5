#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves that the offsets in the runtime's API table (preload/api_table.h) are those of the headers
# of HSA: of the installed ones, and of those of the matrix's root folders that exist here. An
# offset that is wrong must be found, so one is.
set -eu

roots=${KFDSHIM_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/kfdshim/roots}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compiles FOLDER: with its headers of HSA, and preload/ of this folder first.
compiles() {
	clang++-14 -std=c++17 -fsyntax-only -Wall -Wno-invalid-offsetof "$@" \
		"$SOURCE/tests/unit/shim/api_table.cc"
}

compiles -I"$SOURCE"
for header in "$roots"/*/usr/include/hsa/hsa_api_trace.h; do
	[ -e "$header" ] || continue
	echo "${header%/usr/include/*}"
	# The folder hsa alone: the other headers of that system are not for this compiler.
	ln -sfn "${header%/*}" "$work/hsa"
	compiles -I"$work" -I"$SOURCE"
done

mkdir "$work/preload"
sed 's/\(CORE_WAIT_RELAXED\) .*/\1 368u/' "$SOURCE/preload/api_table.h" >"$work/preload/api_table.h"
rm -f "$work/hsa"
if compiles -I"$work" -I"$SOURCE" 2>"$work/errors"; then
	echo "a wrong offset is not found" >&2
	exit 1
fi
grep -q 'hsa_signal_wait_relaxed_fn has another offset' "$work/errors"
