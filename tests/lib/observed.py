# SPDX-License-Identifier: MIT
"""For tests in Python beside the daemon: what becomes of its processes."""
import time

import kfdshim

scheduler = kfdshim.Scheduler()


def process(pid):
    return next((p for p in scheduler.processes() if p.pid == pid), None)


def soon(what, condition, *arguments):
    """The condition, of a process or a text, becomes true."""
    end = time.monotonic() + 60
    while not condition(*arguments):
        assert time.monotonic() < end, f"not soon: {what}: {scheduler.processes()}"
        time.sleep(0.05)


def trains(pid):
    """The training can be suspended, and has work."""
    p = process(pid)
    return p is not None and p.role == "offline" and p.level == "trap" and p.active
