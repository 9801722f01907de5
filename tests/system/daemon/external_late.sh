#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process that was taken in without the shim, and registers with it later, while
# it is suspended, is from then on the shim's client and nothing else: once in the status,
# by its own word if a rule had tagged it, by the order and the lease that there were if a
# person had. It is suspended again for who is more urgent, and when nobody is its queue
# runs. An order about who has not registered ends with his program: then rules count again.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

# start_late PRIORITY: $target.
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
# once JQ-CONDITION: it is there once, and is so.
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

# Tagged by a rule, which is not about who has the shim.
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

# Tagged and leased by a person.
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
