#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Time goes on for a program that never waits, and the report counts these rounds and names it;
# for one that only sleeps there are none.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

# virtual CASE [kfdsim option]...
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

# A thread that spins for another one lets it run, also where they take turns.
virtual handover
virtual handover --seed 1

# What is expected of time is what Linux does.
"$BUILD/kfdsim" --real-time -- "$BUILD/time_spins" real computes memory shared_memory handover quiet
