#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves, with a stand-in for systemd: the daemon reports that it is ready when its worker is, and
# not before; it sends WATCHDOG=1 while the worker runs, and not while the worker is stopped;
# sockets that are passed to it are used and not removed, and an unsuitable one is refused. The unit
# files are valid, if systemd-analyze is installed.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
systemd=(python3 -IS "$SOURCE/tests/system/daemon/service.py")
export NOTIFY_SOCKET=$work/notify

"${systemd[@]}" listen "$NOTIFY_SOCKET" >"$work/notified" &
children+=("$!")
until_true 50 grep -qx listening "$work/notified" || fail "no stand-in"

# how_often LINE: prints how often systemd got this line.
how_often() {
	grep -cx "$1" "$work/notified" || true
}

at_least() {
	[ "$(how_often "$1")" -ge "$2" ]
}

WATCHDOG_USEC=300000 start_daemon
until_true 50 at_least READY=1 1 || fail "not ready"
says .daemon.worker_pid || fail "ready, but it does not reply"
sed -n 2p "$work/notified" | grep -qx 'STATUS=Worker [0-9]* is running\.' || fail "ready before its worker: $(cat "$work/notified")"
until_true 50 at_least WATCHDOG=1 3 || fail "no WATCHDOG=1"
grep -qx "STATUS=Worker $(worker) is running\." "$work/notified" || fail "no status: $(cat "$work/notified")"

first=$(worker)
kill -STOP "$first"
until_true 50 has_ended "$first" || fail "a stopped worker has not ended"
until_true 50 says ".daemon.worker_pid != $first" || fail "no other worker"
until_true 50 grep -qx "STATUS=Worker $(worker) is running\." "$work/notified" || fail "no new status"

# A worker that ends again and again is started after pauses; systemd gets no WATCHDOG=1 meanwhile.
for _ in 1 2 3 4; do
	before=$(worker)
	kill -KILL "$before"
	until_true 100 says ".daemon.worker_pid != $before" || fail "no worker after $before"
done
grep -q "after a pause" "$work/log" || fail "no pause"
until_true 50 grep -qx "STATUS=Worker $(worker) is running\." "$work/notified" || fail "no status of the last one"
awk '/^STATUS=The worker has ended/ {out = 1} /^STATUS=Worker/ {out = 0}
	/^WATCHDOG=1$/ && out {exit 1}' "$work/notified" || fail "WATCHDOG=1 while there is no worker: $(cat "$work/notified")"
before=$(how_often WATCHDOG=1)
until_true 50 at_least WATCHDOG=1 $((before + 2)) || fail "no WATCHDOG=1 of the last worker"
[ "$(how_often READY=1)" -eq 1 ] || fail "ready twice"

kill -HUP "$daemon"
until_true 50 at_least READY=1 2 || fail "not ready after a reload"
[ "$(grep -cx RELOADING=1 "$work/notified")" -eq 1 ] || fail "no RELOADING=1"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"
until_true 50 at_least STOPPING=1 1 || fail "no STOPPING=1"

# In the journal, lines begin with a priority and have no name.
exec {journal}>>"$work/journal"
JOURNAL_STREAM=$(stat -c %d:%i "$work/journal") "$BUILD/kfdschedd" --foreground \
	--socket "$work/own/socket" 2>&"$journal" &
daemon=$!
children+=("$daemon")
until_true 50 grep -qx "<6>listening at $work/own/socket" "$work/journal" || fail "journal: $(cat "$work/journal")"
# It logs that it listens before it handles signals.
KFDSHIM_SOCKET=$work/own/socket until_true 50 says ".daemon.pid == $daemon" || fail "the daemon does not reply"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"

# Sockets that are passed exist before the daemon and after it.
mkdir "$work/passed"
KFDSHIM_SOCKET=$work/passed/socket
port=$(python3 -IS -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${systemd[@]}" pass "seqpacket=$KFDSHIM_SOCKET" "tcp=127.0.0.1:$port" -- "$BUILD/kfdschedd" --foreground \
	2>>"$work/log" &
daemon=$!
children+=("$daemon")
until_true 50 says ".daemon.pid == $daemon" || fail "the passed socket is not used"
python3 -IS "$SOURCE/tests/system/daemon/metrics.py" until 20 "$port" "$work/text" kfdsched_worker_restarts_total==0 ||
	fail "no metrics by the socket that was passed"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"
[ -S "$KFDSHIM_SOCKET" ] || fail "the daemon has removed the passed socket"

# wrong TEXT KIND...: the daemon refuses these sockets with TEXT.
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
