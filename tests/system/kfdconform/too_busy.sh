#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if a rule cannot be checked because the machine is too slow, its result is "too_busy", with
# an exit code of its own, and no other rule becomes "not applicable"; a rule that passes at a later
# try says so. A slow preemption of the simulated driver has the same effect as a slow machine.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

rule=wave_state_tells_the_live_state

# preempted_in US EXIT_CODE JQ-EXPRESSION: with preemptions of US, kfdconform ends so.
preempted_in() {
	expect "$2" "$BUILD/kfdsim" --set preempt_us="$1" -- "$BUILD/kfdconform" --json $rule </dev/null
	holds "$work/out" "$3"
}

preempted_in 20000 0 '.pass == 1 and (.rules[0].reason | test("^retried: "))'
preempted_in 210000 3 '.too_busy == 1 and .not_applicable == 0 and .fail == 0 and .pass == 0
	and .rules[0].result == "too_busy" and (.rules[0].reason | test("too busy"))'
