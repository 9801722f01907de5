#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: examples/model.py keeps a GPU busy through ctypes alone, with two AQL queues.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"

gpu_object=$BUILD/kfdreplay_spin.gfx90a.co
on_gpu --report "$json" -- python3 "$SOURCE/examples/model.py" --seconds 2 \
	--code-object "$gpu_object" >"$work/text"
grep -qE '^model.py: [0-9]+ steps in 2\.[0-9] s$' "$work/text" || fail "it said: $(cat "$work/text")"
steps=$(sed 's/^model.py: \([0-9]*\) .*/\1/' "$work/text")
# a step takes 1 ms of the GPU, which is 10 ms here
if [ "$steps" -lt 80 ] || [ "$steps" -gt 200 ]; then fail "$steps steps"; fi
holds "$json" '[.processes[].queues[] | select(.type == "aql")] | length == 2' \
	'[.processes[].queues[]] | length == 2' \
	"[.processes[].queues[].dispatches] | max == $steps" \
	"[.processes[].queues[].workgroups] | max == $steps * 104"

expect 1 on_gpu -- python3 "$SOURCE/examples/model.py" --code-object /nonexistent
one_line 'model.py: .*No such file'
