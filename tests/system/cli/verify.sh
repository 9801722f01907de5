#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched verify finds that all sources agree on a process with the shim and on one
# without, with a debug session and without, and leaves no session behind. A suspended queue is in
# no slot, which is no difference. One source alone is not enough for a verdict.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# verify CODE ARGUMENT...: the output goes to $work/out and $work/err.
verify() {
	local code=$1
	shift
	expect "$code" "$kfdsched" verify "$@"
}
value() {
	holds "$work/out" "$1"
}

# start_queues VARIABLE...: starts a process with three queues that stay until end_queues, as $process.
start_queues() {
	rm -f "$work/hold"
	mkfifo "$work/hold"
	env "$@" "$BUILD/matrix_queues" --hold <"$work/hold" >"$work/steps" 2>"$work/words" &
	process=$!
	children+=("$process")
	exec {hold}>"$work/hold"
}
end_queues() {
	exec {hold}>&-
	wait "$process" || fail "the process did not end as it should: $(cat "$work/steps" "$work/words")"
	children=()
}
three_by() {
	"$kfdsched" queues "$process" --json >"$work/queues" 2>/dev/null &&
		jq -e "[.queues[] | select(.sources.$1 != null and .mqds != null)] | length == 3" "$work/queues" >/dev/null
}

# Only the driver reports its queues. The session is opened twice, to show that nothing is left.
start_queues
until_true 300 three_by ring_bytes || fail "no queues: $(cat "$work/steps" "$work/words")"
verify 0 "$process" --json
value '.verdict == "agree" and ([.queues[].reported.mqd] == ["yes", "alike", "alike"]) and all(.queues[]; .reported.trap == null)'
for _ in 1 2; do
	verify 0 "$process" --trap --json
	schema verify "$work/out"
	value 'all(.queues[]; .reported.trap == "yes" and .reported.mqd == "yes" and .sources.cwsr_bytes == "trap")'
	value '.all.active_hqds == 3'
	grep -q "^TracerPid:.0$" "/proc/$process/status" || fail "the process is still traced"
done
thread=$(find "/proc/$process/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vx "$process" | head -n 1)
verify 77 "$thread"
grep -q "thread" "$work/err" || fail "$(cat "$work/err")"
# Without debugfs, sysfs is the only source.
alone=0
unshare -m sh -c "mount -t tmpfs none /sys/kernel/debug && '$kfdsched' verify $process" >"$work/out" 2>&1 || alone=$?
[ "$alone" = 77 ] || fail "one source alone: $alone: $(cat "$work/out")"
printed "cannot tell: only sysfs has data"
printed "there is no /sys/kernel/debug/kfd"
end_queues

# With the shim and without a daemon.
start_queues LD_PRELOAD="$BUILD/libkfdshim.so" KFDSHIM_PRIORITY=offline
with=$process
until_true 300 three_by hsa_queue || fail "the process with the shim has no client shared memory: $(cat "$work/steps" "$work/words")"
verify 0 "$with"
sed -E "s/process $with /process P /; s/0x[0-9a-f]{12}/ADDRESS_______/; s#at /.*#at SOCKET#; s/ +\$//" "$work/out" >"$work/golden"
diff -u "$SOURCE/tests/system/cli/verify.golden" "$work/golden" || fail "the table is not the expected one"
verify 0 "$with" --json
schema verify "$work/out"
value '.verdict == "agree" and .samples <= 5 and .differences == []'
value '[.sources[] | select(.answered) | [.source, .queues]] == [["shm", 3], ["sysfs", 3], ["mqd", 3], ["hqd", 3]]'
value 'all(.queues[]; .reported == {daemon: null, shm: "yes", trap: null, sysfs: "yes", mqd: "yes", hqd: "yes"})'
value '.all | .xccs == 1 and .compute_queues == 3 and .mqds == 3 and .active_hqds == 3 and .ratio == "1:1"'

# With a daemon, which has the session.
eval "start_daemon $hold>&-" # without this descriptor, because an open pipe does not end
until_true 100 says ".processes[]|select(.pid == $with)|.level == \"trap\"" || fail "not at level trap"
"$kfdsched" suspend "$with" --for 60 >/dev/null
verify 0 "$with" --trap
printed "is in no hardware slot: it is suspended"
printed "agree: shm, sysfs and mqd report the same 3 queues"
grep -q "^trap .*$with" "$work/out" || fail "no reason why there is no snapshot: $(cat "$work/out")"
verify 0 "$with" --json
value '.all.active_hqds == 0 and .all.in_no_slot == 3 and .all.ratio == null'
value 'all(.queues[]; .reported.daemon == "yes" and .reported.hqd == "no" and .active_hqds == 0)'
"$kfdsched" resume "$with" >/dev/null
end_queues

# The process has no queues, does not exist, or is a thread; and wrong use.
verify 77 $$
grep -q "process $$ .*no source reports queues" "$work/err" || fail "$(cat "$work/err")"
sleep 0 &
gone=$!
wait "$gone"
verify 77 "$gone"
grep -q "no process $gone" "$work/err" || fail "$(cat "$work/err")"
verify 2
verify 2 x
verify 2 "$with" 1
echo ok
