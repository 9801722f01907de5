#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched events prints what the daemon has done before the request, with the reason, the
# cause and the latency of each decision, and ends; with --last only the last N. Each line keeps to
# its schema. --follow continues with new events, without a gap and without a repetition, and stops
# cleanly on SIGTERM. If there are more events than are kept, the oldest are dropped.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

events() {
	"$kfdsched" events "$@"
}
# has_event FILTER: the daemon keeps such an event.
has_event() {
	events --json | jq -es "any(.[]; $1)" >/dev/null
}
numbers_of() {
	jq -s "[.[].number] | . == [range(.[0]; .[0] + length)]" "$1"
}

start_daemon
[ -z "$(events)" ] || fail "events of nothing: $(events)"
# The workload has little to do, because its work does not matter.
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" \
	--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 10 --seconds 600 >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
until_true 100 state_is "$offline" running || fail "no offline process: $(status | jq -c .processes)"
# Both of its queues are there: during the creation of one it is resumed for it.
until_true 100 says ".processes[]|select(.pid == $offline)|.level == \"trap\" and (.queues|length) > 1" ||
	fail "$(status | jq -c .processes)"
start_online
suspend_offline
send off
until_true 100 has_event '.kind == "resume"' || fail "no resume: $(events)"
events --json >"$work/events"
schema events "$work/events" --lines
jq -es "[.[]|select(.kind == \"suspend\")][0] | .pid == $offline and .cause_pid == $online and
	.reason == \"preempted\" and .latency_us > 0 and .duration_us > 0" "$work/events" >/dev/null ||
	fail "no command was following, and the suspend is not listed: $(cat "$work/events")"
[ "$(numbers_of "$work/events")" = true ] || fail "a gap: $(cat "$work/events")"

# The sentences are compared as a whole, except for times and pids.
TZ=UTC events >"$work/text"
sed -E "s/^[0-9:.]+ /TIME /; s/process $offline /process A /; s/process $online([ ,])/process B\1/g
	s/[0-9.]+ (us|ms|s) after/T after/; s/took [0-9.]+ (us|ms|s),/took T,/
	s/user [0-9]+/user U/" "$work/text" >"$work/golden"
diff -u "$SOURCE/tests/system/cli/events.golden" <(head -n 5 "$work/golden") || fail "other sentences"
[ "$(events --last 2 --json | jq -c .number)" = "$(tail -n 2 "$work/events" | jq -c .number)" ] ||
	fail "not the last two"
[ -z "$(events --last 0)" ] || fail "--last 0 prints something"

# The last events that are kept and the new ones follow each other, while events come all the time.
for i in $(seq 12); do
	"$kfdsched" policy observe >/dev/null
	"$kfdsched" policy strict >/dev/null
	if [ "$i" = 3 ]; then
		"$kfdsched" events --follow --json >"$work/followed" 2>"$work/talk" &
		follower=$!
		children+=("$follower")
	fi
done
newest=$(events --last 1 --json | jq .number)
has_newest() {
	grep -q "\"number\":$newest," "$work/followed"
}
until_true 100 has_newest || fail "not followed to $newest: $(tail -n 1 "$work/followed")"
[ "$(numbers_of "$work/followed")" = true ] || fail "a gap or a repetition: $(jq -c .number "$work/followed")"
[ "$(head -n 1 "$work/followed" | jq .number)" = 1 ] || fail "the events before the command are missing"
kill -TERM "$follower" # a background job of a script ignores SIGINT
code=0
wait "$follower" || code=$?
[ "$code" = 0 ] || fail "after SIGTERM: exit code $code"
[ ! -s "$work/talk" ] || fail "stderr is not empty: $(cat "$work/talk")"
[ "$(events --follow --last 3 --count 2 | wc -l)" = 2 ] || fail "--count 2 printed another number"

# The reader has gone: the command ends, and does not wait for the next event.
timeout 20 "$kfdsched" events --follow | head -n 1 >/dev/null
[ "${PIPESTATUS[0]}" != 124 ] || fail "the reader has gone, but the command has not ended"

# The daemon keeps the newest 256 events.
kill -KILL "$offline"
forgotten() {
	for ((i = 0; i < 20; i++)); do
		send priority $((9 + i % 2)) # the daemon may see several of them at once
	done
	events --json >"$work/events"
	[ "$(wc -l <"$work/events")" = 256 ] && [ "$(head -n 1 "$work/events" | jq .number)" -gt 1 ]
}
until_true 600 forgotten || fail "$(wc -l <"$work/events") are kept, the first is $(head -n 1 "$work/events")"
[ "$(numbers_of "$work/events")" = true ] || fail "a gap among the kept: $(jq -c .number "$work/events")"
