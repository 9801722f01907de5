#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: in an open loop requests arrive when they are due, the latency counts from then on, and a
# growing backlog is reported. Between arrivals kfdreplay sleeps.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"

on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --load 0.2 --seconds 4 --json "$json" >/dev/null
holds "$json" '.mode == "open"' '(.seconds - 0.4) | fabs < 0.001' \
	'(.rate_per_s * .gpu_us_per_request / 1e6 - 0.2) | fabs < 1e-6' \
	'.arrived > 50 and .arrived < 130' '.keeps_up' '.backlog <= 5' \
	'.arrived - .requests == .backlog' '.latency_us.p50 > .gpu_us_per_request * 0.98'
arrived=$(jq .arrived "$json")
on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --load 0.2 --seconds 4 --json "$json" \
	--request-times "$work/times" >/dev/null
holds "$json" ".arrived == $arrived" # the same seed gives the same arrivals
# The file has a line for each request, in the order of service, with the same latencies.
awk -F, -v requests="$(jq .requests "$json")" -v max="$(jq .latency_us.max "$json")" '
	NR == 1 { if ($0 != "due_us,begin_us,end_us") exit 1; next }
	$1 > $2 || $2 < end { bad = 1 }
	$3 != "" { n++; end = $3; bad = bad || $3 < $2; if ($3 - $1 > worst) worst = $3 - $1 }
	END { exit bad || n != requests || worst - max > 1 || max - worst > 1 }' "$work/times" ||
	fail "the times of the requests: $(cat "$work/times")"

on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --load 3 --arrivals fixed --seconds 2 --json "$json" >"$work/text"
holds "$json" '.keeps_up == false' '.backlog > 100' '.arrived - .requests == .backlog' \
	'.latency_us.max > 90000'
grep -q 'does not keep up' "$work/text" || fail "the text does not report that it does not keep up"
# The same with a number of requests: those that have arrived meanwhile are the backlog.
on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --load 3 --requests 60 --json "$json" >/dev/null
holds "$json" '.requests == 60' '.keeps_up == false' '.backlog > 40'

# Four requests a second of wall time are hardly any work for the host.
# shellcheck disable=SC2016 # for the inner shell
on_gpu -- bash -c 'TIMEFORMAT="%U %S"; { time "$@" >/dev/null; } 2>'"$work/idle" idle \
	"$BUILD/kfdreplay" --trace "$resnet" --rate 40 --arrivals fixed --seconds 4 --json "$json"
holds "$json" '.arrived == 16' '.keeps_up'
awk '{ exit !($1 + $2 < 0.8) }' "$work/idle" || fail "kfdreplay used $(cat "$work/idle") s of CPU in 4 s"
