#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: when the online process is killed in the middle of a request, the
# offline one is resumed within 100 ms.
set -eu
# shellcheck source=tests/daemon/daemon.inc.sh
. "$SOURCE/tests/daemon/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
# A busy machine may stand still just then: one of three deaths shows it.
ms=""
for attempt in 1 2 3; do
	# as an online process a training, because its requests are long: it is always in one
	LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=online "$BUILD/kfdreplay" \
		--trace "$offline_trace" --closed --seconds 60 >/dev/null 2>>"$work/log" &
	online=$!
	children+=("$online")
	until_true 100 state_is "$offline" suspended || fail "not suspended"
	ms=$("$BUILD/watch_queue" "$offline" "$(rptr_of "$offline")" 30 100 "$online" 9) && break
	echo "attempt $attempt: not within 100 ms after the online process was killed"
	until_true 100 state_is "$offline" running || fail "the offline process does not run again"
done
[ -n "$ms" ] || fail "the offline process does not run 100 ms after the online one was killed"
echo "ran again $ms ms after SIGKILL of the online process"
end_offline
