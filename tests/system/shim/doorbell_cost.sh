#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: in the steady state, a doorbell and the reservation of a slot take at most 12 instructions,
# from the wrapper's entry to the jump into the next function, none of them a lock, a fence or a call.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

for name in hsa_signal_store_relaxed hsa_signal_store_screlease hsa_signal_store_release \
	hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_screlease \
	hsa_queue_cas_write_index_screlease; do
	# The code up to the first jump that leaves the function is the path of a doorbell whose handle is in
	# the table of active doorbells.
	code=$(objdump -d --no-show-raw-insn --disassemble=$name "$BUILD/libkfdshim.so" |
		awk -v name="<$name>:" '
			$2 == name { on = 1; next }
			on && NF { print }
			on && /jmp +\*/ { exit }' | grep -v nop)
	count=$(echo "$code" | wc -l)
	if ! echo "$code" | tail -1 | grep -q "next_$name" || [ "$count" -gt 12 ] ||
		echo "$code" | grep -qE '\b(call|lock|[lms]fence|xchg|syscall)'; then
		fail "$name does more than a comparison: $code"
	fi
	echo "ok: $name, $count instructions"
done
