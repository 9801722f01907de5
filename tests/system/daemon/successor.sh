#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if the worker dies while a client is suspended, the client runs, and the next worker
# suspends it again. If watchdog and worker are killed, a daemon that is started at once waits for
# the end of the old worker, and then serves the shims. An executor process without a target ends,
# because it has /dev/kfd open, and the worker stays.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

adopted() {
	says ".daemon.worker_pid != $1 and
		any(.processes[]; .pid == $offline and .level == \"trap\")"
}

children_of() {
	grep -lsx "PPid:[[:space:]]*$1" /proc/[0-9]*/status || true
}

# workers_of PID: prints the workers among the children of the daemon.
workers_of() {
	children_of "$1" |
		xargs -r grep -lsx "Name:[[:space:]]*kfdschedd-work" || true
}

# device_is_open: a process of the daemon has /dev/kfd open.
device_is_open() {
	local file
	for file in $(children_of "$daemon"); do
		[ -z "$(find "${file%/status}/fd" -lname /dev/kfd)" ] || return 0
	done
	return 1
}

# since SECONDS.FRACTION: prints the ms that have passed.
since() {
	awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN {printf "%d", (b - a) * 1000}'
}

start_daemon
start_offline --seconds 600
start_online
suspend_offline
before=$(worker)
begin=$EPOCHREALTIME
kill -KILL "$before"
until_true 100 adopted "$before" || fail "no other worker took it over"
echo "taken over $(since "$begin") ms after SIGKILL of the worker"
another_online
suspend_offline

# A predecessor that does not end: another process holds its lock.
before=$(worker)
exec {held}>"$KFDSHIM_SOCKET.lock"
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
until_true 50 flock -n "$held" || fail "a worker without its watchdog has its lock"
# A process that ends closes its files before it is gone.
until_true 50 has_ended "$before" || fail "the lock is free, but the worker has not ended"
begin=$EPOCHREALTIME
start_daemon
until_true 50 grep -q "earlier daemon still runs; waiting" "$work/log" ||
	fail "the daemon does not wait for the old worker"
sleep 0.5
[ -z "$(workers_of "$daemon")" ] || fail "a worker beside the old one"
flock -u "$held"
until_true 100 adopted "$before" || fail "another daemon did not take it over"
echo "taken over by another daemon $(since "$begin") ms after its start"
another_online
suspend_offline

before=$(worker)
until_true 50 says ".daemon.executors == {processes: 1, stuck: 0}" || fail "not one executor process"
until_true 10 device_is_open || fail "no process of the daemon has the device open"
kill -KILL "$online" "$offline"
until_true 100 says ".daemon.executors.processes == 0" || fail "an executor process stays without targets"
device_is_open && fail "a process of the daemon has the device open without a client"
says ".daemon.worker_pid == $before and .totals.suspends >= 1" || fail "the worker was replaced"
start_offline --seconds 60
another_online
suspend_offline
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"
[ -z "$(ls "$work/run")" ] || fail "files remain: $(ls "$work/run")"
