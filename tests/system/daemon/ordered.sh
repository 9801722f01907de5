#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: `suspend` takes a process off the GPU and `resume` lets it run. Every suspension ends with
# its time or with the command that holds it (kill -9), but not with the worker. A caller without
# the right is refused and changes nothing. Each refusal is one line that says what to do. With
# --json the result is one object, and a refusal is the same line.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# works TEXT ARGUMENT..., fails TEXT ARGUMENT...: kfdsched, run as the user in `as`, prints TEXT.
as=()
works() {
	local says=$1
	shift
	expect 0 "${as[@]}" "$work/kfdsched" "$@"
	printed "$says"
}
fails() {
	local says=$1
	shift
	# The timeout ends a suspend that is not refused, because it would hold the process.
	refused 1 "$says" "${as[@]}" timeout 30 "$work/kfdsched" "$@"
}
# is_json JQ-CONDITION: the last command printed one object, and the condition is true of it.
is_json() {
	jq -s . "$work/out" >"$work/printed"
	holds "$work/printed" "length == 1 and (.[0]|$1)"
}
leased() {
	says ".processes[]|select(.pid == $offline)|.lease_us$1"
}

cp "$kfdsched" "$work"
chmod 755 "$work"
fails "no daemon listens at" suspend $$ --for 9
printf '[authority]\nadmin_group = 65533\n' >>"$work/patient.ini"
start_daemon
start_offline --seconds 600
says '.totals.suspends == 0' || fail "suspended before anything"

# A user without rights may query the state, but not change it.
as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
for order in "suspend $offline" "suspend $offline --for 9" "resume $offline" "set $offline 15" \
	"policy observe"; do
	# shellcheck disable=SC2086 # words
	fails "user 65534 is not allowed to send control requests" $order
done
works strict policy
works '"number"' events --json --last 1
as=(unshare --user --map-root-user)
fails "is not allowed to send control requests" suspend "$offline"
as=(unshare --pid --fork --mount-proc)
fails "from the daemon's own pid namespace" policy observe
fails "there is no such process" suspend "$offline"
as=()
says '.totals.suspends == 0 and .daemon.policy == "strict"' || fail "a request without the right took effect"

# A member of the admin group may send requests, whether it is the user's first group or not.
as=(setpriv --reuid 65534 --regid 65534 --groups "65531,65533")
works "is suspended" suspend "$offline" --for 60
as=(setpriv --reuid 65534 --regid 65533 --clear-groups)
works "process $offline (kfdreplay): the lease has expired" resume "$offline"
as=(setpriv --reuid 65534 --regid 65534 --groups "65531,65532")
fails "is not allowed to send control requests" resume "$offline"
as=()

fails ": not registered" suspend $$ --for 1
fails ": not registered" resume $$ --json
fails "there is no such process" suspend 4194304 --json
fails "there is no such process" set 4194304 none --json

# A lease with a time survives a worker; a second request replaces it.
works "is suspended" suspend "$offline" --for 600
state_is "$offline" suspended || fail "the reply came before the suspension"
leased " > 500000000" || fail "no lease"
kill -KILL "$(worker)"
until_true 100 leased " > 500000000" || fail "the lease is lost: $(status | jq -c .processes)"
comes_to suspended "not suspended by the next worker"
works "process $offline (kfdreplay): the lease has expired" resume "$offline" --json
is_json ".request == \"resume\" and .pid == $offline and (keys|length) == 3"
comes_to running "not resumed"
works "not suspended by a request" resume "$offline"
# If nothing has to be suspended for it, a request is executed even just before the lease ends.
works "is suspended" suspend "$offline" --for 600
works "is suspended" suspend "$offline" --for 1 --json
is_json ".request == \"suspend\" and .pid == $offline and .seconds == 1 and (.reply|endswith(\"is suspended\"))"
comes_to running "a lease without end"
until_true 50 leased " == null" || fail "still leased"

# An operator can suspend a process that no other process preempts.
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=online "$BUILD/kfdreplay" \
	--trace "$offline_trace" --closed --count --json "$work/top.json" --seconds 600 \
	>/dev/null 2>>"$work/log" &
top=$!
children+=("$top")
works_now() {
	"$work/kfdsched" suspend "$top" --for 600 >"$work/out" 2>&1
}
until_true 100 works_now || fail "$(cat "$work/out")"
until_true 100 state_is "$top" suspended || fail "not suspended: $(status | jq -c .processes)"
works "process $top (kfdreplay): the lease has expired" resume "$top"
until_true 100 state_is "$top" running || fail "not resumed"
interrupt "$top"
jq -e '.count.submitted > 0 and .count.executed == .count.submitted' "$work/top.json" >/dev/null ||
	fail "workgroups: $(jq -c .count "$work/top.json")"
comes_to running "still held"

# A command holds the process until it is resumed or the command ends; a worker's end changes nothing.
"$work/kfdsched" suspend "$offline" >"$work/holds" &
holds=$!
children+=("$holds")
comes_to suspended "not held"
leased " == -1" || fail "no lease"
kill -KILL "$(worker)"
until_true 100 leased " == -1" || fail "the command does not hold it any more: $(status | jq -c .processes)"
comes_to suspended "not held by the next worker"
works "process $offline (kfdreplay): the lease has expired" resume "$offline"
comes_to running "not resumed"
wait "$holds" || fail "resumed, the command ended with $?"
grep -q "resumed by process .* of user 0" "$work/holds" || fail "$(cat "$work/holds")"
"$work/kfdsched" suspend "$offline" >"$work/holds" &
holds=$!
children+=("$holds")
comes_to suspended "not held"
kill -KILL "$holds"
wait "$holds" || true
comes_to running "held by a dead command"
"$work/kfdsched" suspend "$offline" --json >"$work/holds" &
holds=$!
children+=("$holds")
until_true 100 grep -qx "}" "$work/holds" || fail "held, it says: $(cat "$work/holds")"
works "process $offline (kfdreplay): the lease has expired" resume "$offline"
wait "$holds" || fail "resumed, the command with --json ended with $?"
cp "$work/holds" "$work/out"
is_json ".request == \"suspend\" and .pid == $offline and .seconds == null and has(\"seconds\")"
end_offline

# If the process ends, the command that holds it ends, and so does its lease.
start_offline --seconds 600
"$work/kfdsched" suspend "$offline" >"$work/held" 2>"$work/err" &
holds=$!
children+=("$holds")
until_true 100 grep -qs "is suspended" "$work/held" || fail "not held: $(cat "$work/held" "$work/err")"
kill -KILL "$offline"
code=0
wait "$holds" || code=$?
[ "$code" = 1 ] || fail "after the end of its process the command ended with $code"
grep -q "process $offline has ended" "$work/err" || fail "$(cat "$work/err")"
