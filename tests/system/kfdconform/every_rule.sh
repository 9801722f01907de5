#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves (every_rule.sh [OPTION...]): every rule of kfdconform passes in a simulation with these
# options. A rule may be "not applicable" only because it belongs to another kernel or GPU: a check
# that ends early has checked nothing.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
as_root "$@"

status=0
said=$("$BUILD/kfdsim" "$@" -- "$BUILD/kfdconform" --json </dev/null) || status=$?
jq -r '"\(.pass) pass, \(.fail) fail, \(.not_applicable) not applicable, \(.too_busy) too busy",
	(.rules[] | select(.reason != "" and .result != "not_applicable") | "\(.result) \(.name): \(.reason)")' <<<"$said"
skipped=$(jq -r '.rules[] | select(.result == "not_applicable") |
	select(.reason | test("^(a rule of other kernels$|needs (two GPUs|a GPU) ?)") | not) | "\(.name): \(.reason)"' <<<"$said")
[ -z "$skipped" ] || fail "not checked: $skipped"
[ "$(jq .pass <<<"$said")" -gt 300 ] || fail "few rules were checked"
exit $status
