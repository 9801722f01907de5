#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the code objects are for the architectures in their names and have the kernel under its
# name, and kfdreplay contains them unchanged.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"

for gpu in gfx908 gfx90a gfx942; do
	object=$BUILD/kfdreplay_spin.$gpu.co
	readelf -hW "$object" | grep -q 'AMD GPU' || fail "$object is not for an AMD GPU"
	readelf -sW "$object" | grep -q ' kfdreplay_spin\.kd$' || fail "$object lacks the kernel"
	strings -a "$object" | grep -q "amdgcn-amd-amdhsa--$gpu" || fail "$object is not for $gpu"
	# The binary contains the whole file, byte for byte.
	python3 - "$BUILD/kfdreplay" "$object" <<-'PYTHON' || fail "kfdreplay does not carry $object"
		import sys
		binary, code = (open(name, "rb").read() for name in sys.argv[1:])
		sys.exit(code not in binary)
	PYTHON
done
needed=$(readelf -dW "$BUILD/kfdreplay" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^lib(c|m|asan|ubsan|tsan)\.so' | xargs)
[ "$needed" = libhsa-runtime64.so.1 ] || fail "it needs $needed"
