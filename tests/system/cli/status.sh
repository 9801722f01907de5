#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched status prints the daemon's reply as tables (compared as a whole) and as JSON; if
# there is no valid reply, it prints one line and ends with 1.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# shellcheck source=tests/lib/stand_in.inc.sh
. "$SOURCE/tests/lib/stand_in.inc.sh"
export FAKE_ANSWER="cat $SOURCE/tests/system/cli/status.json"

refused 1 "no daemon listens at $work/none" "$kfdsched" status --socket "$work/none"
said "kfdschedd"
expect 1 env KFDSHIM_SOCKET="$work/other" "$kfdsched" status
said "no daemon listens at $work/other"
touch "$work/file"
refused 1 "is not a socket" "$kfdsched" status --socket "$work/file"
refused 1 "" "$kfdsched" status --socket "/$(printf 'x%.0s' $(seq 120))"

start_stand_in "$work/s"
expect 0 "$kfdsched" status --socket "$work/s"
[ ! -s "$work/err" ] || fail "status prints something on stderr"
diff -u "$SOURCE/tests/system/cli/status.golden" "$work/out" || fail "the table is not the expected one"
expect 0 env KFDSHIM_SOCKET="$work/s" "$kfdsched" status
diff -u "$SOURCE/tests/system/cli/status.golden" "$work/out" || fail "KFDSHIM_SOCKET is not used"

expect 0 "$kfdsched" status --json --socket "$work/s"
jq -S . "$work/out" >"$work/a"
jq -S . "$SOURCE/tests/system/cli/status.json" >"$work/b"
diff -u "$work/b" "$work/a" || fail "--json is not the daemon's reply"

for fault in "version:not a kfdschedd of this version" "garbage:not a kfdschedd of this version" \
	"refuse:refuses this user" "silent:did not reply within"; do
	FAKE_FAULT=${fault%%:*} start_stand_in "$work/${fault%%:*}"
	refused 1 "${fault#*:}" "$kfdsched" status --socket "$work/${fault%%:*}"
done
