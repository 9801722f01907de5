#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: each line of the metrics can be parsed and has units in its name. They count by node and
# by client, and those of a client end with it. Counters and the port survive a worker. Lines that
# the log has dropped are counted. Slow, silent and invalid connections do not delay the scheduler.
# If the port is taken, the daemon says so.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# shellcheck source=tests/lib/metrics.inc.sh
. "$SOURCE/tests/lib/metrics.inc.sh"

start_daemon
metrics statuses "$port" || fail "statuses"
start_offline --seconds 300
start_online
node=$(gpu_id)
bdf=$(basename "$(readlink -f /sys/class/drm/renderD128/device)")
scraped "before any" "kfdsched_gpu_info,node=$node,gpu=0,bdf=$bdf,render=renderD128==1" kfdsched_suspends_total==0 kfdsched_worker_restarts_total==0

send cycle 1 20 2000
conditions=()
for of in kfdsched_% "kfdsched_node_%,node=$node" "kfdsched_client_%,pid=$offline,comm=kfdreplay"; do
	for name in suspends_total resumes_total suspend_seconds_count resume_seconds_count; do
		conditions+=("${of/\%/$name}>=20")
	done
	conditions+=("${of/\%/detection_seconds_count}>=1" "${of/\%/failures_total}==0")
done
scraped "after 20 cycles" "${conditions[@]}" "kfdsched_client_level,pid=$offline,level=trap==1" \
	"kfdsched_client_priority,pid=$online==15" "kfdsched_client_active,pid=$online,node=$node==0"
suspend_offline
scraped "while suspended" "kfdsched_client_suspended_seconds_total,pid=$offline>=0.5" \
	"kfdsched_node_suspended_seconds_total,node=$node>=0.5" "kfdsched_node_suspended_clients,node=$node==1" \
	"kfdsched_client_time_seconds_total,pid=$offline,state=held>=0.5" \
	"kfdsched_node_time_seconds_total,node=$node,state=held>=0.5" \
	"kfdsched_client_time_seconds_total,pid=$online,state=held==0" \
	"kfdsched_client_suspended,pid=$offline==1" "kfdsched_client_active,pid=$online,node=$node==1" \
	"kfdsched_client_active_seconds_total,pid=$online,node=$node>=0.5" \
	"kfdsched_node_active_seconds_total,node=$node>=1" \
	kfdsched_refused_calls_total==0
send off
# More lines than a client's share of the log holds. A worker that is busy meanwhile sees the last
# change only.
for _ in {1..10}; do
	for i in {1..60}; do
		send priority $((14 + i % 2))
	done
	metrics until 2 "$port" "$work/text" kfdsched_log_left_out_lines_total\>=1 2>/dev/null && break
done
send priority 15
scraped "after a flood of lines" kfdsched_log_left_out_lines_total\>=1 kfdsched_log_dropped_lines_total==0

# A scrape that comes early waits in the socket's queue for the next worker.
first=$(worker)
kill -KILL "$first"
scraped "after a worker's end" kfdsched_worker_restarts_total==1 kfdsched_suspends_total\>=21
kill -KILL "$online" # its connection was lost with the worker
exec {words}>&- {answers}<&-
rm "$work/words" "$work/answers"
start_online
until_true 100 state_is "$offline" running || fail "the process has not registered again"

mkfifo "$work/hold"
metrics attack "$port" <"$work/hold" >"$work/attack" &
children+=("$!")
exec {hold}>"$work/hold"
until_true 100 grep -qx attacking "$work/attack" || fail "no attack"
second=$(worker)
send cycle 2 20 2000
[ "$(worker)" = "$second" ] || fail "the worker was lost to connections"
exec {hold}>&-
scraped "after an attack" kfdsched_suspends_total\>=41

kill -KILL "$offline"
scraped "after its end" "without pid=\"$offline\"" kfdsched_clients==1

# No process reads the log, and the pipe is full: the first lines are lost already, and the end of
# a worker does not reset the count.
mkfifo "$work/full"
exec {full}<>"$work/full"
dd if=/dev/zero of="$work/full" bs=4096 count=1024 oflag=nonblock 2>/dev/null || true
kill -TERM "$daemon"
wait "$daemon" || fail "the daemon ended with $?"
"$BUILD/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" --metrics "$port" 2>&"$full" &
daemon=$!
children+=("$daemon")
rm "$work/text"
until_true 50 says ".daemon.pid == $daemon" || fail "no daemon with a full log"
scraped "with a full log" kfdsched_log_dropped_lines_total\>=1 kfdsched_worker_restarts_total==0
kill -KILL "$(worker)"
scraped "with a full log and another worker" kfdsched_log_dropped_lines_total\>=2 \
	kfdsched_worker_restarts_total==1

another=("$BUILD/kfdschedd" --foreground --socket "$work/other" --metrics)
expect 1 "${another[@]}" "$port"
grep -q "port $port: .*--metrics" "$work/err" || fail "the error gives no reason"
expect 2 "${another[@]}" 70000
grep -q "1..65535" "$work/err" || fail "the error gives no reason"
[ ! -e "$work/other" ] || fail "the socket file remains"
