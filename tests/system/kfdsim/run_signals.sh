#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SIGINT, SIGTERM and SIGHUP sent to kfdsim reach the command, which decides.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

for signal in INT TERM HUP; do
	rm -f "$DIR/up"
	# Python, as a shell's background jobs start with SIGINT ignored.
	"$KFDSIM" -- python3 - "$DIR/up" "SIG$signal" >"$DIR/out" <<'PYTHON' &
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
	wait_for 20 test -e "$DIR/up"
	kill -"$signal" "$kfdsim"
	status=0
	wait "$kfdsim" || status=$?
	same "$signal $status" "$signal 5"
	same "$(cat "$DIR/out")" "SIG$signal"
done

# A command that does not handle it dies of it.
rm -f "$DIR/up"
"$KFDSIM" -- sh -c ': >"$0/up"; exec sleep 600' "$DIR" &
kfdsim=$!
wait_for 20 test -e "$DIR/up"
kill -TERM "$kfdsim"
status=0
wait "$kfdsim" || status=$?
same "$status" 143
