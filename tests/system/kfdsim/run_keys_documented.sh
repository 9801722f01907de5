#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the pages in docs/kfdsim describe every option, and every key of --set once, with its
# default in each profile.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

page=$work/page
cat "$SOURCE"/docs/kfdsim/*.md >"$page"
default() {
	sed -n "s/^$2 = \([^;]*[^; ]\) *;.*/\1/p" "$SOURCE/sim/profiles/$1.ini"
}
expect 2 "$BUILD/kfdsim" --set no_such_key=1 -- true
keys=$(sed -n 's/.*known: //p' "$work/err" | tr -d ,)
[ "$(wc -w <<<"$keys")" -gt 70 ] || fail "kfdsim lists few keys: $keys"
for key in $keys; do
	row=$(grep "^| \`$key\` |" "$page" | cut -d '|' -f 4-7)
	same "$(echo "$row" | tr -d ' ')" "$(for profile in mi210 mi300x mi308x mi100; do
		default "$profile" "$key"
	done | paste -sd '|')"
done
# shellcheck disable=SC2016
same "$(grep -cE '^[|] `[a-z0-9_]+` ([|][^|]*){6}[|]$' "$page")" "$(wc -w <<<"$keys")"
expect 0 "$BUILD/kfdsim" --help
sed -n 's/^  \(--[a-z-]*\) .*/\1/p' "$work/out" >"$work/options"
[ "$(wc -l <"$work/options")" -gt 7 ] || fail "--help lists few options"
while read -r option; do
	grep -q "^| \`${option}[ \`]" "$page" || fail "$option is not on the page"
done <"$work/options"
