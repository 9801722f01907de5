#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: simulation.json exists from the command's first instruction on, complete, and has the
# profile, the time scale and the costs that --set gave.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

file=/sys/class/kfd/kfd/simulation.json
[ ! -e "$file" ] || fail "there is one outside"
expect 0 "$BUILD/kfdsim" --time-scale 0.25 --set bounce_us=345 --set packet_us=0.75 -- cat "$file"
jq -e '.simulated == true and .profile == "mi210" and .time_scale == 0.25
	and .costs.bounce_us == 345 and .costs.packet_us == 0.75
	and .bounces == 0 and .bounce_ns == 0
	and (.gpus | length == 1) and .gpus[0].processes == [] and (.gpus[0] | .gpu_id > 0
		and (.time_ns | keys == ["bounce", "held", "held_ready", "idle", "restore", "run", "save"])
		and .time_ns.run == 0)
	and ([.doorbell_delay_ns, .save_ns, .restore_ns][] | has("count") and has("buckets"))' \
	"$work/out" >/dev/null || fail "not as docs/reference/kfdsim-files.md says: $(cat "$work/out")"
# shellcheck disable=SC2016 # expanded in the world
expect 0 "$BUILD/kfdsim" -- sh -c 'jq -e ".pid_namespace == $(stat -Lc %i /proc/self/ns/pid)" "$1"' sh "$file"
expect 0 "$BUILD/kfdsim" -- cat "$file"
jq -e '.time_scale == 1 and .costs.bounce_us == 200' "$work/out" >/dev/null ||
	fail "not the profile's own: $(cat "$work/out")"
