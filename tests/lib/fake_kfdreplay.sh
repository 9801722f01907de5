#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stands in for kfdreplay: keeps the sync contract and writes figures that can
# differ by arm and role. Reads FAKE_DIR, and FAKE_REPLAY=fail|mute|early|impossible|bad_times;
# FAKE_SPREAD: P99 under trap depends on the seed. FAKE_OVERLOAD: it does not keep up. FAKE_PEERS: it
# makes a shim's file for its peers. Of several clients the second online one takes 1 ms longer, and
# the second offline one has steps three times as long and keeps half as much.
set -eu
mode=open load=- seed=- arrivals=- times=""
while [ $# -gt 0 ]; do
	case $1 in
	--trace) trace=$2 ;;
	--seconds) seconds=$2 ;;
	--json) json=$2 ;;
	--sync-fd) sync=$2 ;;
	--load | --rate) load="$1 $2" ;;
	--seed) seed=$2 ;;
	--arrivals) arrivals=$2 ;;
	--request-times) times=$2 ;;
	--closed)
		mode=closed
		shift
		continue
		;;
	*)
		echo "fake kfdreplay: $1?" >&2
		exit 2
		;;
	esac
	shift 2
done
name=$(basename "$json" .json)
arm=${name%-*} role=${name#*-}
echo "$$ $role" >>"$FAKE_DIR/clients"
others=""
for variable in "${!KFDSHIM_@}"; do
	case $variable in
	KFDSHIM_PRIORITY | KFDSHIM_GROUP | KFDSHIM_SOCKET | KFDSHIM_DISABLE | KFDSHIM_LOG) ;;
	*) others="$others$variable " ;;
	esac
done
{
	echo "pid=$$"
	echo "trace=$trace mode=$mode pace=$load seed=$seed arrivals=$arrivals seconds=$seconds"
	[ -z "$times" ] || echo "keeps the times of requests"
	echo "preload=${LD_PRELOAD-unset}"
	echo "priority=${KFDSHIM_PRIORITY-unset} group=${KFDSHIM_GROUP-unset} socket=${KFDSHIM_SOCKET-unset}"
	echo "level=${KFDSHIM_LEVEL-unset} runtime=${XDG_RUNTIME_DIR-unset}"
	echo "others=$others"
} >>"$FAKE_DIR/$name.log"
case $arm/$role/${FAKE_REPLAY-} in
shared/offline/fail)
	echo "kfdreplay: the queue has gone" >&2
	exit 1
	;;
shared/offline/impossible)
	echo "fake kfdreplay: no GPU here" >&2
	exit 77
	;;
esac
[ -z "${FAKE_PEERS-}" ] || { mkdir -p "$XDG_RUNTIME_DIR/kfdshim" && touch "$XDG_RUNTIME_DIR/kfdshim/$$-77.lane"; }
touch "$FAKE_DIR/live-$$"
printf r >&"${sync#*:}"
read -r -N 1 _ <&"${sync%:*}"
echo "$$" >>"$FAKE_DIR/begun"
echo "together=$(find "$FAKE_DIR" -name 'live-*' | wc -l)" >>"$FAKE_DIR/$name.log"
[ "${FAKE_REPLAY-}" != early ] || exit 0
# As kfdreplay does: a few ms after the end of the seconds.
sleep "$seconds"
sleep 0.1
[ "${FAKE_REPLAY-}" != mute ] || exit 0
p99=2000 keeps=true
[ "$arm" != shared ] || keeps=false
[ "$arm" != trap ] || p99=2600
[ -z "${FAKE_OVERLOAD-}" ] || keeps=false
[ "$arm" != trap ] || [ -z "${FAKE_SPREAD-}" ] || [ "$mode" != open ] || p99=$((2600 + 100 * seed))
steps=10.5
[ "$arm" != trap ] || steps=8.4
if [ "$mode" = open ]; then steps=0; fi
gpu_us=900
[ "$role" != online2 ] || gpu_us=1900
[ "$role" != offline2 ] || gpu_us=2700
[ "$arm/$role" != trap/offline2 ] || steps=4.2
# Every 9 ms within the window.
[ -z "$times" ] || awk -v us="$gpu_us" -v seconds="$seconds" 'BEGIN {
	print "due_us,begin_us,end_us"
	for (i = 1; i <= 100 && 9000 * i + us < 1e6 * seconds; i++) printf "%d,%d,%d\n", 9000 * i, 9000 * i, 9000 * i + us
}' >"$times"
[ -z "$times" ] || [ "${FAKE_REPLAY-}" != bad_times ] || echo 7 >>"$times"
cat >"$json" <<JSON
{"trace":"x","simulated":false,"time_scale":1,"agent":"fake","mode":"$mode","requests":100,
 "arrived":100,"steps":$steps,"seconds":$seconds,"gpu_us_per_request":$gpu_us,"gpu_busy_ratio":0.2,
 "rate_per_s":220,"latency_us":{"mean":1000,"p50":900,"p90":1500,"p99":$p99,"p999":3000,"max":4000},
 "keeps_up":$keeps,"backlog":0,"count":null}
JSON
rm "$FAKE_DIR/live-$$"
