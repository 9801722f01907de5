#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: time goes on for a program that never waits, and the report counts these rounds and names the
# program; for a program that only sleeps there are none.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

# virtual CASE [kfdsim option]...: runs a case of time_spins in virtual time.
virtual() {
	local name=$1 status=0
	shift
	timeout -s KILL 60 "$BUILD/kfdsim" --virtual --set host_wake_us=0 --report "$report" "$@" -- \
		"$BUILD/time_spins" virtual "$name" || status=$?
	[ $status = 0 ] || fail "$name $*: $status"
}

for name in computes memory shared_memory; do
	virtual "$name"
	virtual_time '.forced > 0 and .seconds > 0 and
		([.forced_by[] | select(.command == "time_spins") | .rounds] | add) == .forced'
done
virtual quiet
virtual_time '.forced == 0 and .forced_by == [] and .seconds == 5 and .wakes == 1'

# If a thread spins for another one, that one can run, also if they take turns.
virtual handover
virtual handover --seed 1

# The expected values are those of Linux.
"$BUILD/kfdsim" --real-time -- "$BUILD/time_spins" real computes memory shared_memory handover quiet
