#!/bin/bash
# SPDX-License-Identifier: MIT
# SIGTERM ends a run with a result: at once between requests, within a second
# inside one. A second SIGTERM ends the process.
set -eu
# shellcheck source=tests/lib/replay.inc.sh
. "$SOURCE/tests/lib/replay.inc.sh"
export DIR

# one request of a minute
printf '%s\r\n' op,launch_ns,start_ns,duration_ns,grid,block,bytes,name \
	kernel,0,0,60000000000,1x1x1,64x1x1,, sync,1,,,,,, >"$DIR/long.csv"

# ended SIGNALS OPTIONS...: starts it, waits for its run to begin, sends the
# signals half a second later; its exit code to $DIR/code, how long it took
# from then on to $DIR/ms.
cat >"$DIR/ended" <<'INNER'
signals=$1
shift
mkfifo "$DIR/ready"
exec 4<>"$DIR/ready"
"$@" --sync-fd 0:4 </dev/null >/dev/null 2>"$DIR/err" &
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
echo "$code" >"$DIR/code"
echo $(($(date +%s%3N) - start)) >"$DIR/ms"
INNER
ended() {
	rm -f "$DIR/ready" "$JSON"
	on_gpu -- bash "$DIR/ended" "$@"
}
within() {
	[ "$(cat "$DIR/code")" = "$1" ] || fail "exit code $(cat "$DIR/code"), not $1: $(cat "$DIR/err")"
	[ "$(cat "$DIR/ms")" -lt "$2" ] || fail "it took $(cat "$DIR/ms") ms"
}

ended TERM "$REPLAY" --trace "$RESNET" --seconds 50 --count --json "$JSON"
within 0 1500
check '.requests > 5' '.arrived == .requests' '.seconds < 2' '.count.executed == .count.submitted'

ended INT "$REPLAY" --trace "$RESNET" --rate 0.001 --arrivals fixed --seconds 50 --json "$JSON"
within 0 1500
check '.requests == 0' '.arrived == 0' '.keeps_up' '.latency_us.p50 == 0'

ended TERM "$REPLAY" --trace "$DIR/long.csv" --seconds 50 --count --json "$JSON"
within 0 3000
check '.requests == 0' '.arrived == 1' '.steps == 0' \
	'.count == {"submitted": 1, "executed": 0, "twice": 0, "never": 1}'
grep -q 'was cut off' "$DIR/err" || fail "it does not say that a request was cut off"

ended 'TERM TERM' "$REPLAY" --trace "$DIR/long.csv" --seconds 50 --json "$JSON"
within 143 1000
[ ! -e "$JSON" ] || fail "a result after the second signal"
