#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A scheduler of one's own: offline processes have the GPU in turns. As root, or in admin_group.

    PYTHONPATH=python python3 examples/python/scheduler.py --seconds 0.5
"""
import argparse
import contextlib
import itertools
import time

import kfdshim


def main():
    parser = argparse.ArgumentParser(description="Offline processes have the GPU in turns.")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a turn (default 1)")
    parser.add_argument("--turns", type=int, help="default: until Ctrl-C")
    options = parser.parse_args()
    scheduler = kfdshim.Scheduler()
    for turn in itertools.count() if options.turns is None else range(options.turns):
        offline = sorted(p.pid for p in scheduler.processes() if p.role == "offline")
        with contextlib.ExitStack() as suspended:
            for pid in offline:
                if pid != offline[turn % len(offline)]:
                    with contextlib.suppress(kfdshim.NoSuchProcess, kfdshim.NotSuspendable):
                        suspended.enter_context(scheduler.suspend(pid, options.seconds + 2))
            time.sleep(options.seconds)  # the rest run again at its end, also by Ctrl-C


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
