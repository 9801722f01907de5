#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: commands that use timers take exactly their virtual time, and hardly any real time.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# takes SECONDS STATUS COMMAND...: in virtual time, to the millisecond. A shell, which is another
# process, reads the clock of the simulation before and after.
takes() {
	local want=$1 status=$2 begin=$SECONDS
	shift 2
	# shellcheck disable=SC2016 # this is the inner shell's
	expect 0 "$BUILD/kfdsim" --virtual -- bash -c 'begin=${EPOCHREALTIME/.}
		got=0
		"$@" || got=$?
		took=$((${EPOCHREALTIME/.} - begin))
		echo "$got $((took / 1000000)).$(printf %03d $((took / 1000 % 1000)))"' - "$@"
	same "$(tail -n 1 "$work/out")" "$status $want"
	[ $((SECONDS - begin)) -lt 60 ] || fail "'$*' took $((SECONDS - begin)) s of real time"
}

takes 5.000 124 timeout 5 sleep 1000
takes 3.000 0 timeout 5000 sleep 3
# The process ignores SIGTERM, so SIGKILL follows after another 2 s.
takes 7.000 137 timeout -k 2 5 bash -c "trap '' TERM; sleep 3; sleep 3; sleep 3; sleep 3"

if command -v python3 >/dev/null; then
	takes 10.000 0 python3 -c '
import signal
count = 0
def handler(number, frame):
    global count
    count += 1
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.5, 0.1)
while count < 96:
    signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0)
'
	takes 100.000 142 python3 -c 'import signal; signal.alarm(100); signal.pause()'
	takes 40.000 0 python3 -c '
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, 20, 20)
signal.sigwait([signal.SIGALRM])
signal.sigwait([signal.SIGALRM])
'
	takes 30.000 0 python3 -c '
import socket, struct
a, b = socket.socketpair()
a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 30, 0))
try:
    a.recv(1)
    raise SystemExit("something was received")
except BlockingIOError:
    pass
'
fi
if command -v perl >/dev/null; then
	takes 9.000 0 perl -e 'local $SIG{ALRM} = sub { exit 0 }; alarm 9; sleep 1 while 1;'
fi
