#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: a simulation in virtual time ends with the exit code of its command, when the command, kfdsim
# or a sleeper is killed, and with processes left that sleep; and it leaves nothing behind.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

export KFDSIM_TEST_MARK=$work
virtual=("$BUILD/kfdsim" --virtual --)
expect 0 "${virtual[@]}" true
expect 42 "${virtual[@]}" sh -c 'sleep 1000; exit 42'
expect 127 "${virtual[@]}" /nothing
expect 137 "${virtual[@]}" sh -c 'kill -9 $$'
expect 143 "${virtual[@]}" sh -c 'sleep 10 & kill -15 $$'
# One sleeper is killed at half of its time, and one in the middle of its calls.
expect 137 "${virtual[@]}" bash -c 'sleep 1000 & p=$!; sleep 500; kill -9 $p; wait $p'
expect 137 "${virtual[@]}" bash -c \
	'(while :; do sleep 0.001; done) & p=$!; sleep 1; kill -9 $p; wait $p'
# A hundred processes are killed while they get their slots.
expect 0 "${virtual[@]}" bash -c \
	'for i in $(seq 100); do sleep 1000 & kill -9 $!; wait $! || :; done 2>/dev/null; sleep 1'
# timeout(1) ends a command that runs for too long.
expect 124 "${virtual[@]}" timeout 5 sleep 1000
# Processes that are left in the background end with the command.
expect 0 "${virtual[@]}" sh -c 'sleep 100000 & sleep 1'

# The command is killed from outside, and then kfdsim itself.
start() {
	"${virtual[@]}" sh -c 'echo $$; read line' <"$work/in" >"$work/out" 2>"$work/err" &
	pid=$!
	exec 5>"$work/in"
	soon test -s "$work/out"
}
mkfifo "$work/in"
start
kill -TERM $pid
status=0
{ wait $pid; } 2>/dev/null || status=$?
same "$status" 143
start
kill -9 $pid
{ wait $pid; } 2>/dev/null || status=$?
same "$status" 137
exec 5>&-
soon none_marked
