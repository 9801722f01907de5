#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched record records which processes used a GPU before the command, the queues of the
# command's processes (also of one that has lost its parent) with the text of debugfs, the command's
# output, which it also shows, the processes that are left, and how the command ended. On SIGTERM it
# ends the command and keeps the recording; if it is killed, the command ends, too. Two such runs,
# and two running processes, are compared.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

train="$BUILD/kfdreplay --trace $offline_trace --rate 0.01"
has_samples() {
	[ "$(grep -cs '"phase":"sample"' "$work/$1/index.jsonl" || true)" -ge "$2" ] 2>/dev/null
}

$train --seconds 600 >/dev/null 2>&1 &
other=$!
children+=("$other")
knows_other() {
	"$kfdsched" monitor "$other" --seconds 0.001 2>/dev/null | grep -q '2 queues (ids 0-1)'
}
until_true 300 knows_other || fail "no queues"

# The command waits for its samples and not for a time: a slow machine gets its samples, too.
run='(setsid '$train' --seconds 600 >/dev/null 2>&1 & echo $! >left)
	until grep -qs "\"phase\":\"sample\".*\"id\":1" "$1/index.jsonl"; do sleep 0.1; done
	echo said; echo complained >&2; kill $(cat left)
	while kill -0 $(cat left) 2>/dev/null; do sleep 0.1; done; exit 3'
cd "$work"
code=0
"$kfdsched" record -o one --samples 1000 --interval 0.2 -- bash -c "$run" run one >out 2>err || code=$?
[ "$code" = 3 ] || fail "record ends with $code, not with the command's 3"
grep -q "the command exited with 3" err || fail "the exit code is not reported: $(cat out err)"
for kept in out one/stdout.txt; do grep -qx said "$kept" || fail "not in $kept"; done
for kept in err one/stderr.txt; do grep -qx complained "$kept" || fail "not in $kept"; done
expect 0 "$kfdsched" analyze one --json
schema analyze "$work/out"
holds "$work/out" '.complete and .exit_code == 3 and .baseline == {processes: 1, queues: 2} and .final == .baseline and
	(.processes | length) == 1 and .processes[0].comm == "kfdreplay" and .nodes[0].hqds_per_queue == {min: 1, max: 1}' \
	".gpu_processes | .begin == [{pid: $other, comm: \"kfdreplay\", role: null}] and .end == .begin"
name=$(jq -r '.mqds // empty' one/index.jsonl | tail -n 1)
grep -q "Compute queue on device" "one/$name" || fail "no text of debugfs: $(ls one)"
expect 1 "$kfdsched" record -o one -- true
grep -q "not empty" "$work/err" || fail "another recording is overwritten: $(cat err)"
expect 143 "$kfdsched" record -o signalled -- sh -c 'kill -TERM $$'
expect 1 "$kfdsched" record -o fails -- "$work/nosuch"
grep -q "cannot start '$work/nosuch': No such file" "$work/err" || fail "the error gives no reason: $(cat err)"

# The same command once more, and SIGTERM.
"$kfdsched" record -o two --interval 0.2 --json -- bash -c "$train --seconds 600 & wait" >out 2>err &
recorder=$!
has_queue_samples() {
	grep -qs '"phase":"sample".*"id":1' two/index.jsonl && has_samples two 3
}
until_true 300 has_queue_samples || fail "no samples: $(cat err)"
kill -TERM "$recorder"
wait "$recorder" || fail "after SIGTERM it exits with $?: $(cat err)"
schema record out
holds "$work/out" '.reason == "stopped" and .samples >= 3 and .most_queues == 2'
expect 0 "$kfdsched" analyze two --json
holds "$work/out" '.reason == "stopped" and .final.processes == 1'
expect 0 "$kfdsched" compare one two --json
schema compare "$work/out"
holds "$work/out" '.common == 2 and .only_a + .only_b + .differing == 0 and .shared_nodes == 1'

# When kfdsched is killed, the command ends.
"$kfdsched" record -o three --interval 0.2 -- sh -c 'echo $$ >pid; exec sleep 600' >/dev/null 2>&1 &
recorder=$!
until_true 300 has_samples three 1 || fail "no samples"
until_true 300 test -s pid || fail "the command has not begun"
kill -KILL "$recorder"
until_true 100 has_ended "$(cat pid)" || fail "the command has not ended"

# A running process is compared with the recording, and with another process.
$train --seconds 600 >/dev/null 2>&1 &
second=$!
children+=("$second")
has_second() {
	"$kfdsched" monitor "$second" --seconds 0.001 2>/dev/null | grep -q '2 queues (ids 0-1)'
}
until_true 300 has_second || fail "no queues"
expect 0 "$kfdsched" compare "$other" "$second" --json
schema compare "$work/out"
holds "$work/out" '.ids_predictable and .common == 2 and .nodes[0].a_compute_queues == 2 and .nodes[0].compute_slots == 24 and
	(.same_process | not)'
expect 0 "$kfdsched" compare one "$other"
grep -q "process $other (kfdreplay) queues: 2 in each of 5 samples, stable" out || fail "its queues are not reported: $(cat out)"
expect 0 "$kfdsched" compare "$other" "$other" --json
holds "$work/out" .same_process
expect 1 "$kfdsched" compare one $$
grep -q "process $$ .*no source reports queues" err || fail "the error gives no reason: $(cat err)"
