# SPDX-License-Identifier: MIT
"""What the daemon reports, as named tuples. docs/reference describes the keys of its JSON."""
import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple


class Process(NamedTuple):
    """A process that is registered with the daemon, at one moment."""

    pid: int
    name: str  #: of the command, at most 15 characters
    role: str  #: "online", "offline", or "seen" (without a priority, never scheduled)
    priority: Optional[int]  #: 0 to 15, 15 the most urgent; None: it has none
    level: str  #: how it can be held: "trap", "self", "gate", "weight"; "observe": not at all
    state: str  #: "running", "suspending", "suspended" or "resuming"
    active: bool  #: it has work on a GPU, or a request
    shim: bool  #: libkfdshim.so is preloaded
    gpu_ids: Tuple[int, ...]  #: of the GPUs where it has queues, in the daemon's order
    suspends: int  #: how often it was suspended since it registered
    suspended_seconds: float  #: how long it was suspended in all, wall time


class Event(NamedTuple):
    """Something that happened, as kfdsched events shows it."""

    kind: str  #: "came", "went", "level", "suspend", "resume", "priority", "lease", "policy", ...
    time: float  #: seconds since 1970, as time.time() has them
    pid: Optional[int]  #: the process that it is about; None: it is not about one
    details: Dict[str, Any]  #: the whole object, with the keys of docs/reference/events.md


def _process(of: Dict[str, Any]) -> Process:
    # "nodes": of a daemon of an older version, which answers in full.
    nodes = of.get("queue_counts", of.get("nodes", []))
    return Process(
        pid=of["pid"],
        name=of["comm"],
        role=of["role"],
        priority=of["priority"],
        level=of["level"],
        state=of["state"],
        active=of["active"],
        shim=of["shim"],
        gpu_ids=tuple(node["gpu_id"] for node in nodes),
        suspends=of["suspends"],
        suspended_seconds=of["suspended_us"] / 1e6,
    )


def _event(of: Dict[str, Any]) -> Event:
    return Event(of["kind"], of["time_us"] / 1e6, of.get("pid"), of)


def processes_of(text: str) -> List[Process]:
    return [_process(one) for one in json.loads(text)["processes"]]


def event_of(text: str) -> Event:
    return _event(json.loads(text))


def events_of(text: str) -> List[Event]:
    return [_event(one) for one in json.loads(text)]
