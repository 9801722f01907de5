#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [NAME]...: the benchmarks, each on its own, then one table and a plot for
# each in BUILD/bench. Figures of a simulated GPU and of the machine this runs on.
set -eu
cd "$(dirname "$0")/../.."
build=$PWD/build
out=$build/bench
mkdir -p "$out"

run() {
	local name=$1
	shift
	[ -z "$wanted" ] || case " $wanted " in *" $name "*) ;; *) return 0 ;; esac
	echo "bench: $name" >&2
	"$@" >"$out/$name.json" || { echo "bench: $name failed" >&2; exit 1; }
	files="$files $out/$name.json"
}

wanted=$*
files=""
run host "$build/bench_host" "$build/kfdsim" sim/profiles/mi210.ini
run ioctl "$build/bench_ioctl" "$build/kfdsim"
run barriers "$build/kfdsim" -- "$build/bench_barriers"
run supervisor "$build/bench_supervisor" "$build/kfdsim" "$build/bench_tenants"
run shim "$build/bench_shim" "$build/kfdsim" "$build/libkfdshim.so" "$build/bench_shim_work" \
	"$build/libbench_tool.so" "$build/libbench_early_thread.so"
run python python3 tests/bench/python.py "$build/kfdsim" "$build/kfdschedd" "$build/libkfdshim.so"
run core "$build/bench_core"
run executors "$build/bench_executors"
run model "$build/bench_model" traces/online_resnet50_b1.csv traces/offline_gpt2m_train_8x1024.csv
run wake "$build/kfdsim" -- "$build/bench_wake" "$build/kfdschedd" "$build/libkfdshim.so" \
	"$build/bench_wake_work" "$build/libbench_wake_entry.so"
run peers "$build/bench_peers"
run import-log "$build/bench_import_log" "$build/kfdsched" tests/system/cli/logs/hip-7.2.4.log \
	"$(df --output=avail /dev/shm 2>/dev/null | awk -v out="$out" 'NR == 2 && $1 > 1500000 {shm = 1}
		END {print shm ? "/dev/shm" : out}')"
run monitor "$build/kfdsim" -- "$build/bench_monitor" "$build/kfdsched"
run load "$build/bench_load" "$build/kfdschedd"
run top "$build/kfdsim" -- "$build/bench_top" "$build/kfdsched" "$build/kfdschedd" "$build/libkfdshim.so" \
	"$build/bench_tenants"
[ -n "$files" ] || { echo "bench: there is no such benchmark: $wanted" >&2; exit 2; }
echo "Simulated GPU, $(nproc) cores, Linux $(uname -r); plots in $out"
# shellcheck disable=SC2086 # a list
"$build/bench_show" "$out" $files
