#!/bin/bash
# SPDX-License-Identifier: MIT
# In an open loop requests arrive when they are due, latency counts from then,
# and a backlog that grows is called what it is. Between arrivals it sleeps.
set -eu
# shellcheck source=tests/lib/replay.inc.sh
. "$SOURCE/tests/lib/replay.inc.sh"

on_gpu -- "$REPLAY" --trace "$RESNET" --load 0.2 --seconds 4 --json "$JSON" >/dev/null
check '.mode == "open"' '(.seconds - 0.4) | fabs < 0.001' \
	'(.rate_per_s * .gpu_us_per_request / 1e6 - 0.2) | fabs < 1e-6' \
	'.arrived > 50 and .arrived < 130' '.keeps_up' '.backlog <= 5' \
	'.arrived - .requests == .backlog' '.latency_us.p50 > .gpu_us_per_request * 0.98'
arrived=$(jq .arrived "$JSON")
on_gpu -- "$REPLAY" --trace "$RESNET" --load 0.2 --seconds 4 --json "$JSON" >/dev/null
check ".arrived == $arrived" # the same seed, the same arrivals

on_gpu -- "$REPLAY" --trace "$RESNET" --load 3 --arrivals fixed --seconds 2 --json "$JSON" >"$DIR/text"
check '.keeps_up == false' '.backlog > 100' '.arrived - .requests == .backlog' \
	'.latency_us.max > 90000'
grep -q 'does not keep up' "$DIR/text" || fail "the text does not say that it does not keep up"
# the same, told by a number of requests: those that came meanwhile are the backlog
on_gpu -- "$REPLAY" --trace "$RESNET" --load 3 --requests 60 --json "$JSON" >/dev/null
check '.requests == 60' '.keeps_up == false' '.backlog > 40'

# four requests a second of wall time: hardly any work for the host
# shellcheck disable=SC2016 # for the inner shell
on_gpu -- bash -c 'TIMEFORMAT="%U %S"; { time "$@" >/dev/null; } 2>'"$DIR/idle" idle \
	"$REPLAY" --trace "$RESNET" --rate 40 --arrivals fixed --seconds 4 --json "$JSON"
check '.arrived == 16' '.keeps_up'
awk '{ exit !($1 + $2 < 0.8) }' "$DIR/idle" || fail "it used $(cat "$DIR/idle") s of CPU in 4 s"
