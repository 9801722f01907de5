#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdconform's options: what cannot be is one line and 2; --list opens no device;
# without a device it is 77.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

expect() {
	local want=$1 got=0
	shift
	"$@" >"$dir/out" 2>"$dir/err" || got=$?
	[ "$got" = "$want" ] || fail "'$*' ended with $got, not $want: $(cat "$dir/err")"
}

for wrong in --nosuch "--kernel 5.4" no_such_rule --kernel; do
	# shellcheck disable=SC2086 # an option and its value
	expect 2 "$BUILD/kfdconform" $wrong
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$wrong: not one line: $(cat "$dir/err")"
done
expect 2 "$BUILD/kfdconform" ids_are_counted_form_0
grep -q 'did you mean ids_are_counted_from_0?' "$dir/err" || fail "no near match: $(cat "$dir/err")"
expect 0 strace -f -o "$dir/trace" -e trace=open,openat "$BUILD/kfdconform" --list
[ "$(sort "$dir/out" | uniq -d | wc -l)" = 0 ] || fail "a rule stands twice"
grep -q unknown_ioctl_is_enotty "$dir/out" || fail "no rules in the list"
! grep -q /dev/ "$dir/trace" || fail "--list opened a device"
if [ ! -e /dev/kfd ]; then
	expect 77 "$BUILD/kfdconform"
fi
expect 0 "$BUILD/kfdsim" -- "$BUILD/kfdconform" --json version_is_one_dot
jq -e '.simulated and (.rules | length == 1) and .rules[0].result == "pass"' "$dir/out" >/dev/null ||
	fail "$(cat "$dir/out")"
