#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The stand-in daemon's answer for colocate: the clients that fake_kfdreplay.sh
# noted are registered, and every question finds 10 more suspends, 9 more
# resumes, 20 us more of detection and 30 us more of holdover than the last, one
# call that suspended in 40 us and one that resumed in 50 us, and that each was
# held over for 10 ms more.
set -eu
echo >>"$FAKE_DIR/questions"
n=$(wc -l <"$FAKE_DIR/questions")
touch "$FAKE_DIR/clients"
histogram() { echo "{\"count\":$n,\"sum\":$((n * $1)),\"max\":$1,\"buckets\":[[$1,$n]]}"; }
jq -cRn --argjson n "$n" --arg level "${FAKE_LEVEL-trap}" --argjson detection "$(histogram 20000)" \
	--argjson holdover "$(histogram 30000)" --argjson suspend "$(histogram 40000)" \
	--argjson resume "$(histogram 50000)" '
	{daemon: {pid: 1}, nodes: [],
	 processes: [inputs | split(" ") | {pid: (.[0] | tonumber), role: .[1], level: $level,
					    reason: "the fake says so", time_us: {held_over: ($n * 10000)}}],
	 totals: {suspends: ($n * 10), resumes: ($n * 9), failures: 0, detection_ns: $detection,
		  holdover_ns: $holdover, suspend_ns: $suspend, resume_ns: $resume}}' "$FAKE_DIR/clients"
