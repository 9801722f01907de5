# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# One short colocate run on a simulated MI210 in virtual time; leaves its JSON in $report.
# Usage: colocate SECONDS [kfdsim options]. Reads ARMS, by default alone, shared and trap, and SEEDS, by default 2. Brings the harness.
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

report=$work/report.json

colocate() {
	local seconds=$1
	shift
	"$BUILD/kfdsim" --gpu mi210 --virtual "$@" -- "$kfdsched" colocate \
		--online "$SOURCE/traces/online_resnet50_b1.csv" \
		--offline "$SOURCE/traces/offline_gpt2m_train_8x1024.csv" \
		--arms "${ARMS:-alone,shared,trap}" --load 0.2 --seconds "$seconds" --seeds "${SEEDS:-2}" --json "$report"
}

# check NAME JQ-EXPRESSION: one sentence and exit 1 where the report says otherwise.
check() {
	jq -e "$2" "$report" >/dev/null || fail "$1: $2: $(jq -c '.costs, .arms' "$report")"
	echo "ok: $1"
}
