#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if other driver calls of a process hold its mutex, so that each suspend waits longer than
# slow_suspend_us, the daemon does not blame the GPU and suspends the process again and again. If
# the GPU itself takes long, the process is not suspended any more after three slow suspends in a
# row (SLOW=1), and the status gives the reason; nor does it get another session (AUTO=auto: its
# level may change). A wait of more than 4 s, the first after quick
# suspends, is not taken for the reset of a queue either (FIRST=1). LEVEL=self: the same for a
# process that suspends itself.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
world=pin_us=500000
# The pause of 1 or 2 s after a slow suspend has to end within an allocation again.
[ -z "${LEVEL:-}" ] || world=pin_us=700000
[ -z "${SLOW:-}" ] || world=preempt_us=80000
[ -z "${FIRST:-}" ] || world=pin_us=4800000
in_a_world

printf '[scheduler]\nslow_suspend_us = 50000\nhold_over = no\n' >"$work/patient.ini"
start_daemon
start_online
export PINNING=$work/pinning LD_PRELOAD=$PINNING_LIBRARY:$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline
KFDSHIM_LEVEL=${AUTO:-${LEVEL:-trap}} "$BUILD/kfdreplay" --trace "$offline_trace" --closed --seconds 600 >/dev/null \
	2>>"$work/log" &
offline=$!
unset LD_PRELOAD
children+=("$offline")
until_true 100 says ".processes[]|select(.pid == $offline)|.level == \"${LEVEL:-trap}\" and .active" ||
	fail "no offline process at level ${LEVEL:-trap}: $(status | jq -c .processes)"

cycle() {
	send on
	until_true 29 state_is "$offline" suspended || return 1 # more than the longest pause
	send off
	until_true 100 state_is "$offline" running || fail "not resumed"
}
# has_waited US: a suspend has waited that long for other driver calls. US is a regular expression.
has_waited() {
	grep -qE "process $offline .* (after a wait of $1 us for|its suspend took $1 us while) other driver calls" \
		"$work/log"
}
if [ -n "${AUTO:-}" ]; then
	for _ in {1..3}; do
		cycle || fail "not suspended: $(status | jq -c .processes)"
	done
	until_true 100 says ".processes[]|select(.pid == $offline)|.level == \"gate\"" ||
		fail "not at level gate: $(status | jq -c .processes)"
	sleep 3 # virtual time; the first attempt would come after 1 s
	says ".processes[]|select(.pid == $offline)|.level == \"gate\"" ||
		fail "level trap again: $(status | jq -c .processes)"
	exit
fi
if [ -n "${SLOW:-}" ]; then
	times=0
	while cycle; do
		times=$((times + 1))
		[ $times -lt 5 ] || fail "suspended for the fifth time by a GPU that takes 80 ms"
	done
	[ $times = 3 ] || fail "suspended $times times, not 3"
	says ".processes[]|select(.pid == $offline)|
		.reason|test(\"a suspend took [0-9]+ us, the last of 3 in a row\")" ||
		fail "no reason: $(status | jq -c .processes)"
	exit
fi
if [ -n "${FIRST:-}" ]; then
	for _ in {1..2}; do
		cycle || fail "not suspended: $(status | jq -c .processes)"
	done
	says '.totals.suspend_ns.max < 10000000' || fail "no suspend was quick"
	: >"$PINNING"
	sleep 0.2 # so that an allocation is under way
	rm "$PINNING"
	send on
	until_true 100 state_is "$offline" suspended || fail "not suspended: $(status | jq -c .processes)"
	has_waited '[4-9][0-9]{6}' || fail "no suspend waited for 4 s"
	send off
	until_true 100 state_is "$offline" running || fail "not resumed"
	says ".processes[]|select(.pid == $offline)|.level == \"trap\" and .reason == \"\"" ||
		fail "taken for a reset: $(status | jq -c .processes)"
	exit
fi
: >"$PINNING"
for _ in {1..5}; do
	sleep 0.2 # so that the next allocation is under way: a resume ends with one
	cycle || fail "not suspended: $(status | jq -c .processes)"
done
has_waited '[0-9]{6,}' || fail "no suspend was slow, so this test proves nothing"
says ".processes[]|select(.pid == $offline)|.reason == \"\"" ||
	fail "there is a reason: $(status | jq -c .processes)"
