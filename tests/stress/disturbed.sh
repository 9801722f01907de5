#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves (disturbed.sh TIMES [TEST]) that the quick tests, or those whose name matches TEST, pass beside
# build/disturb. It runs them TIMES times, each time with another seed, up to the first failure.
# DISTURB_SEED is the first seed; without it the seed is drawn and printed.
set -eu
cd "$(dirname "$0")/../.."
times=$1
test=${2:-.}
seed=${DISTURB_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}

run=1
while [ "$run" -le "$times" ]; do
	echo "disturbed: run $run of $times"
	DISTURB_SEED=$seed build/disturb ctest --test-dir build --output-on-failure \
		--no-tests=error -j 4 -L quick -R "$test" || {
		echo "disturbed: run $run of $times FAILED; DISTURB_SEED=$seed repeats its disturbance" >&2
		exit 1
	}
	run=$((run + 1))
	seed=$((seed + 1))
done
echo "disturbed: $times of $times runs passed"
