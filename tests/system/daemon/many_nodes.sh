#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: on a machine with 64 nodes (eight MI300X in mode CPX) a process that uses all of them is
# scheduled on each: other processes are held for it, status, daemon shared memory and metrics have
# each node, and each node takes a policy of its own.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
world_options=(--gpu mi300x-cpx --gpus 8)
in_a_world
# shellcheck source=tests/lib/metrics.inc.sh
. "$SOURCE/tests/lib/metrics.inc.sh"

mapfile -t nodes < <(cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id | grep -vx 0)
[ ${#nodes[@]} = 64 ] || fail "${#nodes[@]} nodes"

# Starts a client of level gate, which holds itself on request: `gated WORD` sends it a command.
start_gated() {
	mkfifo "$work/gated.words" "$work/gated.answers"
	"$BUILD/lane_client" "$KFDSHIM_SOCKET" 2 "${nodes[0]}" gate \
		<"$work/gated.words" >"$work/gated.answers" 2>>"$work/log" &
	gated=$!
	children+=("$gated")
	exec {to}>"$work/gated.words" {from}<"$work/gated.answers"
	read -r -t 60 -u "$from" answer
}
gated() {
	echo "$*" >&"$to"
	read -r -t 60 -u "$from" answer || fail "no answer to $*"
	[ "$answer" = "$1" ] || fail "gated: $answer"
}
is_held_on() {
	says ".nodes[]|select(.gpu_id == $1)|.suspended == 1 and .urgent"
}

start_daemon
start_online
start_gated
for node in "${nodes[@]}"; do # the client has used all nodes, and is idle
	send use "$node"
	gated use "$node"
done
some=("${nodes[0]}" "${nodes[15]}" "${nodes[16]}" "${nodes[63]}")
for node in "${some[@]}"; do
	send use "$node"
	gated use "$node"
	gated on
	send on
	gated obey 5000
	until_true 50 is_held_on "$node" || fail "$node: not held: $(status | jq -c .processes)"
	gated off
	send off
	gated obey 5000
done
conditions=()
for node in "${nodes[@]}"; do
	conditions+=("kfdsched_client_active,pid=$online,node=$node==0")
done
scraped "all four" "kfdsched_suspends_total>=4"
scraped "each node" "${conditions[@]}" "kfdsched_node_suspends_total,node=${nodes[63]}>=1"
says '(.nodes|length) == 64' || fail "status has $(status | jq '.nodes|length') nodes"
says "(.processes[]|select(.pid == $online).nodes|length) == 64" || fail "not all of its nodes"
for node in "${some[@]}"; do
	expect 0 "$kfdsched" policy "$node" observe
done
says '[.nodes[]|select(.policy == "observe")]|length == 4' || fail "not each node has its policy"
send use "${nodes[63]}"
gated on
send on
sleep 0.3
state_is "$gated" running || fail "held in spite of its node's policy"
