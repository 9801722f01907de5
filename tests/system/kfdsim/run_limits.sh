#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: with few file descriptors or a small limit on files, kfdsim prints a sentence or the program
# gets an errno, and nothing crashes.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

mapfile -t rules < <("$BUILD/kfdconform" --list | grep -E '^(create|queue_snapshot|fork|events?)_' | head -n 12)
[ "${#rules[@]}" = 12 ] || fail "not enough rules: ${rules[*]}"

# limited WHAT VALUE: prints the exit code of kfdsim under the limit; its command has the old limits.
limited() {
	local status=0
	(
		ulimit "$1" "$2"
		exec timeout 120 "$BUILD/kfdsim" -- "$BUILD/kfdconform" "${rules[@]}" >"$work/out" 2>"$work/err" </dev/null
	) || status=$?
	echo "$status"
}

for descriptors in 8 16 24 30 40; do
	status=$(limited -n $descriptors)
	[ "$status" -lt 124 ] || fail "$descriptors descriptors: $status: $(tail -n 3 "$work/err")"
	grep -q 'ERROR: \|runtime error' "$work/err" && fail "$descriptors descriptors: $(cat "$work/err")"
done
same "$(limited -f 1000)" 1
one_line 'cannot make the simulated GPU .*File too large'
