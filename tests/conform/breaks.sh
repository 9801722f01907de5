#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# breaks.sh [all]: every rule that is broken on purpose is noticed by its check;
# with "all" the whole suite runs for each rule, as a user would see it.
set -eu
missed=""
for rule in $("$BUILD/kfdconform" --list); do
	only=$rule
	[ "${1:-}" = all ] && only=""
	# shellcheck disable=SC2086 # nothing, or a name
	said=$("$BUILD/kfdsim" --break "$rule" -- "$BUILD/kfdconform" --json $only </dev/null) || :
	result=$(jq -r --arg r "$rule" '.rules[] | select(.name == $r) | .result' <<<"$said") || :
	[ "$result" = fail ] || missed="$missed $rule (${result:-nothing was said})"
done
[ -z "$missed" ] || {
	echo "FAILED: broken and not noticed:$missed" >&2
	exit 1
}
