#!/bin/sh
# SPDX-License-Identifier: MIT
# disturbed.sh TIMES [TEST]: runs the quick tests, or those whose name matches TEST, so many
# times beside build/disturb, each time with another seed. DISTURB_SEED is the first one
# (else drawn, and printed); the first run that fails ends it.
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
