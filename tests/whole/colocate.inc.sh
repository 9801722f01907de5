# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# One short colocate run on a simulated MI210; leaves its JSON in $report.
# Usage: colocate SECONDS [kfdsim options]. Reads BUILD and SOURCE, and scales, if
# set: the time scales to try.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=$work/report.json

# A run that the machine was too busy for says so (.valid is false): it tells
# nothing, and is made again with a slower GPU.
colocate() {
	local seconds=$1 scale
	shift
	for scale in ${scales:-$("$SOURCE/packaging/time_scale.sh" 0.05 0.02 0.01 0.005)}; do
		status=0
		"$BUILD/kfdsim" --gpu mi210 --time-scale "$scale" "$@" -- "$BUILD/kfdsched" colocate \
			--online "$SOURCE/traces/online_resnet50_b1.csv" \
			--offline "$SOURCE/traces/offline_gpt2m_train_8x1024.csv" \
			--arms alone,shared,trap --load 0.2 --seconds "$seconds" \
			--json "$report" || status=$?
		if [ "$status" = 0 ] || [ "$(jq .valid "$report")" != false ]; then
			return "$status"
		fi
		echo "time scale $scale: the run is not valid" >&2
	done
	return "$status"
}

# check NAME JQ-EXPRESSION: one sentence and exit 1 where the report says otherwise.
check() {
	if ! jq -e "$2" "$report" >/dev/null; then
		echo "FAILED: $1: $2" >&2
		jq -c '.costs, .arms' "$report" >&2
		exit 1
	fi
	echo "ok: $1"
}
