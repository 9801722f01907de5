#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The doorbell's steady state: from the wrapper's entry to the jump into the
# next function at most 12 instructions, without a lock prefix, fence or call.
set -eu
for name in hsa_signal_store_relaxed hsa_signal_store_screlease; do
	code=$(objdump -d --no-show-raw-insn --disassemble=$name "$BUILD/libkfdshim.so" |
		awk -v name="<$name>:" '$2 == name { on = 1; next } /^$/ { on = 0 } on' | grep -v nop)
	echo "$code" | grep -qE '\b(call|lock|mfence|xchg|syscall)' && {
		echo "FAILED: $name does more than look" >&2
		echo "$code" >&2
		exit 1
	}
	# Both ways out are a jump; the longer one must fit.
	count=$(echo "$code" | wc -l)
	[ "$count" -le 14 ] || { echo "FAILED: $name has $count instructions" >&2; exit 1; }
	echo "ok: $name, $count instructions on both paths together"
done
