#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the time scales at which this machine, as busy as it is now, notices doorbells soon enough for
# colocate's rule: P99 delay x time scale is at most 5 % of the online P50 alone, which is 1.1 ms if the
# machine has time. The choice has room for a delay three times as long, because this measurement is
# short. A virtual machine whose host takes milliseconds at a time, or that stands still for tenths of a
# second now and then, needs a slower GPU than a quiet one. The first scale printed is to be used; the
# others are for the case that the machine becomes busier.
# Usage: time_scale.sh SCALE... (the largest first)
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$source/build}
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# Not valid is an answer too.
"$build/kfdsim" --gpu mi210 --time-scale 0.05 -- "$build/kfdsched" colocate \
	--online "$source/traces/online_resnet50_b1.csv" \
	--offline "$source/traces/offline_gpt2m_train_8x1024.csv" \
	--arms alone,shared --load 0.2 --seconds 4 --json "$report" >/dev/null 2>&1 || :
# What is more than 1.1 ms of the P50, or 2.4 of the P99, is the host's, and shrinks with
# the scale.
jq -er '.arms.alone.online as $online
	| ([0.05 * 1100 / (3 * .doorbell_delay_us.p99),
	    0.05 * 500 / ([$online.p50_us - 1100, 1] | max),
	    0.05 * 2000 / ([$online.p99_us - 2400, 1] | max)] | min) as $fits
	| $ARGS.positional | map(tonumber) | map(select(. <= $fits)) as $do
	| (if $do == [] then .[-1:] else $do end)[]' \
	"$report" --args "$@"
