#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the processes of one KFDSHIM_GROUP are held together and released together, also one on
# a GPU without more urgent work; a process without a group beside them runs on.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

world_options=(--gpu mi210 --gpus 2 --time-scale 0.1)
in_a_world

pids=()
# rank DEVICE GROUP: starts an offline process on that device.
rank() {
	export KFDSHIM_GROUP=$2
	start_offline --seconds 600 --device "$1"
	pids+=("$offline")
}
ranks_are() {
	for rank in 0 1; do
		until_true 50 state_is "${pids[rank]}" "$1" ||
			fail "$2: $(status | jq -c '[.processes[]|{pid, group, state, active}]')"
	done
}

start_daemon
rank 0 job
rank 1 job
rank 1 ""
unset KFDSHIM_GROUP
says '[.processes[]|select(.group == "job")]|length == 2' || fail "no group"
start_online # on the first GPU
for _ in 1 2 3; do
	send on
	ranks_are suspended "not held together"
	state_is "${pids[2]}" running || fail "held without a reason"
	send off
	ranks_are running "not let go together"
done
says ".processes[]|select(.pid == ${pids[2]})|.suspends == 0" || fail "it was held meanwhile"

# When the rest of its group has ended, a process is held for its own GPU only. (On so slow a GPU
# the last request is cut off, so finished work is not counted here.)
kill -INT "${pids[0]}"
wait "${pids[0]}" || true
until_true 50 says "all(.processes[]; .pid != ${pids[0]})" || fail "a process that has ended is listed"
send on
sleep 0.3
state_is "${pids[1]}" running || fail "held for one that has ended"
send off
says '.totals.failures == 0' || fail "failures: $(status | jq -c .totals)"
