#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsim ends with its command. It does not wait for processes that the command left running,
# and the end of an orphan is not taken for the command's.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

start=$SECONDS
expect 4 env "$mark" "$BUILD/kfdsim" -- sh -c 'setsid sleep 600 & exit 4'
[ $((SECONDS - start)) -lt 10 ] || fail "it took $((SECONDS - start)) s"
none_marked || fail "processes remain: $(marked)"
expect 6 "$BUILD/kfdsim" -- sh -c '(setsid sh -c "exit 1" &); sleep 0.5; exit 6'

# With --wait-all kfdsim waits for them, and the exit code is the command's; a signal that comes after
# the end of the command ends the rest.
# shellcheck disable=SC2016
expect 4 "$BUILD/kfdsim" --wait-all -- sh -c '(setsid sh -c "sleep 0.5; : >$0/late" &); exit 4' "$work"
[ -e "$work/late" ] || fail "--wait-all did not wait for the last process"
# shellcheck disable=SC2016
env "$mark" "$BUILD/kfdsim" --wait-all -- sh -c 'setsid sleep 600 & : >$0/gone' "$work" 2>"$work/err" &
world=$!
until [ -e "$work/gone" ]; do sleep 0.1; done
# The first signal may still reach the command.
while kill -TERM $world 2>/dev/null; do sleep 0.1; done
wait $world && fail "a simulation that was killed ended with 0"
none_marked || fail "processes remain: $(marked)"
