#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: of two programs of one user without a daemon, the offline one holds itself, by
# KFDSHIM_LEVEL=$LEVEL (auto: only the priorities are configured), while the online one works, about
# once for each request; no work of either is lost or done twice, and no file is left.
#
# 30 requests at a load of 0.2 have some 24 busy periods (0.8 x 30). The test requires ten of them: a
# gap that is short or noticed late joins two, and on a busy machine the online program falls behind
# now and then, and has no gaps. At time scale 0.05 and a load average of 17 on two cores it fell
# behind throughout.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"
API=${API:-hsa} LEVEL=${LEVEL:-auto}
# With the threads of HIP in between, the detection of gaps differs by version.
requests=30 wanted=10
[ "$API" = hsa ] || wanted=1
# At level weight the offline program runs on, and the busy periods of the online one join.
[ "$LEVEL" != weight ] || wanted=2

cat >"$work/both.sh" <<-'END'
	set -eu
	export LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_SOCKET=$work/no-daemon
	mkdir "$work/run"
	: >"$work/offline.log" # grep reads it before the process has written
	export XDG_RUNTIME_DIR=$work/run
	KFDSHIM_PRIORITY=offline KFDSHIM_LEVEL=${LEVEL#auto} KFDSHIM_LOG=debug "$BUILD/kfdreplay" --api "$API" \
		--trace "$gemm" --seconds 600 --count --json "$work/offline.json" \
		>/dev/null 2>"$work/offline.log" &
	offline=$!
	until grep -q "event .*: active" "$work/offline.log"; do sleep 0.05; done
	KFDSHIM_PRIORITY=online KFDSHIM_LOG=error "$BUILD/kfdreplay" --api "$API" --trace "$resnet" \
		--load 0.2 --requests $requests --count --json "$work/online.json" >/dev/null
	kill -TERM $offline
	wait $offline || true
END
export BUILD SOURCE work gemm resnet API LEVEL requests
on_gpu --time-scale 0.02 --report "$work/report.json" -- bash "$work/both.sh" 2>"$work/err"
# ROCr 7 reports at its end that it leaks a signal of its own.
said=$(grep -v SharedSignalPool "$work/err" || true)
[ -z "$said" ] || fail "stderr has: $said"

for json in "$work/offline.json" "$work/online.json"; do
	holds "$json" '.count.submitted > 0' '.count.executed == .count.submitted' '.count.twice == 0' \
		'.count.never == 0'
done
held=$(grep -c "event .*: held" "$work/offline.log") || true
released=$(grep -c "event .*: released" "$work/offline.log") || true
echo "held $held times for $requests requests; online: $(jq -c .latency_us "$work/online.json")"
[ "$held" -ge $wanted ] || fail "held $held times for $requests requests"
[ "$held" = "$released" ] || fail "held $held times, released $released"
json=$work/report.json
holds "$json" '[.processes[].queues[] | .suspends == .resumes] | all'
if [ "$LEVEL" = self ] || [ "$LEVEL" = auto ]; then
	# ENABLE comes before the runtime has any work.
	first=$(grep -Eom 1 'event .*: (session|created)' "$work/offline.log" || true)
	[ "${first##* }" = session ] || fail "no session before the first queue: $first"
	holds "$json" "[.processes[] | [.queues[].suspends] | max] as [\$offline, \$online]
		| \$offline >= $wanted and \$online == 0" \
		'[.processes[0].queues[].preempted] | add > 0'
else
	holds "$json" '[.processes[].queues[].suspends] | add == 0'
fi
[ -z "$(ls "$work/run/kfdshim")" ] || fail "left behind: $(ls "$work/run/kfdshim")"
