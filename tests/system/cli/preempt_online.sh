#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched preempt --online measures the requests during the holds and outside, in table,
# JSON and plot, by a session of the command's own and by the daemon's leases. If the request's
# command fails, preempt says so before it suspends anything. No request outlives kfdsched.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv
# A request depends on the hold: it takes 5 ms while the process is held, else 15 ms.
# shellcheck disable=SC2016 # for the inner shell
request='[ -e "$HELD" ] && exec sleep 0.005; exec sleep 0.015'
export HELD=$work/held
is_right() {
	holds "$work/out" '.succeeded == 4 and .online.failed == 0 and .online.left_out == 0' \
		'.online.held_us | .requests >= 4 and .min >= 5000' '.online.outside_us | .requests >= 4 and .min >= 5000'
	schema preempt "$work/out"
}
preempt() {
	expect 0 "$kfdsched" preempt "$offline" -n 4 --hold 400ms --pause 400ms --slow 10s --online "$@"
}

LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$offline_trace" --rate 10 --seconds 600 \
	>/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
until_true 100 test -e "/sys/class/kfd/kfd/proc/$offline/queues/1" || fail "no queues"
preempt "$request" --json
is_right
holds "$work/out" '.by_daemon | not'

start_daemon
until_true 100 says "any(.processes[]; .pid == $offline and (.queues|length) > 1)" || fail "no process"
# With a daemon, the request reads from the daemon's events whether the process is held.
follow_holds() {
	"$kfdsched" events --follow --json | while read -r event; do
		case $event in
		*'"kind":"suspend"'*) : >"$HELD" ;;
		*'"kind":"resume"'*) rm -f "$HELD" ;;
		esac
	done
}
follow_holds &
children+=("$!")
preempt "$request" --json --svg "$work/plot.svg"
is_right
holds "$work/out" '.by_daemon and .online.outside_us.median >= 15000 and .online.held_us.median < 15000' \
	".online.command | test(\"sleep 0.005\")"
xmllint --noout "$work/plot.svg" || fail "the plot is not well-formed"
grep -q "online, outside" "$work/plot.svg" || fail "the plot has no requests"
preempt "sleep 0.01"
grep -qE "^online, held +[0-9]+ +[0-9.]+ ms " "$work/out" || fail "no row of requests: $(cat "$work/out")"
grep -qE "^online, outside +[0-9]+ +[0-9.]+ ms " "$work/out" || fail "no row of requests: $(cat "$work/out")"
# A request that does not sleep lets the time go on, and ends.
preempt true
# A request that takes longer than a hold is reported.
expect 0 "$kfdsched" preempt "$offline" -n 2 --hold 1ms --pause 1ms --slow 10s --online "sleep 0.5"
printed "a longer --hold"

before=$(says "true" && status | jq ".processes[]|select(.pid == $offline).suspends")
refused 1 "exit code 3" "$kfdsched" preempt "$offline" -n 2 --online "exit 3"
[ "$(status | jq ".processes[]|select(.pid == $offline).suspends")" = "$before" ] || fail "the process was suspended all the same"

# The requests end with kfdsched.
"$kfdsched" preempt "$offline" -n 100 --hold 1s --pause 1s --slow 10s --online "exec sleep 600.25" >/dev/null 2>&1 &
preempting=$!
children+=("$preempting")
asks() {
	pgrep -fx "sleep 600.25" >/dev/null
}
no_request_runs() {
	! asks
}
until_true 100 asks || fail "no request"
kill -KILL "$preempting"
until_true 50 no_request_runs || fail "a request outlives kfdsched"
