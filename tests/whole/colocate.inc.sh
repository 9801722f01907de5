# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# One short colocate run on a simulated MI210; leaves its JSON in $report.
# Usage: colocate SECONDS [kfdsim options]. Reads BUILD and SOURCE, and scales, if
# set: the time scales to try.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=$work/report.json

colocate() {
	local seconds=$1 slower
	shift
	case ${TURN:-1} in # what the host did to the last one is less to a slower GPU
	1) slower="0.05 0.02 0.01 0.005" ;;
	2) slower="0.02 0.01 0.005" ;;
	*) slower=0.005 ;;
	esac
	# shellcheck disable=SC2086 # words
	: "${scales:=$("$SOURCE/packaging/time_scale.sh" $slower)}"
	"$SOURCE/packaging/colocate.sh" "$scales" "$seconds" "$report" "$@"
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
