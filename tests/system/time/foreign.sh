#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: programs that were not built for virtual time have it: Python's sleeps, locks, queues,
# selectors and child processes, and the shell.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

cat >"$work/waits.py" <<'END'
import queue, select, selectors, socket, subprocess, sys, threading, time

def took(seconds, wait, expected=None):
    begin = time.monotonic()
    result = wait()
    passed = time.monotonic() - begin
    if abs(passed - seconds) > 0.01 or (expected is not None and result != expected):
        print("FAILED:", wait, passed, "instead of", seconds, result)
        sys.exit(1)

def get_nothing():
    try:
        queue.Queue().get(timeout=3600)
    except queue.Empty:
        return "empty"

def receive_nothing():
    a, b = socket.socketpair()
    a.settimeout(60)
    try:
        a.recv(1)
    except TimeoutError:
        return "late"

def kill_late():
    try:
        subprocess.run(["sleep", "1000"], timeout=100)
    except subprocess.TimeoutExpired:
        return "late"

def post_later():
    ready = threading.Event()
    threading.Timer(30, ready.set).start()
    return ready.wait(3600)

def select_nothing():
    a, b = socket.socketpair()
    return selectors.DefaultSelector().register(a, selectors.EVENT_READ) and select.select([a], [], [], 7)

wall = time.time()
took(86400, lambda: time.sleep(86400))
took(3600, get_nothing, "empty")
took(60, receive_nothing, "late")
took(100, kill_late, "late")
took(30, post_later, True)
took(7, select_nothing)
took(2, lambda: subprocess.run(["sleep", "2"]).returncode, 0)
assert 80000 < time.time() - wall < 100000
END
expect 0 "$BUILD/kfdsim" --virtual -- python3 "$work/waits.py"
same "$("$BUILD/kfdsim" --virtual -- bash -c 'SECONDS=0; sleep 100; read -r -t 20 <><(:); echo $SECONDS')" 120
begin=$(date +%s)
end=$("$BUILD/kfdsim" --virtual -- sh -c 'sleep 1000000; date +%s')
[ $((end - begin)) -ge 1000000 ] || fail "the wall clock went on by $((end - begin)) s"
