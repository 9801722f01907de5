#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves a part of `make goals`: beside resnet50 at 50 %, training keeps at least 85 % of the possible
# throughput, and the online P99 is at most 1.05 x the possible one; and wrong use is refused.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
goals=$SOURCE/tests/bench/goals.sh

expect 0 "$goals" --short --seconds 0.5 --only '^resnet50_b1/50%/poisson/gpt2m' --json "$work/goals.json" \
	--svg "$work/goals.svg"
cat "$work/out"
printed "1 of 1 goals met"
jq -e '(.cases | length) == 1 and all(.cases[]; .missed == [] and .keeps.ratio >= 0.85 and .p99_us.ratio <= 1.05
	and .keeps.possible > 0.2 and .suspends_per_s > 50 and .report.virtual)' "$work/goals.json" >/dev/null ||
	fail "the JSON: $(jq -c '.cases[] | del(.report)' "$work/goals.json")"
jq '.cases[0].report' "$work/goals.json" >"$work/report.json"
schema colocate "$work/report.json"
xmllint --noout "$work/goals.svg" || fail "the picture is not well-formed"
[ "$(grep -c '<rect class="met"' "$work/goals.svg")" = 2 ] || fail "the picture does not have two bars"

# If nothing is suspended, the goal is missed, and the exit code is 1.
KFDSHIM_DISABLE=1 expect 1 "$goals" --short --seconds 0.3 --only '^resnet50_b1/50%/poisson/gpt2m'
printed "MISSED: "
printed "0 of 1 goals met"

expect 2 "$goals" --only nothing
said "no case matches 'nothing'"
expect 2 "$goals" --load 0.2
said "--load and --arrivals are for --online and --offline"
expect 2 "$goals" --online x.csv
said "--online and --offline go together"
expect 2 "$goals" --seconds
said "--seconds needs a value"
expect 0 "$goals" --list
[ "$(wc -l <"$work/out")" = 68 ] || fail "not 68 cases"
expect 1 "$goals" --short --online "$work/none.csv" --offline "$work/none.csv" --load 0.2
said "cannot read the trace $work/none.csv"
