#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same as request.c, from Python, with nothing to build:

    LD_PRELOAD=libkfdshim.so python3 examples/request.py

The functions are looked up among what the process has loaded; without the
library there are none, and the calls do nothing.
"""
import contextlib
import ctypes
import time


class Kfdshim:
    """kfdshim.h for Python."""

    def __init__(self):
        process = ctypes.CDLL(None)
        self.here = hasattr(process, "kfdshim_request_begin")
        if self.here:
            self._begin = process.kfdshim_request_begin
            self._end = process.kfdshim_request_end
            self._begin.restype = self._end.restype = None
            self._priority = process.kfdshim_set_priority
            self._slo = process.kfdshim_set_slo
            self._slo.argtypes = [ctypes.c_longlong]

    @contextlib.contextmanager
    def request(self):
        """From its begin to its end the process counts as active on its GPUs."""
        if self.here:
            self._begin()
        try:
            yield
        finally:
            if self.here:
                self._end()

    def set_priority(self, priority):
        """0..15, 15 the most urgent."""
        if self.here and self._priority(priority) != 0:
            raise ValueError(f"priority {priority} is not 0..15")

    def set_slo(self, microseconds):
        """What a request may take; 0: unknown."""
        if self.here and self._slo(microseconds) != 0:
            raise ValueError(f"SLO of {microseconds} us is out of range")


def main():
    kfdshim = Kfdshim()
    kfdshim.set_priority(15)
    kfdshim.set_slo(20000)
    for number in range(1, 4):
        with kfdshim.request():
            time.sleep(0.005)  # a real server would launch kernels here
        print(f"request {number} served")


if __name__ == "__main__":
    main()
