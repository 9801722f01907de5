#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python.py KFDSIM KFDSCHEDD LIBKFDSHIM: what kfdshim.request() costs, in turns with a context manager
that is written in Python and does nothing: the least that one costs in this interpreter.

In a process that has opened the GPU, so that the agent is loaded: without a daemon, and with one, which
sleeps before each begin and each end and has to be woken. Prints what bench_show reads.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS, CALLS = 201, 2000


class Nothing:
    __slots__ = ()

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        pass


NOTHING = Nothing()


def nothing():
    return NOTHING


def ns(function):
    """Of a block, in CPU time of this thread: what else runs on the machine is not in it."""
    begin = time.thread_time_ns()
    for _ in range(CALLS):
        with function():
            pass
    return (time.thread_time_ns() - begin) / CALLS


def measure():
    """In the world: prints the samples of each arm, in turns."""
    import kfdshim
    import model

    def in_another():
        with kfdshim.request():
            return ns(kfdshim.request)

    assert kfdshim.active()
    model.Model(None).step()
    if "WITH_DAEMON" in os.environ:
        while not any(p.pid == os.getpid() for p in kfdshim.Scheduler().processes()):
            time.sleep(0.1)
    arms = {"nothing": lambda: ns(nothing), "request": lambda: ns(kfdshim.request), "in_another": in_another}
    samples = {name: [] for name in arms}
    for _ in range(ROUNDS):
        for name, arm in arms.items():
            samples[name].append(arm())
    json.dump(samples, sys.stdout)


def world(kfdsim, shim, daemon=None):
    """What measure() prints there."""
    script = 'exec env LD_PRELOAD="$SHIM" python3 "$0" measure'
    more = {"SHIM": shim, "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{ROOT / 'python'}:{ROOT / 'examples'}"}
    with tempfile.TemporaryDirectory() as folder:
        if daemon:
            more.update(KFDSHIM_SOCKET=folder + "/run/socket", DAEMON=daemon, WITH_DAEMON="1",
                        KFDSHIM_PRIORITY="online")
            script = ('"$DAEMON" --foreground --socket "$KFDSHIM_SOCKET" 2>/dev/null & '
                      'until [ -S "$KFDSHIM_SOCKET" ]; do sleep 0.1; done; ' + script)
        done = subprocess.run([kfdsim, "--", "sh", "-c", script, __file__], env={**os.environ, **more},
                              stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def series(name, samples):
    ranks = sorted(samples)
    return {"name": name, "unit": "ns", "samples": len(ranks),
            "ranks": [ranks[i * (len(ranks) - 1) // 200] for i in range(201)]}


def figures(what, samples, name, limit):
    ratio = statistics.median(a / b for a, b in zip(samples[name], samples["nothing"]))
    bound = {"bound": "at_most" if limit else None, "limit": limit}
    return [{"name": what, "value": statistics.median(samples[name]), "unit": "ns", "bound": None,
             "limit": None},
            {"name": "... / the one that does nothing", "value": ratio, "unit": "x", **bound}]


def main():
    kfdsim, daemon, shim = sys.argv[1:]
    alone, beside = world(kfdsim, shim), world(kfdsim, shim, daemon)
    result = {
        "name": "python", "title": "A request from Python",
        "series": [series("nothing", alone["nothing"]), series("a request", alone["request"]),
                   series("with a daemon", beside["request"]), series("in another", alone["in_another"])],
        "figures": [
            {"name": "a context manager that does nothing", "value": statistics.median(alone["nothing"]),
             "unit": "ns", "bound": None, "limit": None},
            *figures("request() in a process without one", alone, "request", 8),
            *figures("request() during another", alone, "in_another", 3),
            *figures("request() that wakes the daemon twice", beside, "request", None),
        ],
    }
    print(json.dumps(result))


if sys.argv[1:] == ["measure"]:
    measure()
else:
    main()
