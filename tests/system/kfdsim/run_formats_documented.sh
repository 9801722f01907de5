#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/formats.md tells every key of the report, of simulation.json and of what
# kfdconform prints.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

export LIVE=$DIR/live.json RULES=$DIR/rules.json
# A rule with work in it, an ioctl that there is not, and the live figures.
# shellcheck disable=SC2016
"$KFDSIM" --break version_is_one_dot --report "$DIR/report.json" -- sh -c '
	"$BUILD/kfdconform" --json unknown_ioctl_is_enotty suspended_queue_stands_still >"$RULES"
	cat /sys/class/kfd/kfd/simulation.json >"$LIVE"' 2>"$DIR/err" || true
jq -e '.processes[].queues[].dispatches, .unknown_ioctls[].nr, .kernels[].name' "$DIR/report.json" \
	>/dev/null || fail "the report has no queue, kernel or unknown ioctl: $(cat "$DIR/err")"
n=0
for file in "$DIR/report.json" "$LIVE" "$RULES"; do
	jq -r '[paths | .[] | strings] | unique[]' "$file" >"$DIR/keys"
	while read -r key; do
		grep -q "\"$key\"" "$SOURCE/docs/formats.md" || fail "$key of $file is not told"
		n=$((n + 1))
	done <"$DIR/keys"
done
[ "$n" -gt 60 ] || fail "only $n keys"
