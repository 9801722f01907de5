#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nightly.sh: what takes too long for every change. docs/internals/testing-long.md says what and why.
set -eu
cd "$(dirname "$0")/.."
export BUILD=$PWD/build SOURCE=$PWD
failed=""

step() {
	local name=$1 start=$SECONDS
	shift
	echo "nightly: $name" >&2
	"$@" || failed="$failed $name"
	echo "nightly: $name took $((SECONDS - start)) s" >&2
}

every_world() {
	local kernel gpu bad=0
	for kernel in 6.12.95 6.12.107 7.3; do
		for gpu in mi100 mi210 mi300x mi300x-cpx mi308x mi308x-cpx; do
			build/kfdsim --kernel "$kernel" --gpu "$gpu" --gpus 2 -- build/kfdconform \
				>build/nightly.out 2>&1 || {
				bad=1
				grep -A 1 -E '^(FAIL|busy)' build/nightly.out
			}
			echo "$kernel $gpu: $(tail -n 1 build/nightly.out)"
		done
	done
	return $bad
}

# With our programs under ASan and UBSan, and another seed every day.
bad_input() {
	local program bad=0
	cmake --preset sanitizers >/dev/null
	cmake --build --preset sanitizers >build/nightly.out 2>&1 || {
		tail -n 20 build/nightly.out
		return 1
	}
	for program in ioctl memory rings; do
		BUILD=$PWD/build-sanitizers tests/fuzz/fuzz.sh "$program" "$(date +%Y%m%d)" 90 || bad=1
	done
	return $bad
}

# 100,000 bursts by each way that work can take.
every_path() {
	local path bad=0
	export PATHS=$BUILD/test_shim_paths WORKLOAD=$BUILD/shim_path
	WORK_LIBRARY=$(find "$BUILD" -name libshim_path_work.so)
	THUNK_LIBRARY=$(find "$BUILD" -name libshim_path_thunk.so)
	PROFILER=$(find "$BUILD" -name libfake_profiler.so)
	export WORK_LIBRARY THUNK_LIBRARY PROFILER
	for path in store direct sdma blit raw thunk dlopened intercepted; do
		tests/system/shim/path.sh "$path" 100000 || bad=1
	done
	for path in direct raw; do
		tests/system/shim/path.sh "$path" 10000 --set rptr_at_consumption=1 || bad=1
	done
	return $bad
}

# 100 requests held at random times, by each level, with HSA and with HIP.
every_level() {
	local level bad=0
	for level in trap self updates gate weight; do
		LEVEL=$level REQUESTS=100 tests/system/whole/counts.sh || bad=1
	done
	return $bad
}

step "the slow tests" ctest --test-dir build --output-on-failure --no-tests=error -j 4 -L slow
step "every test under the sanitizers" make --no-print-directory sanitizers-all
step "the quick tests on a machine that is taken away" tests/stress/disturbed.sh 3
step "ten million events of the scheduler" env EVENTS=10000000 SEED="$(date +%Y%m%d)" build/unit_scheduler_core_random
step "50,000 seeds of worker, executors and agents" build/system_seeded --from "$(date +%Y%m%d)000" --seeds 50000
step "every rule in every world" every_world
step "bad input" bad_input
step "every path of work" every_path
step "held at random times, by every level" every_level
step "every broken rule is noticed" tests/system/kfdconform/breaks.sh all
step "10,000 changes of queues by ioctl" build/kfdsim --gpus 2 -- build/random_queues_raw 10000 "$(date +%Y%m%d)"
step "10,000 changes of queues by HSA" build/kfdsim --gpus 2 -- build/random_queues_hsa 10000 "$(date +%Y%m%d)"
step "every broken line is noticed" tests/mutation/mutants.py
step "ten minutes of chaos" tests/stress/mix.sh 600 "$(date +%Y%m%d)"
step "five minutes of tenants whose scheduler is killed" tests/stress/tenants.sh 300
step "what it costs" tests/bench/run.sh
step "every runtime" ci/matrix.sh
step "both commands of the README on a new machine" ci/fresh
[ -z "$failed" ] || {
	echo "nightly: FAILED:$failed" >&2
	exit 1
}
