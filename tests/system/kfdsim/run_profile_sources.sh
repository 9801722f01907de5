#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: every value of every profile has a source, or a note that it is assumed.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# bare FILE: prints the lines with a value and without a source, but no comment or section.
bare() {
	grep -nvE '^(;.*|\[[a-z]+\]|)$|^[a-z0-9_]+ = [^;]*[^ ;] +; (source|assumed): [^ ].{2,}' "$1"
}
for profile in "$SOURCE"/sim/profiles/*.ini; do
	[ "$(grep -c ' = ' "$profile")" -gt 40 ] || fail "$profile has hardly any value"
	! bare "$profile" || fail "$profile: the lines above lack their source"
	# Each [mark] that a source names is explained at the top.
	sed -n 's/.*; source:.*\(\[[a-z0-9 -]*\]\).*/\1/p' "$profile" | sort -u >"$work/marks"
	while read -r mark; do
		grep -qF "; $mark = " "$profile" || fail "$profile does not explain $mark"
	done <"$work/marks"
done
# The check itself can fail.
printf 'a = 1 ; source: somewhere\nb = 2\n' >"$work/bad.ini"
bare "$work/bad.ini" >/dev/null || fail "a line without source is not found"
