#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process at level trap that sends itself signals without end cannot keep its executor,
# which has real-time priority, busy: after a burst, each signal takes a millisecond. The process
# gets all of its signals, and is suspended and resumed meanwhile.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

signals=$WITNESS_RAISES
start_daemon
start_online
start_target --seconds 300
must_tag "$target" offline
until_true 50 about "$target" '.level == "trap"' || fail "no session: $(status | jq -c .processes)"
[ "$(tracer_of "$target")" != 0 ] || fail "the process is not traced"
start=${EPOCHREALTIME/./}
kill -USR1 "$target"
while [ ! -e "$work/seen.usr1" ]; do
	suspend_and_resume "$target" "beside its signals"
done
took=$(((${EPOCHREALTIME/./} - start) / 1000))
echo "$signals signals took $took ms"
# The first 100 pass at once, then one passes each millisecond; a busy machine makes it longer.
[ "$took" -ge $((signals - 200)) ] || fail "$signals signals took $took ms"
kill -INT "$target"
wait "$target" || fail "it ended with $?"
counts_are_right
