#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves each policy end to end, one configuration after the other by SIGHUP: strict holds offline
# work while more urgent work is active; share leaves it its share of each window; deadline holds it
# only when the slack is used up; observe never holds it, and releases what was held before.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# policy RULE [SHARE]: puts this policy into force.
policy() {
	printf '[scheduler]\nslow_suspend = 10s\nshare_window = 400ms\n[node all]\npolicy = %s\n' "$1" >"$work/policy.ini"
	[ -z "${2:-}" ] || echo "share = $2" >>"$work/policy.ini"
	[ -z "${daemon:-}" ] || kill -HUP "$daemon"
	echo "policy $*"
}
of_offline() {
	status | jq ".processes[]|select(.pid == $offline)|.$1"
}
held_since() {
	[ "$(of_offline suspends)" -gt "$1" ]
}
suspends_now() {
	until_true 50 state_is "$offline" running || fail "not resumed: $(of_offline state)"
	of_offline suspends
}

policy strict
daemon_options=(--config "$work/policy.ini")
start_daemon
start_offline --seconds 600
start_online
suspend_offline
sleep 1
state_is "$offline" suspended || fail "strict: it runs beside the online client"
[ "$(of_offline suspends)" = 1 ] || fail "strict: it ran meanwhile"

policy observe
until_true 50 state_is "$offline" running || fail "observe: it is still held"
before=$(of_offline suspends)
send off
send on
sleep 0.5
[ "$(of_offline suspends)" = "$before" ] || fail "observe: it was suspended"
state_is "$offline" running || fail "observe: it is held"
until_true 50 says ".processes[]|select(.pid == $offline)|.observed" || fail "observe: the status does not show it"

# The online client is active all the time.
policy share 40%
until_true 50 held_since "$before" || fail "share: it is never held"
# One reading by the daemon's clock: the time, how long the process was held, and how often.
figures() {
	status | jq -r "[.daemon.uptime_us, (.processes[]|select(.pid == $offline)|.suspended_us, .suspends)]|@tsv"
}
read -r begun held holds < <(figures)
sleep 2.4
read -r end held_then holds_then < <(figures)
share=$((100 * (held_then - held) / (end - begun))) holds=$((holds_then - holds))
echo "share: held for $share % of $(((end - begun) / 1000)) ms, $holds times"
# If a busy machine delays the daemon, the process runs through a window, or is held until the
# daemon has a CPU again.
[ $share -le 80 ] || fail "share: it has not had its 40 %"
[ $share -ge 30 ] || fail "share: it had far more than its 40 %"
[ "$holds" -ge 2 ] || fail "share: not window by window"
send off

policy deadline
kill "$online"
rm "$work/words" "$work/answers"
start_online # without the learned times of the first one
for _ in 1 2 3 4 5 6; do # the daemon learns how long its requests take
	send on
	sleep 0.02
	send off
	sleep 0.02
done
before=$(suspends_now)
send slo 60000000
send on
sleep 0.5
[ "$(of_offline suspends)" = "$before" ] || fail "deadline: preempted although there is slack"
send off
send slo 2000000
send on
sleep 0.1
state_is "$offline" running || fail "deadline: preempted before it was due"
until_true 50 state_is "$offline" suspended || fail "deadline: not preempted when it was due"
send off
before=$(suspends_now)
send slo 1000 # less than a request takes
send on
until_true 50 held_since "$before" || fail "deadline: not preempted without slack"
send off

end_offline
says '.totals.suspends == .totals.resumes and .totals.failures == 0' ||
	fail "a suspend has no resume: $(status | jq -c '.totals|{suspends, resumes, failures}')"
