#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: for a model in plain Python (ctypes) with the library preloaded, kfdsched queues shows exactly
# the queues that the driver made, with their hsa_queue_t.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

if [ -z "${IN_A_WORLD:-}" ]; then
	export WORK=$work # the inner run has a $work of its own
	IN_A_WORLD=1 "$BUILD/kfdsim" --gpu mi210 --report "$work/r.json" -- bash "$0"
	shim=$(jq -c '[.queues[].id]' "$work/q.json")
	driver=$(jq -c '[.processes[].queues[].id]' "$work/r.json")
	[ "$shim" = "$driver" ] || fail "shim $shim, driver $driver"
	[ "$shim" = "[0,1]" ] || fail "expected the user's and the utility queue, got $shim"
	jq -e 'all(.queues[]; .type == "aql" and (.hsa_queue | test("^0x[0-9a-f]+$")))' "$work/q.json" >/dev/null ||
		fail "the values of the queues: $(cat "$work/q.json")"
	echo "ok: $shim"
	exit 0
fi

# model_works: the model has made all its queues and works.
model_works() {
	says "any(.processes[]; .pid == $model and .active)"
}

start_daemon
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline python3 "$SOURCE/examples/model.py" --seconds 600 \
	--code-object "$BUILD/kfdreplay_spin.gfx90a.co" &
model=$!
children+=("$model")
until_true 200 model_works || fail "the model does not work: $(status | jq -c .processes)"
"$kfdsched" queues --json >"$WORK/q.json" || fail "no queues"
