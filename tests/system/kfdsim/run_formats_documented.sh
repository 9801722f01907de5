#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: docs/reference describes every key of the report, of simulation.json and of the output of
# kfdconform, each on the page of that format; README.md describes histograms.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

export LIVE=$work/live.json RULES=$work/rules.json
# The report has a rule with work in it, an ioctl that does not exist, and the live figures.
# shellcheck disable=SC2016
"$BUILD/kfdsim" --break version_is_one_dot --report "$work/report.json" -- sh -c '
	"$BUILD/kfdconform" --json unknown_ioctl_is_enotty suspended_queue_stands_still >"$RULES"
	cat /sys/class/kfd/kfd/simulation.json >"$LIVE"' 2>"$work/err" || true
jq -e '.processes[].queues[].dispatches, .unknown_ioctls[].nr, .kernels[].name' "$work/report.json" \
	>/dev/null || fail "the report has no queue, kernel or unknown ioctl: $(cat "$work/err")"
n=0
for format in "$work/report.json kfdsim-report" "$LIVE kfdsim-files" "$RULES test-results"; do
	read -r file page <<<"$format"
	jq -r '[paths | .[] | strings] | unique[]' "$file" >"$work/keys"
	while read -r key; do
		grep -q "\"$key\"" "$SOURCE"/docs/reference/{"$page",README}.md || fail "$key of $file is not described"
		n=$((n + 1))
	done <"$work/keys"
done
[ "$n" -gt 60 ] || fail "only $n keys"
