#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsched queues: every queue by pid and id as table (exactly) and JSON; one
# process alone; a process that is gone or not known is one line, exit code 1.
set -eu
# shellcheck source=tests/cli/cli.inc.sh
. "$SOURCE/tests/cli/cli.inc.sh"
export FAKE_ANSWER="cat $SOURCE/tests/cli/status.json"

expect 1 "$kfdsched" queues --socket "$work/none"
one_line
said "no daemon answers"

start_daemon "$work/s"
export KFDSHIM_SOCKET=$work/s
expect 0 "$kfdsched" queues
diff -u "$SOURCE/tests/cli/queues.golden" "$work/out" || fail "the table is not the expected one"
[ ! -s "$work/err" ] || fail "queues talks"

expect 0 "$kfdsched" queues --json
jq -e '.source == "daemon" and ([.queues[] | [.pid, .id]] == [[200, 0], [4000000, 0], [4000000, 1]])' \
	"$work/out" >/dev/null || fail "not every queue by pid and id"
jq -e '.queues[2] == {"pid": 4000000, "comm": "train\u001b[2J", "priority": 2, "queue_priority": 7,
	"id": 1, "gpu_id": 19729, "type": "aql", "ring_address": "0x7f0000001000", "ring_bytes": 1048576,
	"rptr_address": "0x7f0000000080", "wptr_address": "0x7f0000000038",
	"hsa_queue": "0x7f0000000000", "active": true}' "$work/out" >/dev/null || fail "not the keys"
jq -e '.queues[0].priority == null and .queues[1].hsa_queue == null' "$work/out" >/dev/null ||
	fail "what is not known is not null"

expect 0 "$kfdsched" queues --json 200
jq -e '[.queues[].pid] == [200]' "$work/out" >/dev/null || fail "not that process alone"
expect 0 "$kfdsched" queues 300
printed "no queues"

expect 1 "$kfdsched" queues $$
one_line
said "does not know process $$"
sleep 0 &
gone=$!
wait "$gone"
expect 1 "$kfdsched" queues --json "$gone"
one_line
said "process $gone is gone"
