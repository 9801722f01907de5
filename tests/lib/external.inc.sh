# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of daemon.inc.sh
# What the tests of processes without the shim share. Reads WITNESS_LIBRARY, and WITNESS_RUNTIME,
# which is set where ROCr does not enable its runtime by itself (5.2.3).

# as_external COMMAND...: becomes COMMAND, which the witness library watches.
as_external() {
	LD_PRELOAD=$WITNESS_LIBRARY WITNESS=$work/seen exec "$@"
}

# tag PID PRIORITY: sets the priority of the process; the output goes to $work/answer.
tag() {
	"$kfdsched" set "$1" "$2" >"$work/answer" 2>&1
}

must_tag() {
	tag "$@" || fail "tag $*: $(cat "$work/answer")"
}

must_refuse() {
	! tag "$1" "$2" || fail "tag $1 $2 is not refused: $(cat "$work/answer")"
	grep -q "$3" "$work/answer" || fail "tag $1 $2: no '$3' in: $(cat "$work/answer")"
}

# about PID JQ-CONDITION: the condition is true of that process in the status.
about() {
	says "any(.processes[]; .pid == $1 and ($2))"
}

tracer_of() {
	proc_status "$1" TracerPid
}

is_untraced() {
	[ "$(tracer_of "$1")" = 0 ]
}

# Starts a kfdreplay without the shim, as $target, and waits for its queue.
start_target() {
	as_external "$BUILD/kfdreplay" --trace "$offline_trace" --closed --count \
		--json "$work/offline.json" "$@" >/dev/null 2>>"$work/log" &
	target=$!
	children+=("$target")
	until_true 100 test -s "$work/seen.queue" || fail "the process makes no queue"
}

# start_latecomer COMMAND...: starts a latecomer, or a command that starts one, as $late_pid. `late
# WORD` sends it a command.
start_latecomer() {
	rm -f "$work/late_words" "$work/late_answers"
	mkfifo "$work/late_words" "$work/late_answers"
	"$@" <"$work/late_words" >"$work/late_answers" 2>>"$work/log" &
	late_pid=$!
	children+=("$late_pid")
	exec {late_words}>"$work/late_words" {late_answers}<"$work/late_answers"
	late_says ready
}
late_says() {
	read -r -t 30 -u "$late_answers" answer || fail "the process does not answer: $1"
	[ "$answer" = "$1" ] || fail "the process: $answer"
}
# late WORD [REPLY]: sends a command and waits for the reply, by default the same word.
late() {
	echo "$1" >&"$late_words"
	late_says "${2:-$1}"
}
