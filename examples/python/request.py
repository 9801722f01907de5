#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same as request.c, from Python, with nothing to build:

    PYTHONPATH=python LD_PRELOAD=build/libkfdshim.so python3 examples/python/request.py
"""
import time

import kfdshim


def main():
    kfdshim.set_priority(15)
    kfdshim.set_slo(0.02)
    for number in range(1, 4):
        with kfdshim.request():
            time.sleep(0.005)  # a real server would launch kernels here
        print(f"request {number} served")


if __name__ == "__main__":
    main()
