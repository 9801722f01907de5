#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: SIGTERM ends a run with a result: at once between requests, and within a second in the middle
# of one. A second SIGTERM ends the process.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"
export work

# a request of a minute
printf '%s\r\n' op,launch_ns,start_ns,duration_ns,grid,block,bytes,name \
	kernel,0,0,60000000000,1x1x1,64x1x1,, sync,1,,,,,, >"$work/long.csv"

# ended SIGNALS OPTIONS...: starts a run, waits for its beginning, and sends the signals half a second
# later. $work/code gets its exit code, and $work/ms the time from the signal to its end.
cat >"$work/ended" <<'INNER'
signals=$1
shift
mkfifo "$work/ready"
exec 4<>"$work/ready"
"$@" --sync-fd 0:4 </dev/null >/dev/null 2>"$work/err" &
pid=$!
read -r -n 1 -t 20 -u 4
sleep 0.5
start=$(date +%s%3N)
for signal in $signals; do
	kill -"$signal" "$pid"
	sleep 0.2
done
code=0
wait "$pid" || code=$?
echo "$code" >"$work/code"
echo $(($(date +%s%3N) - start)) >"$work/ms"
INNER
ended() {
	rm -f "$work/ready" "$json"
	on_gpu -- bash "$work/ended" "$@"
}
within() {
	[ "$(cat "$work/code")" = "$1" ] || fail "exit code $(cat "$work/code"), not $1: $(cat "$work/err")"
	[ "$(cat "$work/ms")" -lt "$2" ] || fail "it took $(cat "$work/ms") ms"
}

ended TERM "$BUILD/kfdreplay" --trace "$resnet" --seconds 50 --count --json "$json"
within 0 1500
holds "$json" '.requests > 5' '.arrived == .requests' '.seconds < 2' '.count.executed == .count.submitted'

ended INT "$BUILD/kfdreplay" --trace "$resnet" --rate 0.001 --arrivals fixed --seconds 50 --json "$json"
within 0 1500
holds "$json" '.requests == 0' '.arrived == 0' '.keeps_up' '.latency_us.p50 == 0'

ended TERM "$BUILD/kfdreplay" --trace "$work/long.csv" --seconds 50 --count --json "$json"
within 0 3000
holds "$json" '.requests == 0' '.arrived == 1' '.steps == 0' \
	'.count == {"submitted": 1, "executed": 0, "twice": 0, "never": 1}'
grep -q 'was cut off' "$work/err" || fail "kfdreplay does not say that a request was cut off"

ended 'TERM TERM' "$BUILD/kfdreplay" --trace "$work/long.csv" --seconds 50 --json "$json"
within 143 1000
[ ! -e "$json" ] || fail "a result after the second signal"
