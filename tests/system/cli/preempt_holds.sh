#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: a hold of `kfdsched preempt --hold` lasts as long as requested, by the daemon's leases and
# by a session of the command's own. The daemon's events have the same length, and the JSON has the
# measured one. The daemon replies to a suspend when the process is suspended, not at its next sweep.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

start_work() {
	LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$SOURCE/traces/offline_gemm4000_f32.csv" \
		--rate 10 --seconds 600 >/dev/null 2>>"$work/log" &
	offline=$!
	children+=("$offline")
	until_true 100 test -e "/sys/class/kfd/kfd/proc/$offline/queues/1" || fail "no queues"
}
preempt() {
	"$kfdsched" preempt "$offline" -n 20 --hold 5ms --pause 7ms --json >"$work/preempt" ||
		fail "$(cat "$work/preempt")"
}

start_daemon
start_work
until_true 100 says "any(.processes[]; .pid == $offline and (.queues|length) > 1)" || fail "no process"
began=$(date +%s%N)
preempt
took_us=$((($(date +%s%N) - began) / 1000))
"$kfdsched" events --json | jq -s "[.[]|select(.pid == $offline and (.kind == \"suspend\" or .kind == \"resume\"))] as \$e |
	[range(0; \$e|length; 2) | \$e[. + 1].time_us - \$e[. + 1].duration_us - \$e[.].time_us]" >"$work/holds"
holds "$work/holds" 'length == 20' 'all(.[]; . >= 4900 and . < 6000)'
holds "$work/preempt" '.by_daemon and .succeeded == 20 and .hold_us == 5000' \
	'.held_us.min >= 4900 and .held_us.max < 6000' '.first.held_us < 6000'
# The limit has room for twenty times 5 ms and 7 ms, the first session, and all suspends and resumes.
[ "$took_us" -lt 600000 ] || fail "20 rounds of 12 ms took $took_us us"

# The daemon also replies at once to a lease with a time.
began=$(date +%s%N)
"$kfdsched" suspend "$offline" --for 5 2>/dev/null
took_us=$((($(date +%s%N) - began) / 1000))
[ "$took_us" -lt 15000 ] || fail "the reply to a suspend took $took_us us"
"$kfdsched" resume "$offline" 2>/dev/null

kill -TERM "$daemon"
until_true 50 has_ended "$daemon" || fail "the daemon has not ended"
preempt
holds "$work/preempt" '(.by_daemon|not) and .succeeded == 20' '.held_us.min >= 4900 and .held_us.max < 6000'
schema preempt "$work/preempt"
