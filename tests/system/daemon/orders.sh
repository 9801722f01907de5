#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process with KFDSHIM_LEVEL=$LEVEL that uses $API is held $CYCLES times (100) at random
# moments, executes every workgroup once, and runs at the end. At the levels below trap it holds
# itself on command and is never traced.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
offline_level=$LEVEL
export KFDSHIM_LEVEL=$LEVEL
# With HIP the process ends by itself, because HIP leaves its queues to the driver.
case ${API:-hsa} in
hsa) work_length=(--seconds 600) ;;
*) work_length=(--requests 50) ;;
esac
start_offline "${work_length[@]}" --api "${API:-hsa}"
unset KFDSHIM_LEVEL
start_online
suspend_offline
traced=$(proc_status "$offline" TracerPid)
if [ "$LEVEL" = trap ]; then
	# Since Linux 6.12.103 the session alone is enough.
	case ${kernel:-} in
	6.12.107 | 7.3) [ "$traced" -eq 0 ] || fail "the process is traced without need" ;;
	*) [ "$traced" -ne 0 ] || fail "the process is held, but not traced" ;;
	esac
else
	[ "$traced" -eq 0 ] || fail "the process is traced"
fi
send off
until_true 50 state_is "$offline" running || fail "not resumed"
send cycle 1 "${CYCLES:-100}" 1000
says ".totals.suspends >= ${CYCLES:-100} and .totals.failures == 0" ||
	fail "too few suspends: $(status | jq -c '.totals|{suspends, resumes, failures}')"
kill -0 "$offline" || fail "the process ended too early, so this test proves nothing"
if [ "${API:-hsa}" = hsa ]; then
	end_offline
else
	wait "$offline"
	counts_are_right
fi
says '.totals.suspends == .totals.resumes' || fail "suspends and resumes differ"
