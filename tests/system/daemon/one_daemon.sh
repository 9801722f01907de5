#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a socket has one daemon. A second daemon says so and ends with 1; the stale socket of a
# killed daemon is replaced; any other file is not touched. Without --foreground the command returns
# when the daemon replies.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

start_daemon
refused 1 "another daemon listens at $KFDSHIM_SOCKET" "$BUILD/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET"
says .daemon.pid || fail "the first daemon does not reply any more"

first=$(worker)
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
until_true 50 has_ended "$first" || fail "a worker runs on without its watchdog"
[ -S "$KFDSHIM_SOCKET" ] || fail "the socket file should be stale now"
start_daemon
until_true 50 says ".daemon.pid == $daemon" || fail "a stale socket was not replaced"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"

# A process of a killed daemon can end later than the daemon, and holds the socket until then.
python3 -IS -c 'import socket, sys, time
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
listener.listen()
connection = listener.accept()
time.sleep(0.3)' "$KFDSHIM_SOCKET" &
dying=$!
children+=("$dying")
until_true 50 test -S "$KFDSHIM_SOCKET" || fail "no socket"
start_daemon
until_true 50 has_ended "$dying" || fail "the daemon listens although another process does"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"

echo precious >"$work/file"
refused 1 "is not a socket" "$BUILD/kfdschedd" --foreground --socket "$work/file"
[ "$(cat "$work/file")" = precious ] || fail "a file that is no socket was touched"
refused 1 "cannot create the directory" "$BUILD/kfdschedd" --foreground --socket "$work/file/below/socket"
refused 2 "must be an absolute path" "$BUILD/kfdschedd" --socket relative/socket
refused 2 "--nonsense" "$BUILD/kfdschedd" --nonsense
refused 2 "unexpected argument" "$BUILD/kfdschedd" argument

"$BUILD/kfdschedd" --socket "$KFDSHIM_SOCKET" 2>>"$work/log"
daemon=$(status | jq .daemon.pid)
children+=("$daemon")
kill -TERM "$daemon"
until_true 50 test ! -e "$KFDSHIM_SOCKET" || fail "the daemon does not end"
