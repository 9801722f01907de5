#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# every_rule.sh [OPTION...]: every rule of kfdconform passes in a world of kfdsim with these
# options. A rule may be "not applicable" because it belongs to another kernel or GPU, and
# for no other reason: a check that ends itself early has checked nothing.
set -eu
# Needs root.
[ "$(id -u)" = 0 ] || exec "$(dirname "$0")/../../lib/as_root.sh" bash "$0" "$@"
status=0
said=$("$BUILD/kfdsim" "$@" -- "$BUILD/kfdconform" --json </dev/null) || status=$?
jq -r '"\(.pass) pass, \(.fail) fail, \(.not_applicable) not applicable, \(.too_busy) too busy",
	(.rules[] | select(.reason != "" and .result != "not_applicable") | "\(.result) \(.name): \(.reason)")' <<<"$said"
skipped=$(jq -r '.rules[] | select(.result == "not_applicable") |
	select(.reason | test("^(a rule of other kernels$|needs (two GPUs|a GPU) ?)") | not) | "\(.name): \(.reason)"' <<<"$said")
[ -z "$skipped" ] || {
	printf 'FAILED: not checked:\n%s\n' "$skipped" >&2
	exit 1
}
[ "$(jq .pass <<<"$said")" -gt 300 ] || {
	echo "FAILED: few rules were checked" >&2
	exit 1
}
exit $status
