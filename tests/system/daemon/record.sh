#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdschedd --record records an online and an offline process, a reload and two workers; the
# player finds no difference in the recording, but finds one in a recording that was changed. The
# process that writes it has the file, the pipe and no rights.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
world_options=(--virtual "${world_options[@]}")
in_a_world

# plays CODE FILE TEXT: the player ends with CODE and prints TEXT.
plays() {
	local got=0
	"$BUILD/record_play" "$2" >"$work/played" 2>&1 || got=$?
	cat "$work/played"
	[ "$got" = "$1" ] || fail "the player ends with $got, not $1"
	grep -q -- "$3" "$work/played" || fail "the player does not say '$3'"
}

none=0000000000000000
daemon_options+=(--record "$work/first")
start_daemon
process=$(pgrep -P "$daemon" -x kfdschedd-rec || true)
[ -n "$process" ] || fail "no kfdschedd-rec"
for what in CapEff=$none CapPrm=$none NoNewPrivs=1 Seccomp=2; do
	grep -qx "${what%=*}:[[:space:]]*${what#*=}" "/proc/$process/status" ||
		fail "kfdschedd-rec's ${what%=*} is not ${what#*=}"
done
open=$(find "/proc/$process/fd" -lname 'socket:*' -o -lname '*eventfd*' -o -lname '*signalfd*')
[ -z "$open" ] || fail "kfdschedd-rec has $open"
[ -z "$(find "/proc/$(worker)/fd" -lname "$work/first")" ] || fail "the worker has the file"
start_offline --seconds 600
start_online
suspend_and_resume "$offline"
printf '[node all]\npolicy = share\nshare = 20%%\n[scheduler]\nslow_suspend = 10s\n' >"$work/patient.ini"
kill -HUP "$daemon"
until_true 50 grep -q "in force from now on" "$work/log" || fail "no reload"
suspend_and_resume "$offline"
before=$(worker)
kill -KILL "$before"
until_true 100 says ".daemon.worker_pid != $before and
	any(.processes[]; .pid == $offline and .level == \"trap\")" || fail "no other worker"
another_online
suspend_and_resume "$offline"
kill -TERM "$daemon"
wait "$daemon" || fail "kfdschedd ended with $?"
plays 0 "$work/first" ": 2 workers, .*: as recorded"
grep -q " suspend " "$work/first" || fail "nothing was suspended"
[ "$(grep -c "policy=share share_percent=20" "$work/first")" = 2 ] || fail "no configuration of the reload"
sed '0,/ suspend /s/ suspend / resume /' "$work/first" >"$work/changed"
plays 1 "$work/changed" "in the recording: resume"
head -c -1 "$work/first" >"$work/cut"
plays 2 "$work/cut" "the file is not complete"
