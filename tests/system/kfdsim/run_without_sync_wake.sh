#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Before Linux 6.6 user notification cannot wake synchronously: everything
# works as it does with it, only slower, and the report says which it was.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

expect 0 "$BUILD/run_deny" sync_wake "$KFDSIM" --report "$DIR/without.json" -- rocminfo
grep -q 'Name: *gfx90a' "$DIR/out" || fail "rocminfo shows no GPU: $(cat "$DIR/out")"
same "$(jq .sync_wake "$DIR/without.json")" false

# The kernel here decides for the run without that hindrance.
expect 0 "$KFDSIM" --report "$DIR/with.json" -- rocminfo
newer=$(printf '6.6\n%s\n' "$(uname -r)" | sort -V | head -n 1)
same "$(jq .sync_wake "$DIR/with.json")" "$([ "$newer" = 6.6 ] && echo true || echo false)"
