#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: examples/python/scheduler.py gives two trainings the GPU in turns, and at its end, by
# Ctrl-C, neither is suspended.
set -eu
# shellcheck source=tests/lib/python.inc.sh
. "$SOURCE/tests/lib/python.inc.sh"
as_root "$@"
in_a_world

start_daemon
example train first
first=$started
example train second
second=$started
python3 - "$first" "$second" <<'END' || fail "no two trainings"
import sys
from observed import soon, trains

for pid in map(int, sys.argv[1:]):
    soon("a training", trains, pid)
END
# A script's background processes ignore Ctrl-C, and Python does then, too.
set -m
example scheduler turns --seconds 0.5
set +m
python3 - "$first" "$second" "$started" <<'END' || fail "no turns"
import os, signal, sys
from observed import process, soon

first, second, scheduler = map(int, sys.argv[1:])
for _ in range(2):
    for runs, rests in ((first, second), (second, first)):
        soon("its turn", lambda: (process(runs).state, process(rests).state) == ("running", "suspended"))
os.kill(scheduler, signal.SIGINT)
END
wait "$started" || fail "scheduler.py ended with $?"
python3 - "$first" "$second" <<'END' || fail "suspended without its scheduler"
import sys
from observed import process

assert [process(int(pid)).state for pid in sys.argv[1:]] == ["running", "running"]
END
trained first "$first" "$second"
