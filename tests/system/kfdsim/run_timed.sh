#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: a kernel that was timed and not executed is named on standard error at the end, and is a
# failure with --fail-on-timed; kernels that were executed are not.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

line='kernels\? w[a-z]* timed, not executed, and wrote nothing: .*(PM4 dispatch)$'
sim=("$BUILD/kfdsim" --virtual --set unknown_kernel_us=2000)

# timed CODE OPTION... -- COMMAND...: kfdsim ends with CODE and prints the line once.
timed() {
	local code=$1
	shift
	expect "$code" "${sim[@]}" "$@"
	[ "$(grep -c "^kfdsim: [1-9][0-9]* $line" "$work/err")" = 1 ] || fail "$*: no line: $(cat "$work/err")"
}

timed 0 --report "$work/r.json" -- "$BUILD/rule_pm4"
holds "$work/r.json" 'any(.kernels[]; .name == "(PM4 dispatch)" and .executed == false)'
timed 1 --fail-on-timed --report "$work/r.json" -- "$BUILD/rule_pm4"
holds "$work/r.json" '.exit_code == 0'
# shellcheck disable=SC2016
timed 7 --fail-on-timed -- sh -c '"$0"; exit 7' "$BUILD/rule_pm4"
expect 0 "${sim[@]}" --fail-on-timed -- "$BUILD/rule_hsa_copy"
! grep -q "timed" "$work/err" || fail "no kernel was timed only: $(cat "$work/err")"
