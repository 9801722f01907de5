#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A rule that cannot be checked because everything comes too late is "too_busy", with an
# exit code of its own, and no rule that is "not applicable"; one that was checked at a later
# try passes and says so. A slow preemption of the simulated driver makes it late.
set -eu
rule=wave_state_tells_the_live_state

# expect PREEMPT_US EXIT_CODE JQ-EXPRESSION
expect() {
	local said status=0
	said=$("$BUILD/kfdsim" --set preempt_us="$1" -- "$BUILD/kfdconform" --json $rule </dev/null) || status=$?
	if [ "$status" != "$2" ] || ! jq -e "$3" <<<"$said" >/dev/null; then
		echo "FAILED: a preemption of $1 us: exit code $status, not $2; or not so: $3" >&2
		echo "$said" >&2
		exit 1
	fi
}

expect 20000 0 '.pass == 1 and (.rules[0].reason | test("^tried again: "))'
expect 210000 3 '.too_busy == 1 and .not_applicable == 0 and .fail == 0 and .pass == 0
	and .rules[0].result == "too_busy" and (.rules[0].reason | test("too busy"))'
