#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the costs of the host are charged, each by its own setting: a wake, a dispatch, a driver call.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

# elapsed SETTING COMMAND...: writes the virtual ns that it takes to $work/out.
elapsed() {
	local setting=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	expect 0 "$BUILD/kfdsim" --virtual --set "$setting" -- bash -c \
		'begin=$(date +%s%N); "$@" >/dev/null; echo $(($(date +%s%N) - begin))' - "$@"
}

# A sleep takes longer by one wake.
elapsed host_wake_us=0 sleep 1
same "$(cat "$work/out")" 1000000000
elapsed host_wake_us=250 sleep 1
same "$(cat "$work/out")" 1000250000

# A request takes longer by the dispatch for which it waits, and by the wake at its end; none of its
# calls goes to the driver.
latency() {
	expect 0 "$BUILD/kfdsim" --virtual --set "$1" -- "$BUILD/kfdreplay" \
		--trace "$SOURCE/traces/online_resnet50_b1.csv" --requests 3 --json "$work/replay.json"
	jq '.latency_us.p50 * 1000 | round' "$work/replay.json"
}
at_first=$(latency host_dispatch_us=1)
same "$(latency host_dispatch_us=101)" $((at_first + 100000))
same "$(latency host_wake_us=105)" $((at_first + 100000))
same "$(latency host_ioctl_us=101)" "$at_first"

# rocminfo makes dozens of calls.
elapsed host_ioctl_us=1 rocminfo
at_first=$(cat "$work/out")
elapsed host_ioctl_us=1001 rocminfo
[ $(($(cat "$work/out") - at_first)) -ge 20000000 ] ||
	fail "rocminfo takes $at_first ns with calls of 1 us, and $(cat "$work/out") ns with 1001 us"

# A thread that spins until another one, which is charged for its wake, has done something does not
# count as a program that never waits.
expect 0 "$BUILD/kfdsim" --virtual --set host_wake_us=1000 --report "$report" -- "$BUILD/time_spins" virtual handover
virtual_time '.forced == 0'
