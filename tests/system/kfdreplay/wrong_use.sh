#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: wrong use ends with 2 and one line that names the option and its use; a bad trace ends with 1
# and names its line and column; without a GPU the exit code is 77.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"

# wrong PATTERN OPTIONS...: kfdreplay refuses the options with one line.
wrong() {
	local pattern=$1
	shift
	expect 2 "$BUILD/kfdreplay" "$@"
	one_line "^kfdreplay: $pattern.*; usage: kfdreplay --trace FILE"
}

wrong 'no recording given'
wrong 'unknown option --frob' --frob
wrong '--trace needs a value' --trace
wrong "unexpected argument 'x'" --trace "$gemm" x
wrong "--requests: '0' is not a number" --trace "$gemm" --requests 0
wrong "--requests: '-1' is not a number" --trace "$gemm" --requests -1
wrong "--requests: '3x' is not a number" --trace "$gemm" --requests 3x
wrong "--seconds: 'nan' is not seconds" --trace "$gemm" --seconds nan
wrong "--seconds: '0' is not seconds" --trace "$gemm" --seconds 0
wrong "--rate: 'fast' is not a rate" --trace "$gemm" --rate fast
wrong "--rate: '1000001' is not a rate above 0 and up to 1000000" --trace "$gemm" --rate 1000001
wrong "--load: '-0.2' is not a share" --trace "$gemm" --load -0.2
wrong "--arrivals: 'often' is not poisson, fixed, bursty or file:PATH" --trace "$gemm" --load 1 --arrivals often
wrong "--arrivals: 'file:' is not poisson, fixed" --trace "$gemm" --load 1 --arrivals file:
wrong "--spacing: 'wide' is not none or recorded" --trace "$gemm" --spacing wide
wrong "--seed: 'x' is not a whole number" --trace "$gemm" --seed x
wrong "--device: '-1' is not the number of a GPU" --trace "$gemm" --device -1
wrong "--sync-fd: '3' is not two file descriptors" --trace "$gemm" --sync-fd 3
wrong "--sync-fd: '3:x' is not two file descriptors" --trace "$gemm" --sync-fd 3:x
wrong '--requests and --seconds exclude' --trace "$gemm" --requests 1 --seconds 1
wrong '--closed, --rate and --load exclude' --trace "$gemm" --closed --load 0.2
wrong '--closed, --rate and --load exclude' --trace "$gemm" --rate 5 --load 0.2
wrong '--arrivals is for --rate or --load' --trace "$gemm" --arrivals fixed
wrong '--request-times is for --rate or --load' --trace "$gemm" --request-times "$work/times"

expect 0 "$BUILD/kfdreplay" --help
grep -q -- '--sync-fd R:W' "$work/out" || fail "--help does not list the options"

expect 1 "$BUILD/kfdreplay" --trace "$work/none.csv"
one_line 'none.csv: cannot be opened: No such file'
expect 1 "$BUILD/kfdreplay" --trace "$gemm" --load 1 --arrivals "file:$work/none"
one_line "$work/none: cannot be opened: No such file"
sed '6s/^kernel/kernal/' "$gemm" >"$work/bad.csv"
sed -n 6p "$work/bad.csv" | grep -q kernal || fail "the bad trace is not bad"
expect 1 "$BUILD/kfdreplay" --trace "$work/bad.csv"
one_line "bad.csv:6:1: unknown op 'kernal'"

# If there is no driver, the message says so, and the use was right.
if ! [ -e /dev/kfd ]; then
	expect 77 "$BUILD/kfdreplay" --trace "$gemm"
	one_line '/dev/kfd'
fi
expect 77 on_gpu -- env HSA_OVERRIDE_GFX_VERSION=9.0.6 "$BUILD/kfdreplay" --trace "$gemm"
one_line 'no code object for gfx906 in this build: there are gfx908, gfx90a, gfx942'
expect 2 on_gpu -- "$BUILD/kfdreplay" --trace "$gemm" --device 1
one_line 'no device 1: there is 1 GPU'
expect 1 on_gpu -- "$BUILD/kfdreplay" --trace "$gemm" --json "$work/none/x.json"
one_line 'none/x.json: cannot be written'
expect 1 on_gpu -- "$BUILD/kfdreplay" --trace "$gemm" --rate 10 --requests 1 --request-times "$work/none/x.csv"
one_line 'none/x.csv: cannot be written'
printf '%s\n' op,launch_ns,start_ns,duration_ns,grid,block,bytes,name \
	kernel,0,0,0,1x1x1,64x1x1,, sync,1,,,,,, >"$work/nothing.csv"
expect 2 on_gpu -- "$BUILD/kfdreplay" --trace "$work/nothing.csv" --load 0.5
one_line '--load: more than a million'
