#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched compare with two commands records both at the same time and compares them, with
# their backlog. It shows what they print, passes on the exit code of the one that fails, and keeps
# the recordings if a directory is named. On SIGTERM it ends both commands and compares what it has;
# if it is killed, both commands end.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world
cd "$work"

# A command that runs until its own recording has a sample with both queues, and then exits with
# $2. $1: the recording, as a pattern.
export replay="$BUILD/kfdreplay --trace $offline_trace --rate 0.01 --seconds 600"
run='$replay >/dev/null 2>&1 &
	until grep -qs "\"phase\":\"sample\".*\"id\":1" $1/index.jsonl; do sleep 0.1; done
	echo "said by $1"; kill $!; wait $! || true; exit $2'

expect 3 "$kfdsched" compare --interval 0.2 -o both -- bash -c "$run" run both/a 0 :: bash -c "$run" run both/b 3
for side in a b; do
	printed_line "said by both/$side"
	grep -qx "said by both/$side" both/$side/stdout.txt || fail "not in the recording: $(cat both/$side/stdout.txt)"
	grep -q '"end"' both/$side/index.jsonl || fail "the recording of $side is not complete"
done
said "kfdsched compare: A: the command exited with 0"
said "kfdsched compare: B: the command exited with 3"
printed "B: bash -c "
grep -q '^B: .*exited with 3$' out || fail "the output does not say how B ended: $(cat out)"
grep -q "Of 2 queue ids\|the same 2 queue ids" out || fail "not compared: $(cat out)"
grep -q "As much work waited\|More work waited" out || fail "nothing about the backlog: $(cat out)"
# Its recordings are like any other.
expect 0 "$kfdsched" compare both/a both/b --json
schema compare out
holds out '.common == 2 and .only_a + .only_b == 0 and .b.exit_code == 3 and .a.signal == null and
	.a.processes[0].backlog.samples >= 1 and .nodes[0].b_backlog != null'

# Without a directory nothing is left, and with --json stdout has only the object.
mkdir tmp
export TMPDIR=$work/tmp
expect 0 "$kfdsched" compare --interval 0.2 --json -- bash -c "$run" run "$TMPDIR/*/a" 0 :: bash -c "$run" run "$TMPDIR/*/b" 0
schema compare out
holds out '.a.exit_code == 0 and .b.exit_code == 0 and (.a.processes | length) == 1 and (.b.processes | length) == 1 and
	.a.processes[0].pid != .b.processes[0].pid'
grep -q "said by" err || fail "what the commands print is not shown"
[ -z "$(ls -A tmp)" ] || fail "files remain: $(ls -R tmp)"

# On SIGTERM it ends both commands and compares what it has.
leave='$replay >/dev/null 2>&1 & echo $! >$1; wait'
"$kfdsched" compare --interval 0.2 -o stopped --json -- bash -c "$leave" run one :: bash -c "$leave" run two >out 2>err &
comparing=$!
children+=("$comparing")
both_have() {
	for side in a b; do
		grep -qs '"phase":"sample".*"id":1' "$1/$side/index.jsonl" || return 1
	done
}
until_true 300 both_have stopped || fail "no samples: $(cat err)"
kill -TERM "$comparing"
wait "$comparing" || fail "after SIGTERM it exits with $?: $(cat err)"
holds out '.common == 2 and .a.exit_code == null'
for pid in "$(<one)" "$(<two)"; do
	has_ended "$pid" || fail "process $pid has not ended"
done

# If it is killed, it leaves no process behind.
"$kfdsched" compare --interval 0.2 -o killed -- bash -c "$leave" run one :: bash -c "$leave" run two >/dev/null 2>&1 &
comparing=$!
children+=("$comparing")
until_true 300 both_have killed || fail "no samples"
kill -KILL "$comparing"
for pid in "$(<one)" "$(<two)"; do
	until_true 300 has_ended "$pid" || fail "process $pid has not ended"
done

# These cannot be compared.
refused 1 "choose one that does not exist" "$kfdsched" compare -o both -- true :: true
expect 1 "$kfdsched" compare -- true :: "$work/nosuch"
said "cannot start '$work/nosuch': No such file"
[ -z "$(ls -A tmp)" ] || fail "files remain: $(ls -R tmp)"
