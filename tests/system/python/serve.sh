#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: examples/python/serve.py answers beside train.py, which is suspended once for each
# request and goes on between requests.
set -eu
# shellcheck source=tests/lib/python.inc.sh
. "$SOURCE/tests/lib/python.inc.sh"
in_a_world

start_daemon
example serve serve --port 0
serve=$started
example train train
python3 - "$work/serve" "$started" <<'END' || fail "the client"
import json, pathlib, sys, time, urllib.request
from observed import process, soon, trains

out, training = pathlib.Path(sys.argv[1]), int(sys.argv[2])
soon("a server", lambda: "http" in out.read_text())
url = out.read_text().split()[1]
soon("a training", trains, training)
before = process(training).suspends
for number in range(3):
    with urllib.request.urlopen(url, data=b"request %d" % number) as response:
        answer = json.load(response)
    assert answer["answer"] == f"{number} tseuqer", answer
    # eight layers, of 10 ms on the CPU and 1 ms on the GPU
    assert 88 <= answer["milliseconds"] < 110, answer
    soon("it goes on", lambda: process(training).state == "running")
    time.sleep(0.1)
assert process(training).suspends - before == 3, process(training)
END
kill -TERM "$serve"
wait "$serve" || fail "serve.py ended with $?"
trained train "$started"
