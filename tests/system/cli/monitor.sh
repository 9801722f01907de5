#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched monitor prints a line for each sample and a summary, for a process without the
# shim and with it, without a daemon and with one. It reports ids that appear and disappear, and a
# process that ends, does not exist or has no known queues. On SIGTERM it prints its summary. A
# recording is readable however it ended, and overwrites nothing.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
# shellcheck source=tests/lib/stand_in.inc.sh
. "$SOURCE/tests/lib/stand_in.inc.sh"
in_a_world

# is_so EXPRESSION: the expression is true of the output, which keeps to its schema.
is_so() {
	holds "$work/out" "$1"
	schema monitor "$work/out"
}
# start_training VARIABLE...: starts a training with these in its environment, as $!.
start_training() {
	env "$@" "$BUILD/kfdreplay" --trace "$offline_trace" --rate 0.01 --seconds 600 >/dev/null 2>&1 &
	children+=("$!")
	until_true 300 has_two "$!" || fail "no queues"
}
has_two() {
	"$kfdsched" monitor "$1" --seconds 0.001 2>/dev/null | grep -q '2 queues (ids 0-1)'
}

# Without the shim and without a daemon, the source is sysfs.
start_training
plain=$!
expect 0 "$kfdsched" monitor "$plain" --seconds 2 --interval 1
sed -E "s/(process|diagnose) $plain/\1 P/; s/\[ *[0-9.]+s\]/[T]/; s/in [0-9.]+ s$/in T/" \
	"$work/out" >"$work/shown"
diff -u "$SOURCE/tests/system/cli/monitor.golden" "$work/shown" || fail "the text is not the expected one"
[ ! -s "$work/err" ] || fail "stderr is not empty: $(cat "$work/err")"
expect 0 "$kfdsched" monitor "$plain" --seconds 200ms --interval 1ms --source sysfs --json
is_so ".pid == $plain and .samples + .missed_samples == 201 and (.stable or .samples == 1) and
	.sources == {sysfs: .samples} and [.presence[].present_ratio] == [1, 1]"

# The recording has every sample, also after a kill.
"$kfdsched" monitor "$plain" --interval 50ms --record "$work/killed" >/dev/null &
killed=$!
has_samples() {
	[ "$(grep -cs phase "$work/$1/index.jsonl" || true)" -ge 3 ] 2>/dev/null
}
until_true 300 has_samples killed || fail "nothing is recorded"
kill -KILL "$killed"
wait "$killed" 2>/dev/null || true
expect 0 "$kfdsched" analyze "$work/killed"
printed "The recording was cut off"
[ "$(stat -c %a "$work/killed" "$work/killed/index.jsonl" | xargs)" = "700 600" ] || fail "other users may read the recording"
expect 1 "$kfdsched" monitor "$plain" --record "$work/killed"
said "not empty"
mkdir "$work/other"
ln -s "$work/other" "$work/link"
expect 1 "$kfdsched" monitor "$plain" --record "$work/link"
said "$work/link"
[ -z "$(ls -A "$work/other")" ] || fail "it wrote to the target of a link"

# With a daemon, the daemon is the source, but not each millisecond.
start_daemon
start_training "LD_PRELOAD=$BUILD/libkfdshim.so" KFDSHIM_PRIORITY=offline
shim=$!
until_true 300 says ".processes[] | select(.pid == $shim) | .queues | length == 2" ||
	fail "the daemon does not list the process"
expect 0 "$kfdsched" monitor "$shim" --seconds 0.2 --interval 0.1 --json
is_so '(.sources | keys) == ["daemon"] and .presence[1].type == "aql"'
expect 0 "$kfdsched" monitor "$shim" --seconds 50ms --interval 1ms --json
is_so '(.sources | keys) == ["sysfs"] and (.stable or .samples == 1)'

# The command gets SIGTERM, or the process ends.
"$kfdsched" monitor "$plain" --seconds 600 --interval 0.1 --record "$work/stopped" >"$work/out" 2>"$work/err" &
stopped=$!
until_true 300 has_samples stopped || fail "nothing is recorded"
kill -TERM "$stopped"
wait "$stopped" || fail "after SIGTERM it exits with $?"
printed "The ids were the same in all"
expect 0 "$kfdsched" analyze "$work/stopped" --json
jq -e '.complete and .reason == "stopped"' "$work/out" >/dev/null || fail "the recording has no end: $(cat "$work/out")"
"$kfdsched" monitor "$plain" --seconds 600 --interval 0.1 >"$work/out" 2>"$work/err" &
stopped=$!
until_true 300 grep -q 'sample 2' "$work/out" || fail "no samples"
kill -KILL "$plain"
wait "$stopped" || fail "after the end of the process it exits with $?"
printed "; then the process ended"

# Ids appear and disappear: a stand-in for the daemon reports them of this shell.
answer() {
	jq -n --argjson pid $$ --argjson ids "[$1]" '[$ids[] | {id: ., gpu_id: 7, type: "aql", ring_bytes: 4096}] as $queues |
		{process: {pid: $pid, queues: $queues}, processes: [{pid: $pid, queues: $queues}]}' >"$work/answer.new"
	mv "$work/answer.new" "$work/answer"
}
answer 0,1,2
FAKE_ANSWER="cat $work/answer" start_stand_in "$work/fake"
"$kfdsched" monitor $$ --socket "$work/fake" --seconds 600 --interval 0.1 >"$work/out" 2>"$work/err" &
stopped=$!
until_true 300 grep -q 'sample 2: 3 queues (ids 0-2)' "$work/out" || fail "no samples: $(cat "$work/out" "$work/err")"
answer 0,2,5,6
until_true 300 grep -q '4 queues (ids 0,2,5-6), new 5-6, gone 1$' "$work/out" || fail "no change is reported: $(cat "$work/out")"
kill -TERM "$stopped"
wait "$stopped" || fail "after SIGTERM it exits with $?"
printed "not stable: 1 differs from the previous one; source daemon"
printed "The ids changed"

# There is no such process, or it has no queues.
expect 1 "$kfdsched" monitor "$plain"
said "there is no process $plain"
expect 1 "$kfdsched" monitor $$
said "process $$ (bash): no source reports queues"
[ ! -s "$work/out" ] || fail "something on stdout: $(cat "$work/out")"
expect 2 "$kfdsched" monitor $$ --source trap --interval 10ms
said "100ms or longer"
