#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: an order and a tag are for a process and not for its number. Another process
# with the number of one that has ended is neither tagged nor held, by the worker that was
# told, and by the next one, which has it from what was kept.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

# start_with_pid PID: a target that has it. Nobody else in this world starts processes
# between the two lines.
start_with_pid() {
	rm -f "$work/seen.queue"
	echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
	start_target --seconds 600
	[ "$target" = "$1" ] || fail "the number is $target and not $1: this test means nothing"
}

end_target() {
	kill -KILL "$target"
	wait "$target" 2>/dev/null || true
}

# For some looks of the daemon: it stays a process that nobody has named.
is_unknown() {
	for _ in 1 2 3 4 5 6; do
		says ".processes|all(.pid != $1)" || fail "$2: $(status | jq -c .processes)"
		is_untraced "$1" || fail "$2: it is traced"
		sleep 0.3
	done
}

start_daemon
start_online
start_target --seconds 600
number=$target
must_tag "$number" 1
until_true 100 about "$number" '.level == "trap"' || fail "not tagged: $(status | jq -c .processes)"
send on
until_true 50 state_is "$number" suspended || fail "not suspended"
end_target
until_true 50 says ".processes|all(.pid != $number)" || fail "it has ended and is there"
start_with_pid "$number"
is_unknown "$number" "a process has the tag of an earlier one"

must_tag "$number" 1
until_true 50 state_is "$number" suspended || fail "not suspended again"
before=$(worker)
kill -STOP "$daemon" # no other worker before it is there
kill -KILL "$before"
end_target
start_with_pid "$number"
kill -CONT "$daemon"
until_true 100 says ".daemon.worker_pid != $before" || fail "no other worker"
is_unknown "$number" "a process has the tag that was kept for an earlier one"
