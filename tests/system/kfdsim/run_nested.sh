#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsim refuses to run in a simulation, with 77, and in any other process that has a seccomp
# listener, of which there can be only one.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

expect 77 "$BUILD/kfdsim" -- "$BUILD/kfdsim" -- touch "$work/started"
one_line 'already in a simulation'
expect 77 "$BUILD/run_deny" listener "$BUILD/kfdsim" -- touch "$work/started"
one_line 'seccomp listener'
[ ! -e "$work/started" ] || fail "the inner command ran"
