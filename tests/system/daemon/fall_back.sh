#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process that cannot have a debug session of the daemon is held by the next
# level down, and the status says why: gate where the part cannot debug (CASE=part) or the driver
# saves no waves (CASE=cwsr: on a GPU; CASE=cwsr_off: on none), self where the daemon may not
# trace (CASE=right). What does not change is not tried again. Without CWSR nothing else touches
# queues either: no session for kfdsched preempt, and a named level is observed.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"

case $CASE in
part) # the capability without its bits for debugging (15 and 29)
	world=capability=$((746037888 & ~(1 << 15) & ~(1 << 29)))
	reason='^its runtime cannot be enabled: Operation not supported'
	;;
cwsr)
	world=cwsr_size=0
	reason='^running waves cannot be saved by GPU [0-9]+ .cwsr_size 0'
	;;
cwsr_off)
	world=cwsr_enable=0
	reason='^running waves cannot be saved .amdgpu.cwsr_enable=0'
	;;
esac
in_a_world

if [ "$CASE" != right ]; then
	start_daemon
	offline_level=gate
else
	"$BUILD/run_deny" ptrace "$BUILD/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" \
		"${daemon_options[@]}" 2>>"$work/log" &
	daemon=$!
	children+=("$daemon")
	until_true 100 listens_since 0 || fail "no socket"
	reason='^not allowed to trace process [0-9]+'
	offline_level=self
fi
start_online
start_offline --requests 3000
comes_to_level "$offline_level" "$reason"
suspend_and_resume "$offline"
sleep 2.5
comes_to_level "$offline_level" "$reason" # nothing has changed, so nothing is tried
[ "$(grep -c "process $offline .*level " "$work/log")" -eq 1 ] || fail "it was tried again"
suspend_and_resume "$offline"
end_offline
says '.totals.suspends == .totals.resumes and .totals.failures == 0' || fail "suspends and resumes differ"
case $CASE in cwsr*)
	offline_level=observe
	for named in trap self; do
		KFDSHIM_LEVEL=$named start_offline --seconds 600
		comes_to_level observe "${reason#^}"
		expect '[1-9]*' "$kfdsched" preempt "$offline"
		said "running waves cannot be saved"
		end_offline
	done
	;;
esac
