#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves, with a stand-in for systemd: the daemon is ready when its worker is, and not
# before; its watchdog is told while the worker's heart beats, and not while it is stopped;
# sockets that are passed are used and stay, and a wrong one is said; the units are right,
# where systemd-analyze is there.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
systemd=(python3 -IS "$SOURCE/tests/system/daemon/service.py")
export NOTIFY_SOCKET=$work/notify

"${systemd[@]}" listen "$NOTIFY_SOCKET" >"$work/told" &
children+=("$!")
until_true 50 grep -qx listening "$work/told" || fail "no stand-in"

# how_often LINE
how_often() {
	grep -cx "$1" "$work/told" || true
}

at_least() {
	[ "$(how_often "$1")" -ge "$2" ]
}

WATCHDOG_USEC=300000 start_daemon
until_true 50 at_least READY=1 1 || fail "not ready"
says .daemon.worker_pid || fail "ready, and does not answer"
sed -n 2p "$work/told" | grep -qx 'STATUS=Worker [0-9]* is running\.' || fail "ready before its worker: $(cat "$work/told")"
until_true 50 at_least WATCHDOG=1 3 || fail "no WATCHDOG=1"
grep -qx "STATUS=Worker $(worker) is running\." "$work/told" || fail "no status: $(cat "$work/told")"

first=$(worker)
kill -STOP "$first"
until_true 50 has_ended "$first" || fail "a stopped worker lives on"
until_true 50 says ".daemon.worker_pid != $first" || fail "no other worker"
until_true 50 grep -qx "STATUS=Worker $(worker) is running\." "$work/told" || fail "no new status"

# One that ends again and again is started after pauses; systemd is not told that all is well.
for _ in 1 2 3 4; do
	before=$(worker)
	kill -KILL "$before"
	until_true 100 says ".daemon.worker_pid != $before" || fail "no worker after $before"
done
grep -q "after a pause" "$work/log" || fail "no pause"
until_true 50 grep -qx "STATUS=Worker $(worker) is running\." "$work/told" || fail "no status of the last one"
awk '/^STATUS=The worker has ended/ {out = 1} /^STATUS=Worker/ {out = 0}
	/^WATCHDOG=1$/ && out {exit 1}' "$work/told" || fail "WATCHDOG=1 while there is no worker: $(cat "$work/told")"
before=$(how_often WATCHDOG=1)
until_true 50 at_least WATCHDOG=1 $((before + 2)) || fail "no WATCHDOG=1 of the last worker"
[ "$(how_often READY=1)" -eq 1 ] || fail "ready twice"

kill -HUP "$daemon"
until_true 50 at_least READY=1 2 || fail "not ready after a reload"
[ "$(grep -cx RELOADING=1 "$work/told")" -eq 1 ] || fail "no RELOADING=1"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"
until_true 50 at_least STOPPING=1 1 || fail "no STOPPING=1"

# In the journal lines have a priority and no name.
exec {journal}>>"$work/journal"
JOURNAL_STREAM=$(stat -c %d:%i "$work/journal") "$BUILD/kfdschedd" --foreground \
	--socket "$work/own/socket" 2>&"$journal" &
daemon=$!
children+=("$daemon")
until_true 50 grep -qx "<6>listening at $work/own/socket" "$work/journal" || fail "journal: $(cat "$work/journal")"
# It says so before it takes signals.
KFDSHIM_SOCKET=$work/own/socket until_true 50 says ".daemon.pid == $daemon" || fail "it does not answer"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"

# Sockets that are there before the daemon, and after it.
mkdir "$work/passed"
KFDSHIM_SOCKET=$work/passed/socket
port=$(python3 -IS -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${systemd[@]}" pass "seqpacket=$KFDSHIM_SOCKET" "tcp=127.0.0.1:$port" -- "$BUILD/kfdschedd" --foreground \
	2>>"$work/log" &
daemon=$!
children+=("$daemon")
until_true 50 says ".daemon.pid == $daemon" || fail "not by the socket that was passed"
python3 -IS "$SOURCE/tests/system/daemon/metrics.py" until 20 "$port" "$work/text" kfdsched_worker_restarts_total==0 ||
	fail "no metrics by the socket that was passed"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"
[ -S "$KFDSHIM_SOCKET" ] || fail "it has removed a socket that is not its own"

# wrong TEXT KIND...
wrong() {
	local text=$1
	shift
	refused 1 "$text" timeout 20 "${systemd[@]}" pass "$@" -- "$BUILD/kfdschedd" --foreground
}
wrong "neither a listening SOCK_SEQPACKET" "stream=$work/stream"
wrong "loopback only" "tcp=0.0.0.0:0"
wrong "two sockets of the same type" "seqpacket=$work/one" "seqpacket=$work/two"

if command -v systemd-analyze >/dev/null; then
	mkdir "$work/units"
	sed "s|^ExecStart=[^ ]*|ExecStart=$BUILD/kfdschedd|" "$BUILD/kfdschedd.service" >"$work/units/kfdschedd.service"
	cp "$SOURCE/packaging/kfdschedd.socket" "$work/units"
	systemd-analyze verify --man=no "$work/units/kfdschedd.service" "$work/units/kfdschedd.socket" >"$work/verified" 2>&1 ||
		fail "units: $(cat "$work/verified")"
	! grep -q kfdschedd "$work/verified" || fail "units: $(cat "$work/verified")"
fi
