#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsched status: the daemon's answer as tables (exactly) and as JSON; every
# way in which there is no answer is one line and exit code 1.
set -eu
# shellcheck source=tests/lib/cli.inc.sh
. "$SOURCE/tests/lib/cli.inc.sh"
export FAKE_ANSWER="cat $SOURCE/tests/system/cli/status.json"

expect 1 "$kfdsched" status --socket "$work/none"
one_line
said "no daemon answers at $work/none"
said "kfdschedd"
expect 1 env KFDSHIM_SOCKET="$work/other" "$kfdsched" status
said "no daemon answers at $work/other"
touch "$work/file"
expect 1 "$kfdsched" status --socket "$work/file"
one_line
said "is not a socket"
expect 1 "$kfdsched" status --socket "/$(printf 'x%.0s' $(seq 120))"
one_line

start_daemon "$work/s"
expect 0 "$kfdsched" status --socket "$work/s"
[ ! -s "$work/err" ] || fail "status talks"
diff -u "$SOURCE/tests/system/cli/status.golden" "$work/out" || fail "the table is not the expected one"
expect 0 env KFDSHIM_SOCKET="$work/s" "$kfdsched" status
diff -u "$SOURCE/tests/system/cli/status.golden" "$work/out" || fail "KFDSHIM_SOCKET is not used"

expect 0 "$kfdsched" status --json --socket "$work/s"
jq -S . "$work/out" >"$work/a"
jq -S . "$SOURCE/tests/system/cli/status.json" >"$work/b"
diff -u "$work/b" "$work/a" || fail "--json is not the daemon's answer"

for fault in "version:no kfdschedd of this version" "garbage:no kfdschedd of this version" \
	"refuse:refuses this user" "silent:did not answer within"; do
	FAKE_FAULT=${fault%%:*} start_daemon "$work/${fault%%:*}"
	expect 1 "$kfdsched" status --socket "$work/${fault%%:*}"
	one_line
	said "${fault#*:}"
done
