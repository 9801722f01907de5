#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A training loop that makes way for a server on the same GPU, and needs one line for that.

    PYTHONPATH=python LD_PRELOAD=build/libkfdshim.so python3 examples/python/train.py

Its kernels are suspended in the middle while a more urgent process has work, and go on where they
stopped; the loop does not notice, except that a step takes longer.
"""
import argparse
import signal
import sys
import time

import hip
import kfdshim

STEP_S = 0.02


def main():
    parser = argparse.ArgumentParser(description="A training loop.")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="default: until SIGTERM or Ctrl-C")
    options = parser.parse_args()
    kfdshim.set_priority(2)  # or KFDSHIM_PRIORITY=offline, and the program needs no line at all
    gpu = hip.Gpu()
    steps, begin = 0, time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print("train.py: begins", flush=True)
    try:
        while time.monotonic() < begin + options.seconds:
            gpu.run(STEP_S)
            steps += 1
    except KeyboardInterrupt:
        pass
    print(f"train.py: {steps} steps in {time.monotonic() - begin:.2f} s")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"train.py: {error}")
