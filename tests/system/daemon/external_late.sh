#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if a process that was taken in without the shim registers with the shim while it is
# suspended, it becomes a normal client: the status lists it once. It has the priority of its own
# settings if a rule had tagged it; a priority and a lease that an operator set stay. It is
# suspended again for a more urgent process, and its queue runs when there is none. A priority that
# was set for an unregistered process ends with its program; after that, rules apply again.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

# start_late PRIORITY: starts $target, which registers later.
start_late() {
	start_latecomer "$LATECOMER" "$KFDSHIM_SOCKET" "$1"
	target=$late_pid
}
end_late() {
	exec {late_words}>&- {late_answers}<&-
	wait "$target" || fail "it ended with $?"
	until_true 50 says "all(.processes[]; .pid != $target) and .nodes[0].suspended == 0" ||
		fail "something is left: $(status | jq -c '[.nodes, .processes]')"
}
# once JQ-CONDITION: the process is listed once, and the condition is true of it.
once() {
	until_true 50 says "[.processes[]|select(.pid == $target)]|length == 1 and (.[0]|$1)" ||
		fail "not once and $1: $(status | jq -c .processes)"
}

{
	cat "$work/patient.ini"
	printf '[rule latecomers]\nshim = no\nexecutable = %s\npriority = 4\n' "$LATECOMER"
} >"$work/rules.ini"
daemon_options=(--config "$work/rules.ini")
start_daemon
start_online
send on

# A rule has tagged the process. The rule is not for processes with the shim.
start_late 2
once '.shim == false and .rule == "latecomers" and .state == "suspended"'
late hello
once '.shim and .rule == null and .priority == 2 and .level == "trap" and .state == "suspended"'
send off
once '.state == "running"'
late work
send on
once '.state == "suspended"'
send off
once '.state == "running" and .suspends == .resumes'
late work
end_late

# An operator has tagged the process and suspended it with a lease.
start_late 15
must_tag "$target" 7
once '.shim == false and .priority == 7 and .rule == null'
late exec ready
once '.shim == false and .priority == 4 and .rule == "latecomers"'
must_tag "$target" 3
"$kfdsched" suspend "$target" --for 600 >"$work/answer" || fail "no lease on it"
once '.shim == false and .priority == 3 and .state == "suspended"'
late hello
once '.shim and .priority == 3 and .priority_override and .lease_us > 0 and .state == "suspended"'
"$kfdsched" resume "$target" >"$work/answer" || fail "no end of the lease"
once '.state == "running" and .lease_us == null'
late work
must_tag "$target" own
once '.priority == 15 and (.priority_override|not)'
end_late
kill -TERM "$daemon"
wait "$daemon" || fail "the daemon ended with $?"
