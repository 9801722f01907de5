#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A model in plain Python (ctypes) with the library preloaded: kfdsched queues
# shows exactly the queues that the driver made, with their hsa_queue_t.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export WORK=$work
"$BUILD/kfdsim" --report "$work/r.json" -- bash -eu -c '
	"$BUILD/kfdschedd" --foreground 2>"$WORK/daemon.log" &
	sleep 1
	LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline python3 "$SOURCE/examples/model.py" &
	model=$!
	sleep 3
	"$BUILD/kfdsched" queues --json >"$WORK/q.json"
	wait $model'

shim=$(jq -c '[.queues[].id]' "$work/q.json")
driver=$(jq -c '[.processes[].queues[].id]' "$work/r.json")
[ "$shim" = "$driver" ] || { echo "FAILED: shim $shim, driver $driver" >&2; exit 1; }
[ "$shim" = "[0,1]" ] || { echo "FAILED: expected the user's and the utility queue, got $shim" >&2; exit 1; }
jq -e 'all(.queues[]; .type == "aql" and (.hsa_queue | test("^0x[0-9a-f]+$")))' "$work/q.json" >/dev/null
echo "ok: $shim"
