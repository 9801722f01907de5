#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves for one level, with HSA and with HIP: a process that is held and released at random moments
# from beginning to end does all of its work, once, and is not held at the end (except as below). The
# level is the requested one: at level gate it submits no packet while it is held, and the driver
# suspends queues only at levels trap and self. LEVEL: trap, self, updates (self by UPDATE_QUEUE),
# gate, weight. REQUESTS is the amount of work, SEED repeats a run, and APIS are both or one.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

requests=${REQUESTS:-10}
# The number of suspends without a resume, as the driver counts them for each queue: HIP leaves its
# queues to the driver, so a process can end while it is held.
queue_may_be_left() {
	[ "$1" = hip ] && echo 1 || echo 0
}
# The same number, as the daemon counts it. A process that ends waits for its resume only as long as
# it must: without a limit at level trap, else 10 ms, and on a busy machine the daemon can take longer.
hold_may_be_left() {
	[ "${LEVEL:?}-$1" = trap-hsa ] && echo 0 || echo 1
}

if [ -z "${IN_A_WORLD:-}" ]; then
	seed=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
	for api in ${APIS:-hsa hip}; do
		IN_A_WORLD=1 API=$api SEED=$seed "$BUILD/kfdsim" --gpu mi210 ${root:+--root "$root"} \
			--report "$work/report.json" -- bash "$0"
		# shellcheck disable=SC2153 # the one of the environment
		case $LEVEL in
		trap | self) suspended="> 0" ;;
		*) suspended="== 0" ;;
		esac
		jq -e "[.processes[].queues[] | .suspends - .resumes | . >= 0 and . <= $(queue_may_be_left "$api")] | all" \
			"$work/report.json" >/dev/null || fail "suspended at the end: $(jq -c .processes "$work/report.json")"
		jq -e "[.processes[].queues[].suspends] | add $suspended" "$work/report.json" >/dev/null ||
			fail "not held by $LEVEL: queues suspended $(jq '[.processes[].queues[].suspends] | add' "$work/report.json") times"
	done
	exit 0
fi

case $LEVEL in
updates)
	level=self
	export KFDSHIM_UPDATE_QUEUE=may-reset-the-gpu
	;;
*) level=$LEVEL ;;
esac
start_daemon
start_online
echo "$LEVEL, $API, seed $SEED"
total() {
	status | jq ".totals.$1"
}

# wptrs: prints the write pointers of the AQL queues of the offline process.
wptrs() {
	local address
	for address in $(status | jq -r ".processes[]|select(.pid == $offline)|.queues[]|
		select(.type == \"aql\")|.wptr_address"); do
		dd if="/proc/$offline/mem" bs=8 count=1 iflag=skip_bytes skip=$((address)) 2>/dev/null |
			od -An -tu8
	done
}

# play OPTION...: starts the offline process.
play() {
	LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline KFDSHIM_LEVEL=$level \
		"$BUILD/kfdreplay" --trace "$offline_trace" --closed --count --api "$API" \
		--json "$work/offline.json" "$@" >/dev/null 2>>"$work/log" &
	offline=$!
	children+=("$offline")
}

# While the process is held, the write pointers do not move; then they do. A thread waits for a second
# at most: if the machine is so slow that this is over, the check is repeated. The process has work for
# all of that.
nothing_passes_the_gate() {
	play --seconds 600
	local begun before after
	until_true 100 says ".processes[]|select(.pid == $offline)|.level == \"gate\"" ||
		fail "the process does not get to level gate"
	for _ in 1 2 3 4 5; do
		sleep 0.2 # the process runs meanwhile
		begun=${EPOCHREALTIME/./}
		send on
		until_true 50 state_is "$offline" suspended || fail "not held"
		sleep 0.02 # for work that was behind the gate already
		before=$(wptrs)
		sleep 0.3
		after=$(wptrs)
		[ $((${EPOCHREALTIME/./} - begun)) -lt 900000 ] && break
		echo "tried again: the check of the gate took too long"
		send off
	done
	[ -n "$before" ] || fail "no write pointer"
	[ "$before" = "$after" ] || fail "it has submitted packets while it was held: $before, then $after"
	send off
	until_true 50 moved || fail "it submits nothing after its release"
	end_offline
}
moved() {
	[ "$(wptrs)" != "$after" ]
}

# On a quiet machine the first run has more than enough holds; on a busy one the client that requests
# them sleeps too long.
[ "$LEVEL" != gate ] || nothing_passes_the_gate
part=0
for ((run = 0; run < 8 && $(total suspends) < 2 * requests; run++)); do
	play --requests "$requests"
	while ! has_ended "$offline"; do
		# The client is active and idle in turns, up to 20 ms each.
		send play $((SEED + part)) 100 20000
		part=$((part + 1))
	done
	wait "$offline" || fail "the offline process ended with $?"
	counts_are_right
	grep -q "process $offline (kfdreplay): level $level\$" "$work/log" ||
		fail "the process was never at level $level"
	echo "$LEVEL, $API, seed $SEED: $(total suspends) holds, workgroups" \
		"$(jq -c .count "$work/offline.json")"
done
totals=$(status | jq -c '.totals|{suspends, resumes, failures}')
jq -e ".suspends >= 2 * $requests and .suspends - .resumes >= 0 and
	.suspends - .resumes <= $run * $(hold_may_be_left "$API") and .failures == 0" <<<"$totals" >/dev/null || fail "too few holds, or a hold without a release: $totals"
