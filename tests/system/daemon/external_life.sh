#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process without the shim never hangs while it is suspended: it can make queues (which
# are suspended, too) and destroy them, end its runtime and start it again, and exec another
# program. It suspends no other process, whatever its priority. If another process traces it, the
# daemon does not touch it, and gives the reason.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

start_workload() {
	rm -f "$work/orders" "$work/seen.queue"
	mkfifo "$work/orders"
	: >"$work/said" # without the replies of an earlier workload
	as_external "$WORKLOAD" <"$work/orders" >"$work/said" 2>>"$work/log" &
	target=$!
	children+=("$target")
	exec {orders}>"$work/orders"
	lines=0
}

# order TENTHS WORD...: sends a command to the workload, which replies within TENTHS.
answered() {
	[ "$(wc -l <"$work/said")" -gt "$lines" ]
}
order() {
	local tenths=$1
	shift
	echo "$*" >&"$orders"
	until_true "$tenths" answered || fail "no answer to '$*': $(cat "$work/said") $(status | jq -c .processes)"
	lines=$(wc -l <"$work/said")
}

start_daemon
start_online
start_workload
order 100 threads # it has begun
must_tag "$target" 14
about "$target" '.level == "observe" and .priority == 14 and (.reason|test("no compute queues"))' ||
	fail "before its queue: $(status | jq -c .processes)"
order 50 queue
until_true 50 about "$target" '.level == "trap" and .active and .state == "running"' ||
	fail "no session: $(status | jq -c .processes)"

# It has a higher priority than an offline client, but does not suspend it.
start_offline --seconds 600
sleep 0.5 # time enough for a suspend
end_offline
says '.totals.suspends == 0' || fail "a process was suspended for one that may have no work"

# All of the following happens while a more urgent process is active.
send on
until_true 50 state_is "$target" suspended || fail "not suspended"
order 50 queue
until_true 50 about "$target" '([.queues[]|select(.type == "compute")]|length) >= 2 and .state == "suspended"' ||
	fail "the second queue: $(status | jq -c .processes)"
for _ in 1 2; do
	order 100 destroy
	until_true 50 state_is "$target" suspended || fail "not suspended again: $(status | jq -c .processes)"
	order 50 queue
done

# When its tag is removed, the daemon leaves nothing behind in it.
must_tag "$target" none
says ".processes|all(.pid != $target)" || fail "the process is listed without a tag"
until_true 50 is_untraced "$target" || fail "the process is still traced"
order 50 destroy

# Another process traces it: the status gives the reason, and the daemon tries again afterwards.
python3 -c 'import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(0x4206, int(sys.argv[1]), None, None) == 0
print(flush=True)
time.sleep(60)' "$target" >"$work/tracing" &
tracer=$!
children+=("$tracer")
until_true 50 test -s "$work/tracing" || fail "no tracer"
order 50 queue
must_tag "$target" 2
until_true 50 about "$target" '.level == "observe" and (.reason|test("is traced by"))' ||
	fail "while it is traced: $(status | jq -c .processes)"
kill -KILL "$tracer"
wait "$tracer" || true
must_tag "$target" 2
until_true 50 state_is "$target" suspended || fail "not suspended when its tracer was gone: $(status | jq -c .processes)"

# After an exec the process is another program, which has no tag.
order 100 exec
until_true 50 says ".processes|all(.pid != $target)" || fail "the tag outlives the program"
until_true 50 is_untraced "$target" || fail "the other program is traced"
kill "$target"
exec {orders}>&-

# The end and the new start of its runtime wait for no other process.
start_workload
order 100 queue
must_tag "$target" offline
until_true 50 state_is "$target" suspended || fail "the second is not suspended: $(status | jq -c .processes)"
order 100 destroy
order 100 again
order 50 queue
until_true 50 state_is "$target" suspended || fail "not suspended after its runtime began anew"
