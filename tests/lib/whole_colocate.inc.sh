# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# One short colocate run on a simulated MI210 in virtual time; leaves its JSON in $report.
# Usage: colocate SECONDS [kfdsim options]. Reads BUILD and SOURCE, and ARMS, if not all.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=$work/report.json

colocate() {
	local seconds=$1
	shift
	"$BUILD/kfdsim" --gpu mi210 --virtual "$@" -- "$BUILD/kfdsched" colocate \
		--online "$SOURCE/traces/online_resnet50_b1.csv" \
		--offline "$SOURCE/traces/offline_gpt2m_train_8x1024.csv" \
		--arms "${ARMS:-alone,shared,trap}" --load 0.2 --seconds "$seconds" --seeds 2 --json "$report"
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
