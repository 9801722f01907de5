# SPDX-License-Identifier: MIT
"""kfdshim from Python: an application reports its requests, a program schedules by itself.

    import kfdshim

    with kfdshim.request():             # the process counts as active on its GPUs
        answer = model(question)

    scheduler = kfdshim.Scheduler()     # of the daemon at KFDSHIM_SOCKET
    with scheduler.suspend(pid, 30):    # for as long as the block runs, and at most 30 s
        measure()

The first half (request, online, set_priority, set_slo, active) calls libkfdshim.so if that is
preloaded, and does nothing otherwise. The second half (Scheduler) loads libkfdsched.so.1 at its first
use and speaks to kfdschedd. Times are in seconds. See docs/python.md.
"""
from ._application import Request, active, online, request, set_priority, set_slo
from ._errors import (DaemonGone, Error, InvalidArgument, NoAnswer, NoDaemon, NoLibrary, NoSuchNode,
                      NoSuchProcess, NotPermitted, NotSuspendable, WrongVersion)
from ._scheduler import PRIORITY_NONE, PRIORITY_OWN, Events, Scheduler, Suspension
from ._types import Event, Process

__version__ = "0.1.0"
__all__ = [
    "PRIORITY_NONE", "PRIORITY_OWN", "DaemonGone", "Error", "Event", "Events", "InvalidArgument",
    "NoAnswer", "NoDaemon", "NoLibrary", "NoSuchNode", "NoSuchProcess", "NotPermitted",
    "NotSuspendable", "Process", "Request", "Scheduler", "Suspension", "WrongVersion", "active",
    "online", "request", "set_priority", "set_slo",
]
