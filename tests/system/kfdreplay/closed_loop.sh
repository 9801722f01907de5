#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a closed loop alone on the GPU takes about as long as the recording, in model time, at any
# time scale, and the result has the part of the last step that was executed.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"

on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --requests 20 --json "$json" >"$work/text"
holds "$json" '.trace == "online_resnet50_b1"' '.simulated' '.time_scale == 0.1' '.agent == "gfx90a"' \
	'.mode == "closed"' '.requests == 20' '.arrived == 20' '.steps == 20' '.backlog == 0' \
	'.keeps_up' '.count == null'
# the sum of the durations, half a microsecond for each packet, and the time of the host
holds "$json" '.gpu_us_per_request > 910 and .gpu_us_per_request < 916' \
	'.latency_us.p50 > .gpu_us_per_request * 0.98' \
	'.latency_us.p50 < .gpu_us_per_request * 1.6' \
	'.latency_us | .p50 <= .p90 and .p90 <= .p99 and .p99 <= .p999 and .p999 <= .max' \
	'(.gpu_busy_ratio * .seconds * 1e6 / 20 - .gpu_us_per_request) | fabs < 5' \
	'(.rate_per_s * .seconds - 20) | fabs < 0.001'
grep -q 'simulated, time scale 0.1' "$work/text" || fail "the text does not say that it is simulated"

# three seconds are 0.3 s of model time: some whole steps of 87 ms and a part of one
on_gpu -- "$BUILD/kfdreplay" --trace "$gpt2" --seconds 3 --json "$json" >/dev/null
holds "$json" '(.seconds - 0.3) | fabs < 0.001' '.requests >= 2' '.steps > .requests' \
	'.steps < .requests + 1' '.arrived == .requests + 1' \
	'(.steps * .gpu_us_per_request / 1e6 / .seconds) | . > 0.8 and . <= 1.01'

# --spacing recorded: ten requests of resnet took 50.6 ms on the host
on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --spacing recorded --json "$json" >/dev/null
holds "$json" '.requests == 10' '.seconds > 0.035 and .seconds < 0.08'
