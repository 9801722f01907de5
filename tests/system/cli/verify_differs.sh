#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if the driver's files are wrong on purpose, kfdsched verify reports a surplus descriptor of
# each queue, queue by queue, after several samples.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
world_options=(--gpu mi210 --break mqds_one_for_each_xcc)
in_a_world

mkfifo "$work/hold"
"$BUILD/matrix_queues" --hold <"$work/hold" >"$work/steps" 2>&1 &
process=$!
children+=("$process")
exec {hold}>"$work/hold"
described() {
	"$kfdsched" queues "$process" --json >"$work/queues" 2>/dev/null &&
		jq -e '[.queues[] | select(.mqds == 2)] | length == 3' "$work/queues" >/dev/null
}
until_true 100 described || fail "no queues"
code=0
"$kfdsched" verify "$process" >"$work/out" || code=$?
[ "$code" = 1 ] || fail "ended with $code: $(cat "$work/out")"
for id in 0 1 2; do
	grep -Eq "^differs: queue $id \(GPU 0\): it has 2 MQDs, and its node has 1 XCCs$" "$work/out" ||
		fail "not queue $id: $(cat "$work/out")"
done
grep -q "^differ: 3 differences, the same in 5 samples$" "$work/out" || fail "no verdict: $(cat "$work/out")"
"$kfdsched" verify "$process" --json >"$work/json" || true
schema verify "$work/json"
jq -e '.verdict == "differ" and .samples == 5 and ([.differences[] | [.what, .id, .other]] ==
	[["mqds", 0, "mqd"], ["mqds", 1, "mqd"], ["mqds", 2, "mqd"]])' "$work/json" >/dev/null || fail "$(cat "$work/json")"
exec {hold}>&-
wait "$process" || fail "$(cat "$work/steps")"
children=()
echo ok
