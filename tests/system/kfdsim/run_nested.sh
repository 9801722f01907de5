#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A world cannot hold another: refused with 77; also inside anything else that
# has a seccomp listener, of which there can be only one.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

expect 77 "$BUILD/kfdsim" -- "$BUILD/kfdsim" -- touch "$work/started"
one_line 'already in a simulation'
expect 77 "$BUILD/run_deny" listener "$BUILD/kfdsim" -- touch "$work/started"
one_line 'seccomp listener'
[ ! -e "$work/started" ] || fail "the inner command ran"
