# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The daemon and the processes that it schedules: an offline process with GPU work and an online
# client that reports work when a test requests it. Includes the harness.
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

offline_trace=$SOURCE/traces/offline_gpt2m_train_8x1024.csv

# The leaks of the HSA runtime are not reported.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}

export KFDSHIM_SOCKET=$work/run/socket

log_is_clean() {
	! grep -qsE "was refused by the daemon's own seccomp filter|libseccomp does not know" "$work/log" || {
		echo "FAILED: the daemon's filter refuses a system call of the daemon" >&2
		return 1
	}
	! grep -qsE "(Address|Thread|Leak)Sanitizer|runtime error: " "$work/log" || {
		echo "FAILED: a sanitizer has found something" >&2
		return 1
	}
}
at_end+=(log_is_clean)

# Starts the daemon in the foreground with daemon_options, as $daemon. The configuration tolerates
# slow suspends, because a busy host makes suspends slow.
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
# The socket file alone proves nothing: a killed daemon leaves it.
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

# says JQ-EXPRESSION: the expression is true of the daemon's status.
says() {
	local state
	state=$(status 2>/dev/null) && jq -e "$1" <<<"$state" >/dev/null 2>&1
}

worker() {
	status | jq .daemon.worker_pid
}

# The level that an offline process gets.
offline_level='trap'
# Starts an offline training with kfdreplay's options, as $offline, and waits until it can be
# suspended. Its result is in $work/offline.json at its end.
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

# rptr_of PID: prints the address of the read pointer of the queue with which the process works, its
# largest AQL queue.
rptr_of() {
	status | jq -r "[.processes[]|select(.pid == $1)|.queues[]|
		select(.type == \"aql\")]|max_by(.ring_bytes).rptr_address"
}

state_is() {
	says ".processes[]|select(.pid == $1)|.state == \"$2\""
}
# comes_to STATE TEXT: $offline gets into that state, soon; TEXT is the message if it does not.
comes_to() {
	until_true 100 state_is "$offline" "$1" || fail "$2: $(status | jq -c .processes)"
}
# comes_to_level LEVEL REASON: $offline gets to that level, and the status has that reason (a regular
# expression).
comes_to_level() {
	until_true 80 says ".processes[]|select(.pid == $offline)|.level == \"$1\" and
		(.reason|test(\"$2\"))" ||
		fail "not at level $1 because '$2': $(status | jq -c '.processes[]|{pid, level, reason}')"
}

# Prints the executor process that serves $offline: its tracer, because under Linux 6.12.95 a debug
# session needs one. Prints nothing if there is none. The executor of a worker that has ended may
# still be there.
executor() {
	awk '/^TracerPid/ {print $2}' "/proc/$offline/status" |
		xargs -I{} awk '/^Tgid/ {print $2}' /proc/{}/status 2>/dev/null
}

# Starts a client without GPU work, of $online_priority, as $online. `send WORD...` sends it a
# command; after `send on` it reports work.
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

# counts_are_right: $offline has executed every workgroup once.
counts_are_right() {
	jq -e '.count.submitted > 0 and .count.executed == .count.submitted and
		.count.twice == 0 and .count.never == 0' "$work/offline.json" >/dev/null ||
		fail "workgroups: $(jq -c .count "$work/offline.json")"
}

# interrupt PID: ends a kfdreplay with endless work in the normal way. The process may have just
# started, so this waits until its own queue, the largest AQL queue, has got a packet.
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

# suspend_offline: $offline is suspended, for as long as the online client is active.
suspend_offline() {
	send on
	until_true 50 state_is "$offline" suspended || fail "not suspended"
}

# Ends $online and starts another client; $online and `send` mean the new one.
another_online() {
	kill -KILL "$online" 2>/dev/null || true
	exec {words}>&- {answers}<&-
	rm -f "$work/words" "$work/answers"
	start_online
}

# suspend_and_resume PID [WHEN]: the online client makes the daemon suspend and resume the process.
suspend_and_resume() {
	send on
	until_true 50 state_is "$1" suspended || fail "${2:+$2: }not suspended: $(status | jq -c .processes)"
	send off
	until_true 50 state_is "$1" running || fail "${2:+$2: }not resumed: $(status | jq -c .processes)"
}
