#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: with --count every workgroup of every request ran exactly once, and the report of kfdsim has
# the same number.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"

# The last request when the time is up is completed and counted as well.
on_gpu --report "$work/report.json" -- \
	"$BUILD/kfdreplay" --trace "$resnet" --seconds 2 --count --json "$json" >/dev/null
holds "$json" '.count.submitted > 100000' '.count.executed == .count.submitted' '.count.twice == 0' \
	'.count.never == 0'
submitted=$(jq .count.submitted "$json")
jq -e "[.processes[].queues[].workgroups] | max == $submitted" "$work/report.json" >/dev/null ||
	fail "not $submitted workgroups in the report: $(jq -c .processes "$work/report.json")"
jq -e '.kernels[] | select(.name == "kfdreplay_spin") | .executed' "$work/report.json" >/dev/null ||
	fail "kfdsim did not execute the kernel: $(jq -c .kernels "$work/report.json")"

# Ten requests have 23400 workgroups each, on 104 compute units.
on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --requests 10 --count --json "$json" >/dev/null
first=$(jq .count.submitted "$json")
on_gpu -- "$BUILD/kfdreplay" --trace "$resnet" --requests 20 --count --json "$json" >/dev/null
holds "$json" ".count.submitted == 2 * $first" '.count.executed == .count.submitted'

# A request longer than the ring, with copies of all kinds between kernels, one after another, at the
# beginning and at the end.
head=op,launch_ns,start_ns,duration_ns,grid,block,bytes,name
{
	echo $head
	yes kernel,0,0,1000,1x1x1,64x1x1,, | head -n 20000
	echo sync,0,,,,,,
} >"$work/long.csv"
on_gpu -- "$BUILD/kfdreplay" --trace "$work/long.csv" --count --json "$json" >/dev/null
holds "$json" '.requests == 1' '.count == {"submitted": 20000, "executed": 20000, "twice": 0, "never": 0}'

kernel=kernel,0,0,5000,132x1x1,64x1x1,,
copies='memcpy_h2d,0,0,1000,,,4096, memcpy_d2d,0,0,1000,,,65536, memcpy_d2h,0,0,1000,,,65536,'
# shellcheck disable=SC2086 # words
printf '%s\n' $head $copies $kernel $copies $kernel $kernel memset,0,0,700,,,64, $copies \
	sync,0,,,,,, $kernel sync,0,,,,,, $copies sync,0,,,,,, >"$work/mixed.csv"
on_gpu -- "$BUILD/kfdreplay" --trace "$work/mixed.csv" --requests 30 --count --json "$json" >/dev/null
holds "$json" '.requests == 30' '.count.submitted == 10 * (4 * 104 + 1)' \
	'.count.executed == .count.submitted' '.count.twice == 0'
