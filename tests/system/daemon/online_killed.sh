#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: when the online process is killed in the middle of a request, the offline process runs
# again within WITHIN_MS, after each of DEATHS deaths. Time in which the host had taken a core away
# is not counted (watch_queue.c).
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
late=0
for ((death = 1; death <= DEATHS; death++)); do
	# The online process is a training, because its requests are long: it always works on one.
	LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=online "$BUILD/kfdreplay" \
		--trace "$offline_trace" --closed --seconds 600 >/dev/null 2>>"$work/log" &
	online=$!
	children+=("$online")
	until_true 100 state_is "$offline" suspended || fail "not suspended"
	if ms=$("$BUILD/watch_queue" "$offline" "$(rptr_of "$offline")" 30 "$WITHIN_MS" "$online" 9); then
		echo "death $death: ran again $ms ms after SIGKILL of the online process"
	else
		late=$((late + 1))
		echo "death $death: not within $WITHIN_MS ms after SIGKILL of the online process"
	fi
	until_true 100 state_is "$offline" running || fail "the offline process does not run again"
done
[ "$late" = 0 ] || fail "after $late of $DEATHS deaths the offline process did not run within $WITHIN_MS ms"
end_offline
