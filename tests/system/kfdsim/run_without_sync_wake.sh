#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: before Linux 6.6, where user notification cannot wake synchronously, everything works, only
# slower, and the report says which of the two it was.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

expect 0 "$BUILD/run_deny" sync_wake "$BUILD/kfdsim" --report "$work/without.json" -- rocminfo
grep -q 'Name: *gfx90a' "$work/out" || fail "rocminfo shows no GPU: $(cat "$work/out")"
same "$(jq .sync_wake "$work/without.json")" false

# Without the restriction, the result depends on the kernel of this machine.
expect 0 "$BUILD/kfdsim" --report "$work/with.json" -- rocminfo
newer=$(printf '6.6\n%s\n' "$(uname -r)" | sort -V | head -n 1)
same "$(jq .sync_wake "$work/with.json")" "$([ "$newer" = 6.6 ] && echo true || echo false)"
