#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process of KFDSHIM_LEVEL=$LEVEL is held $CYCLES times (100) at random, in
# which ever API ($API) it works, executes every workgroup once, and is left running.
# By order it holds itself back, and is never traced; level trap is the daemon's own.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
offline_level=$LEVEL
export KFDSHIM_LEVEL=$LEVEL
# With HIP it ends by itself, because HIP leaves its queues to the driver.
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
	# since Linux 6.12.103 the session is enough
	case ${kernel:-} in
	6.12.107 | 7.3) [ "$traced" -eq 0 ] || fail "it is traced without need" ;;
	*) [ "$traced" -ne 0 ] || fail "it is held, and not traced" ;;
	esac
else
	[ "$traced" -eq 0 ] || fail "it is traced"
fi
send off
until_true 50 state_is "$offline" running || fail "not resumed"
send cycle 1 "${CYCLES:-100}" 1000
says ".totals.suspends >= ${CYCLES:-100} and .totals.failures == 0" ||
	fail "not enough: $(status | jq -c '.totals|{suspends, resumes, failures}')"
kill -0 "$offline" || fail "it ended too early to be of use"
if [ "${API:-hsa}" = hsa ]; then
	end_offline
else
	wait "$offline"
	counts_are_right
fi
says '.totals.suspends == .totals.resumes' || fail "suspends and resumes differ"
