#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A world cannot hold another: refused with 77; also inside anything else that
# has a seccomp listener, of which there can be only one.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

expect 77 "$KFDSIM" -- "$KFDSIM" -- touch "$DIR/started"
said 'simulated world already'
expect 77 "$BUILD/run_deny" listener "$KFDSIM" -- touch "$DIR/started"
said 'seccomp listener'
[ ! -e "$DIR/started" ] || fail "the inner command ran"
