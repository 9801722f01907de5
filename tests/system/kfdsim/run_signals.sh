#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: SIGINT, SIGTERM and SIGHUP to kfdsim reach the command, which handles them.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

for signal in INT TERM HUP; do
	rm -f "$work/up"
	# This is Python, because background jobs of a shell start with SIGINT ignored.
	"$BUILD/kfdsim" -- python3 - "$work/up" "SIG$signal" >"$work/out" <<'PYTHON' &
import signal, sys
def on_signal(number, frame):
    print(signal.Signals(number).name)
    sys.exit(5)
signal.signal(getattr(signal, sys.argv[2]), on_signal)
open(sys.argv[1], "w").close()
signal.sigtimedwait([], 20)
sys.exit(6)
PYTHON
	kfdsim=$!
	soon test -e "$work/up"
	kill -"$signal" "$kfdsim"
	status=0
	wait "$kfdsim" || status=$?
	same "$signal $status" "$signal 5"
	same "$(cat "$work/out")" "SIG$signal"
done

# A command that does not handle the signal is ended by it.
rm -f "$work/up"
"$BUILD/kfdsim" -- sh -c ': >"$0/up"; exec sleep 600' "$work" &
kfdsim=$!
soon test -e "$work/up"
kill -TERM "$kfdsim"
status=0
wait "$kfdsim" || status=$?
same "$status" 143
