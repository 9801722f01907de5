#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if a daemon starts while a process is held for a peer, the daemon takes it over and suspends
# it at level trap as often as necessary. When that daemon is killed, peers hold the process again. Each
# of them releases what it held; every workgroup runs once, and nothing stays suspended. This happens
# twice.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

if [ -z "${IN_A_WORLD:-}" ]; then
	IN_A_WORLD=1 "$BUILD/kfdsim" --gpu mi210 ${root:+--root "$root"} \
		--report "$work/report.json" -- bash "$0"
	jq -e '[.processes[].queues[]] | all(.suspends == .resumes) and any(.suspends >= 10)' \
		"$work/report.json" >/dev/null || fail "suspended at the end, or too rarely: $(
			jq -c '[.processes[].queues[] | {suspends, resumes}]' "$work/report.json")"
	exit 0
fi

# count EVENT: prints how often the offline process has logged it; without a daemon its debug log is the
# only source.
count() {
	grep -cE "event .*: $1" "$work/offline.log" || true
}
happens() {
	[ "$(count "$1")" -ge "$2" ]
}
# ask WORD: sends a command to the online process, which then has work until the next command.
ask() {
	local n
	n=$(wc -l <"$work/said")
	echo "$1" >&"$orders"
	until_true 50 answered "$n" || fail "no answer to $1"
}
answered() {
	[ "$(wc -l <"$work/said")" -gt "$1" ]
}

mkdir -m 700 "$work/user"
export XDG_RUNTIME_DIR=$work/user
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline KFDSHIM_LOG=debug "$BUILD/kfdreplay" \
	--trace "$offline_trace" --closed --count --json "$work/offline.json" --seconds 600 \
	>/dev/null 2>"$work/offline.log" &
offline=$!
children+=("$offline")
until_true 100 happens active 1 || fail "the offline process does not begin"

mkfifo "$work/orders"
: >"$work/said" # `ask` may read it before the process has opened it
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=online "$WORKLOAD" \
	<"$work/orders" >"$work/said" 2>>"$work/log" &
children+=("$!")
exec {orders}>"$work/orders"
ask queue

held=0
for round in 1 2; do
	ask begin
	held=$((held + 1))
	until_true 100 happens held "$held" || fail "round $round: not held for a peer"

	start_daemon
	until_true 100 state_is "$offline" suspended ||
		fail "round $round: not taken over: $(status | jq -c .processes)"
	says ".processes[]|select(.pid == $offline)|.level == \"trap\"" || fail "not at level trap"
	[ "$(count released)" -eq "$held" ] || fail "round $round: the process held itself, too"
	happens 'session .* value 0$' "$round" || fail "round $round: its own session is still there"
	[ -z "$(ls "$XDG_RUNTIME_DIR/kfdshim")" ] || fail "round $round: files beside the daemon"
	for _ in 1 2 3; do
		ask end
		until_true 50 state_is "$offline" running || fail "round $round: the process stays suspended"
		ask begin
		until_true 50 state_is "$offline" suspended || fail "round $round: not suspended"
	done

	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null || true
	held=$((held + 1))
	until_true 100 happens held "$held" || fail "round $round: not held when the daemon was killed"
	ask end
	until_true 50 happens released "$held" || fail "round $round: not released"
done
[ "$(count held)" -eq "$held" ] || fail "held $(count held) times instead of $held"
# The debug session of a killed worker can end a moment after its connection: then the process gets
# EALREADY (0x72) and tries again, and "held" above proves that it succeeded.
failed=$(grep 'event .*: failed' "$work/offline.log" | grep -v 'value 0x72$' || true)
[ -z "$failed" ] || fail "the log has failures: $failed"
end_offline
echo "held $held times by itself, workgroups: $(jq -c .count "$work/offline.json")"
