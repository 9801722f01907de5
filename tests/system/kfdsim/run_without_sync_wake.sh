#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Before Linux 6.6 user notification cannot wake synchronously: everything
# works as it does with it, only slower, and the report says which it was.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

expect 0 "$BUILD/run_deny" sync_wake "$BUILD/kfdsim" --report "$work/without.json" -- rocminfo
grep -q 'Name: *gfx90a' "$work/out" || fail "rocminfo shows no GPU: $(cat "$work/out")"
same "$(jq .sync_wake "$work/without.json")" false

# The kernel here decides for the run without that hindrance.
expect 0 "$BUILD/kfdsim" --report "$work/with.json" -- rocminfo
newer=$(printf '6.6\n%s\n' "$(uname -r)" | sort -V | head -n 1)
same "$(jq .sync_wake "$work/with.json")" "$([ "$newer" = 6.6 ] && echo true || echo false)"
