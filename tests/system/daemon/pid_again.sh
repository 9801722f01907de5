#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a suspension and a tag belong to a process, not to its pid. Another process with the pid
# of one that has ended is neither tagged nor held, by the same worker and by the next one, which
# reads the saved state.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

# start_with_pid PID: starts a target with that pid. No other process of this simulation starts one
# between the two lines.
start_with_pid() {
	rm -f "$work/seen.queue"
	echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
	start_target --seconds 600
	[ "$target" = "$1" ] || fail "the number is $target and not $1, so this test proves nothing"
}

end_target() {
	kill -KILL "$target"
	wait "$target" 2>/dev/null || true
}

# While the daemon scans several times, the process stays unknown to it.
is_unknown() {
	for _ in 1 2 3 4 5 6; do
		says ".processes|all(.pid != $1)" || fail "$2: $(status | jq -c .processes)"
		is_untraced "$1" || fail "$2: the process is traced"
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
until_true 50 says ".processes|all(.pid != $number)" || fail "the process has ended and is listed"
start_with_pid "$number"
is_unknown "$number" "a process has the tag of an earlier one"

must_tag "$number" 1
until_true 50 state_is "$number" suspended || fail "not suspended again"
before=$(worker)
kill -STOP "$daemon" # so that no other worker starts before the new process
kill -KILL "$before"
end_target
start_with_pid "$number"
kill -CONT "$daemon"
until_true 100 says ".daemon.worker_pid != $before" || fail "no other worker"
is_unknown "$number" "a process has the tag that was kept for an earlier one"
