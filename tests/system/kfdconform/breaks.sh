#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves (breaks.sh [all]): the check of every rule fails if the rule is broken on purpose; with "all"
# the whole suite runs for each rule, as for a user. Two run at a time, because a check mostly waits.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
as_root "$@"
export suite=${1:-}

# notice RULE: prints the rule if its check does not fail.
notice() {
	local rule=$1 only=$1 said result
	[ "$suite" = all ] && only=""
	# shellcheck disable=SC2086 # nothing, or a name
	said=$("$BUILD/kfdsim" --break "$rule" -- "$BUILD/kfdconform" --json $only </dev/null) || :
	result=$(jq -r --arg r "$rule" '.rules[] | select(.name == $r) | .result' <<<"$said") || :
	[ "$result" = fail ] || echo "$rule (${result:-no result})"
}
export -f notice
rules=$("$BUILD/kfdconform" --list)
# shellcheck disable=SC2016 # the inner shell's
missed=$(xargs -P 2 -I '{}' bash -euc 'notice "$0"' '{}' <<<"$rules")
[ -z "$missed" ] || fail "broken and not noticed: $missed"
