# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of daemon.inc.sh
# What the tests of outsiders share: processes without the shim. Reads WITNESS_LIBRARY,
# and WITNESS_RUNTIME: set where ROCr does not enable its runtime by itself (5.2.3).

# as_external COMMAND...: becomes it, watched by the witness.
as_external() {
	LD_PRELOAD=$WITNESS_LIBRARY WITNESS=$work/seen exec "$@"
}

# tag PID PRIORITY: what it answers goes to $work/answer.
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

# about PID JQ-CONDITION
about() {
	says "any(.processes[]; .pid == $1 and ($2))"
}

tracer_of() {
	proc_status "$1" TracerPid
}

is_untraced() {
	[ "$(tracer_of "$1")" = 0 ]
}

# A replay without the shim that has its queue: $target.
start_target() {
	as_external "$BUILD/kfdreplay" --trace "$offline_trace" --closed --count \
		--json "$work/offline.json" "$@" >/dev/null 2>>"$work/log" &
	target=$!
	children+=("$target")
	until_true 100 test -s "$work/seen.queue" || fail "the process makes no queue"
}

# start_latecomer COMMAND...: a latecomer, or what starts it: $late_pid, told by `late WORD`.
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
# late WORD [ANSWER]
late() {
	echo "$1" >&"$late_words"
	late_says "${2:-$1}"
}
