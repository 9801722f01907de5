#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: wrong use gives one line that says what was wrong and exit code 2, and starts nothing.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# wrong PATTERN ARGUMENT...: kfdsim refuses the arguments; the command would leave a file.
wrong() {
	local pattern=$1
	shift
	expect 2 "$BUILD/kfdsim" "$@" -- touch "$work/started"
	one_line "$pattern"
	[ ! -e "$work/started" ] || fail "the command ran in spite of: $*"
}

expect 2 "$BUILD/kfdsim"
one_line 'no command given' 'usage'
expect 2 "$BUILD/kfdsim" --gpu mi210 --
one_line 'no command given'
wrong "'nosuch'.*known: .*mi210" --gpu nosuch
wrong 'unknown option --nope.*usage' --nope
wrong 'KEY=VALUE' --set bounce_us
wrong 'KEY=VALUE' --set =5
wrong "'nokey'.*known: .*bounce_us" --set nokey=5
wrong "bounce_us must be a number, not 'abc'" --set bounce_us=abc
wrong "bounce_us must be a number, not ''" --set bounce_us=
wrong "bounce_us must be a number, not 'nan'" --set bounce_us=nan
wrong 'bounce_us must be from 0' --set bounce_us=-1
wrong 'simd_count must be a whole number' --set simd_count=-4
wrong 'simd_count must be a whole number' --set simd_count=4.5
wrong 'simd_count must be a multiple' --set simd_count=417
wrong 'sdma_gb_per_s must be from' --set sdma_gb_per_s=0
wrong 'time-scale must be a number' --time-scale 0
wrong 'time-scale must be a number' --time-scale x
wrong 'time-scale must be a number' --time-scale inf
wrong 'cannot write the report' --report "$work/no/such/folder.json"
wrong 'cannot write the report' --report "$work"
expect 2 "$BUILD/kfdsim" --report
one_line 'needs a value'
