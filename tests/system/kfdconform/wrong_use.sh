#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdconform refuses wrong options with one line and 2; --list opens no device; without a
# device the exit code is 77.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

for wrong in --nosuch "--kernel 5.4" no_such_rule --kernel; do
	# shellcheck disable=SC2086 # an option and its value
	expect 2 "$BUILD/kfdconform" $wrong
	one_line ""
done
expect 2 "$BUILD/kfdconform" ids_are_counted_form_0
said 'did you mean ids_are_counted_from_0?'
expect 0 strace -f -o "$work/trace" -e trace=open,openat "$BUILD/kfdconform" --list
[ "$(sort "$work/out" | uniq -d | wc -l)" = 0 ] || fail "a rule is listed twice"
printed unknown_ioctl_is_enotty
! grep -q /dev/ "$work/trace" || fail "--list opened a device"
if [ ! -e /dev/kfd ]; then
	expect 77 "$BUILD/kfdconform"
fi
expect 0 "$BUILD/kfdsim" -- "$BUILD/kfdconform" --json version_is_one_dot
holds "$work/out" '.simulated and (.rules | length == 1) and .rules[0].result == "pass"'
