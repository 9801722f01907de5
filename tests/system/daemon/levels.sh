#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the status reports the level of each process and why it has no higher one: it has no GPU
# session, no priority, or another process traces it.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
online_priority=2
start_online
says ".processes[]|select(.pid == $online)|.level == \"observe\" and
	.runtime == \"unknown\" and (.reason|test(\"not enabled\"))" || fail "before its runtime"
send enable
until_true 30 says ".processes[]|select(.pid == $online)|.level == \"observe\" and
	.runtime == \"enabled\" and (.reason|test(\"does not use /dev/kfd\"))" ||
	fail "a process without /dev/kfd: $(status | jq -c '.processes[0]')"
[ "$(proc_status "$online" TracerPid)" -eq 0 ] || fail "the process is still traced"

LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$offline_trace" --closed \
	--seconds 600 >/dev/null 2>>"$work/log" &
seen=$!
children+=("$seen")
until_true 100 says ".processes[]|select(.pid == $seen)|.priority == null and .role == \"seen\" and
	.level == \"observe\" and (.reason|test(\"no priority\")) and (.queues|length) > 0" ||
	fail "a process without priority"
kill -KILL "$seen"
until_true 50 says "all(.processes[]; .pid != $seen)" || fail "a process that has ended is listed"

start_offline --seconds 600
until_true 100 says "any(.processes[]; .pid == $offline and .active)" || fail "it has no work"
says "[.nodes[] | del(.work_us)] == [{gpu_id: $(gpu_id), urgent: false, suspended: 0, policy: \"strict\",
	share_percent: null}]" ||
	fail "nodes: $(status | jq -c .nodes)"
end_offline
