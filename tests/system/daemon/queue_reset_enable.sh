#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if the daemon begins a debug session on a process that works, and the driver resets a
# queue in this call because it does not leave the GPU (from Linux 6.12 on, after 4 s), the daemon
# reports it, and does not suspend the process by trap, because all later suspends would be quick.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
world=preempt_stuck=queue
in_a_world

start_daemon
start_online
start_target --seconds 600
is_working() {
	"$kfdsched" queues "$target" --json >"$work/queues" && jq -e 'any(.queues[]; .rptr > 100)' "$work/queues" >/dev/null
}
until_true 100 is_working || fail "the queue does not advance: $(cat "$work/queues")"
must_tag "$target" offline
reason="the beginning of its debug session took so long that the driver has reset a compute queue"
until_true 300 grep -q "process $target (kfdreplay): $reason" "$work/log" ||
	fail "a reset is not reported: $(cat "$work/log")"
until_true 50 about "$target" ".level != \"trap\" and (.reason|test(\"$reason\"))" ||
	fail "it is at level trap: $(status | jq -c .processes)"
