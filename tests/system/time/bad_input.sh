#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: with programs that are stopped, debugged, setuid, or only fork, and with an init that is
# killed, the simulation goes on or ends, and the report says what happened.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

export KFDSIM_TEST_MARK=$work
virtual=("$BUILD/kfdsim" --virtual --set host_wake_us=0 --report "$report" --)

# A process is stopped by a signal: its own sleep is over when it continues.
expect 0 "${virtual[@]}" bash -c 'sleep 50 & sleep 1; kill -STOP $!; sleep 199; kill -CONT $!; wait'
virtual_time '.seconds == 200 and .forced == 0 and any(.stopped[]; .command == "sleep" and .rounds > 0)'
# A process is stopped by a debugger.
expect 0 "${virtual[@]}" "$BUILD/time_processes" virtual traced
virtual_time '.forced == 0 and any(.stopped[]; .command == "time_processes")'
# A sleep of a year.
expect 0 "${virtual[@]}" sleep 31536000
virtual_time '.seconds == 31536000 and .stopped == []'

# A setuid program has the library, too.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	install -m 4755 "$BUILD/time_sleeps" "$work/setuid"
	expect 0 "${virtual[@]}" setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$work/setuid" virtual
	virtual_time '.bypasses == [] and .seconds > 100'
fi

# A program only forks, beside a sleeper whose time comes all the same.
expect 3 "${virtual[@]}" bash -c '(while :; do (:); done) & sleep 0.2; exit 3'
virtual_time '.forced > 0 and any(.forced_by[]; .command == "bash")'
# The same without a wait for its children, so that their CPU time is not accounted.
expect 3 "${virtual[@]}" python3 -c '
import os, signal, time
if not os.fork():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        if not os.fork():
            os._exit(0)
time.sleep(0.2)
os._exit(3)'
virtual_time '.forced > 0'
# The same program is killed.
"${virtual[@]}" bash -c 'while :; do sleep 1000 & echo; done' >"$work/out" 2>"$work/err" &
pid=$!
soon test -s "$work/out"
kill -9 $pid
wait $pid 2>/dev/null || status=$?
same "$status" 137
soon none_marked

# The first process of the simulation is killed from outside, while another process sleeps.
"${virtual[@]}" bash -c 'sleep 1000 & echo; read -r <><(sleep 100000)' >"$work/begun" 2>"$work/err" &
pid=$!
soon test -s "$work/begun"
kill -9 "$(tr -d ' ' <"/proc/$pid/task/$pid/children")"
wait $pid || status=$?
same "$status" 137
one_line 'simulation was killed'
same "$(jq .exit_code "$report")" 137
soon none_marked
