# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The daemon, and the processes that it schedules: an offline one with GPU work and an online one
# that says when it has some. Brings the harness.
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

offline_trace=$SOURCE/traces/offline_gpt2m_train_8x1024.csv

# What the HSA runtime leaks is not ours.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}

export KFDSHIM_SOCKET=$work/run/socket

log_is_clean() {
	! grep -qs "was refused by the daemon's own seccomp filter" "$work/log" || {
		echo "FAILED: the daemon's filter does not know all that it does" >&2
		return 1
	}
	! grep -qsE "(Address|Thread|Leak)Sanitizer|runtime error: " "$work/log" || {
		echo "FAILED: a sanitizer has found something" >&2
		return 1
	}
}
at_end+=(log_is_clean)

# Starts the daemon in the foreground, with daemon_options: $daemon. A slow host
# is no reason to spare a client here.
printf '[scheduler]\nslow_suspend_us = 10000000\n' >"$work/patient.ini"
daemon_options=(--config "$work/patient.ini")
start_daemon() {
	local before
	before=$(times_listening)
	"$BUILD/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" "${daemon_options[@]}" 2>>"$work/log" &
	daemon=$!
	children+=("$daemon")
	until_true 100 listens_since "$before" || fail "no socket"
}
# The socket alone says nothing: one that was killed leaves it.
times_listening() {
	if [ -e "$work/log" ]; then
		grep -c ': listening at' "$work/log" || true
	else
		echo 0
	fi
}
listens_since() {
	[ "$(times_listening)" -gt "${1:-0}" ]
}

status() {
	"$kfdsched" status --json
}

# says JQ-EXPRESSION: does the daemon's status say so?
says() {
	local state
	state=$(status 2>/dev/null) && jq -e "$1" <<<"$state" >/dev/null 2>&1
}

worker() {
	status | jq .daemon.worker_pid
}

# The level it comes to.
offline_level='trap'
# Starts an offline training, with kfdreplay's options, and waits until it can be
# suspended: $offline, its result later in $work/offline.json.
start_offline() {
	LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" \
		--trace "$offline_trace" --closed --count --json "$work/offline.json" \
		"$@" >/dev/null 2>>"$work/log" &
	offline=$!
	children+=("$offline")
	until_true 100 says ".processes[]|select(.pid == $offline)|
		.level == \"${offline_level}\"" ||
		fail "no offline process at level $offline_level: $(status | jq -c .processes)"
}

# The read pointer of the queue that it works with: the largest AQL one.
rptr_of() {
	status | jq -r "[.processes[]|select(.pid == $1)|.queues[]|
		select(.type == \"aql\")]|max_by(.ring_bytes).rptr_address"
}

state_is() {
	says ".processes[]|select(.pid == $1)|.state == \"$2\""
}
# comes_to STATE WHAT: $offline does.
comes_to() {
	until_true 100 state_is "$offline" "$1" || fail "$2: $(status | jq -c .processes)"
}
# comes_to_level LEVEL REASON: $offline does, and the status says why (a regular expression).
comes_to_level() {
	until_true 80 says ".processes[]|select(.pid == $offline)|.level == \"$1\" and
		(.reason|test(\"$2\"))" ||
		fail "not at level $1 because '$2': $(status | jq -c '.processes[]|{pid, level, reason}')"
}

# The executor process that serves $offline: its tracer, because since Linux 6.12.95 a debug
# session takes one; empty: it has none. An executor of a worker that has ended may still be
# ending itself.
executor() {
	awk '/^TracerPid/ {print $2}' "/proc/$offline/status" |
		xargs -I{} awk '/^Tgid/ {print $2}' /proc/{}/status 2>/dev/null
}

# A client without GPU work that says it has some, of $online_priority: $online,
# told by `send WORD`.
online_priority=15
online_client=$BUILD/lane_client
start_online() {
	mkfifo "$work/words" "$work/answers"
	"$online_client" "$KFDSHIM_SOCKET" "$online_priority" "$(gpu_id)" \
		<"$work/words" >"$work/answers" 2>>"$work/log" &
	online=$!
	children+=("$online")
	exec {words}>"$work/words" {answers}<"$work/answers"
	read -r -t 60 -u "$answers" answer
	[ "$answer" = ready ] || fail "lane_client: $answer"
}

send() {
	echo "$*" >&"$words"
	read -r -t 60 -u "$answers" answer
	[ "$answer" = "$1" ] || fail "lane_client: $answer"
}

gpu_id() {
	cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id 2>/dev/null | grep -vx 0 | head -n 1 ||
		echo 4711
}

# Every workgroup once: of the result of $offline.
counts_are_right() {
	jq -e '.count.submitted > 0 and .count.executed == .count.submitted and
		.count.twice == 0 and .count.never == 0' "$work/offline.json" >/dev/null ||
		fail "workgroups: $(jq -c .count "$work/offline.json")"
}

# interrupt PID: ends a kfdreplay that has work without end in good order. It may just have come,
# so it is interrupted when its own queue, the largest AQL one, has had a packet.
has_submitted() {
	"$kfdsched" queues "$1" --json 2>/dev/null |
		jq -e '[.queues[]|select(.type == "aql")]|max_by(.ring_bytes).wptr > 0' >/dev/null
}
interrupt() {
	until_true 100 has_submitted "$1" || fail "process $1 has submitted nothing"
	kill -INT "$1"
	wait "$1" || fail "process $1, interrupted, ended with $?"
}
end_offline() {
	interrupt "$offline"
	counts_are_right
}

# Suspended, for as long as the online client is active.
suspend_offline() {
	send on
	until_true 50 state_is "$offline" suspended || fail "not suspended"
}

# Ends $online and starts another: $online and `send` mean the new one.
another_online() {
	kill -KILL "$online" 2>/dev/null || true
	exec {words}>&- {answers}<&-
	rm -f "$work/words" "$work/answers"
	start_online
}

# suspend_and_resume PID [WHEN]
suspend_and_resume() {
	send on
	until_true 50 state_is "$1" suspended || fail "${2:+$2: }not suspended: $(status | jq -c .processes)"
	send off
	until_true 50 state_is "$1" running || fail "${2:+$2: }not resumed: $(status | jq -c .processes)"
}
