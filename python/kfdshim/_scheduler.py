# SPDX-License-Identifier: MIT
"""libkfdsched: a program that schedules by itself reads the daemon's state and controls it."""
import json
import math
import operator
import os
import time
from typing import Any, Dict, Iterator, List, Optional

from ._errors import Error, NoAnswer, NoSuchProcess, invalid
from ._library import Handle, Path
from ._types import Event, Process, event_of, events_of, processes_of

INT_MAX = 2**31 - 1
UINT_MAX = 2**32 - 1
SECONDS_MAX = 86400

#: For Scheduler.set_priority(): the process is listed and never scheduled.
PRIORITY_NONE = -1
#: For Scheduler.set_priority(): the priority that the process has set itself applies again.
PRIORITY_OWN = -2


def _number(what: str, value: int, least: int, most: int) -> int:
    """ctypes would cut off the bits that do not fit: a request about another process."""
    number = operator.index(value)
    if not least <= number <= most:
        raise invalid(f"{value} is no {what}")
    return number


class Suspension:
    """What Scheduler.suspend() returns: a context manager that resumes the process at its end."""

    __slots__ = ("_scheduler", "pid")

    def __init__(self, scheduler: "Scheduler", pid: int) -> None:
        self._scheduler = scheduler
        self.pid = pid

    def __enter__(self) -> "Suspension":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        try:
            self._scheduler.resume(self.pid)
        except NoSuchProcess:
            pass  # it has ended meanwhile
        except Error:
            if kind is None:  # the block's own exception says more
                raise


class Events:
    """What Scheduler.events() returns: an iterator over events, for one thread. close(), the end of a with
    block and its deletion close the connection."""

    def __init__(self, socket: Path, timeout: Optional[float]) -> None:
        self._fd = -1
        self._timeout = timeout
        self._handle = Handle(socket)
        try:
            self._fd = self._handle.call("events")
        except BaseException:
            self._handle.close()
            raise

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        end = math.inf if self._timeout is None else time.monotonic() + self._timeout
        while self._fd >= 0:
            left = end - time.monotonic()
            timeout_ms = -1 if left == math.inf else math.ceil(max(0, min(left, 1000)) * 1000)
            text = self._handle.next_event(self._fd, timeout_ms)
            if text is not None:
                return event_of(text)
            if left <= 0:
                break
        raise StopIteration

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def fileno(self) -> int:
        """The descriptor, which is readable when there is an event, for select and asyncio."""
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
            self._handle.close()


class Scheduler:
    """Reads the daemon's state and sends it control requests.

    socket: where the daemon listens; None: KFDSHIM_SOCKET, or /run/kfdsched/socket. Each call is a
    connection of its own, so a daemon that was started again is no error, there is nothing to close,
    and any number of threads may share one object.

    Any local user may read. Control requests (suspend, resume, set_priority, policy) are for root and for the
    group that admin_group names in the daemon's configuration; from others: NotPermitted. Every call
    may raise NoDaemon, NoAnswer, DaemonGone and WrongVersion; those about a process NoSuchProcess.
    A process is named by its number in the PID namespace of the caller.

    Raises NoLibrary if libkfdsched.so.1 cannot be loaded.
    """

    def __init__(self, socket: Path = None) -> None:
        self._socket = socket
        Handle(socket).close()  # no library: an error here, not at the first call

    def processes(self) -> List[Process]:
        """The processes that are registered with the daemon. Cheap enough for many calls a second."""
        return processes_of(self._text("summary"))

    def status(self, pid: int = 0) -> Dict[str, Any]:
        """The daemon's state as `kfdsched status --json` prints it (docs/reference/status.md); with
        a pid all that is known of that process, as `kfdsched status PID --dump --json` prints it."""
        status: Dict[str, Any] = json.loads(self._text("status", _number("process id", pid, 0, INT_MAX)))
        return status

    def suspend(self, pid: int, seconds: float) -> Suspension:
        """Suspends the process until the end of the with block, and for at most that many seconds.

        It is suspended when this returns, or as soon as it can be: the daemon waits for it for two
        seconds at most. The seconds, above 0 and up to 86400, are a lease that the daemon ends by
        itself, whatever becomes of this program; a fraction is rounded up to a whole second. Another
        call for the same process replaces the lease. Without a with block the lease or resume() is
        the end of it.

        Raises InvalidArgument, and NotSuspendable if the process can never be suspended. An
        exception leaves nothing suspended.
        """
        number = _number("process id", pid, 1, INT_MAX)
        if not 0 < seconds <= SECONDS_MAX:
            raise invalid(f"a lease lasts up to {SECONDS_MAX} seconds and more than 0, not {seconds}")
        suspension = Suspension(self, number)
        try:
            self._order("suspend", number, math.ceil(seconds))
        except Error as error:
            if isinstance(error, NoAnswer):
                self._undo(number)
            raise
        except BaseException:  # a signal handler's, after the daemon has suspended the process
            self._undo(number)
            raise
        return suspension

    def resume(self, pid: int) -> None:
        """Ends each suspension of the process that any program requested. It stays suspended
        while more urgent work is active."""
        self._order("resume", _number("process id", pid, 1, INT_MAX))

    def set_priority(self, pid: int, priority: int) -> None:
        """Sets the priority of the process, 0 to 15, PRIORITY_NONE or PRIORITY_OWN, until it ends.

        Raises InvalidArgument.
        """
        self._order("set_priority", _number("process id", pid, 1, INT_MAX),
                    _number("priority", priority, PRIORITY_OWN, 15))

    def policy(self, name: str, share_percent: Optional[int] = None, gpu_id: Optional[int] = None) -> None:
        """Sets the policy of a GPU, or, without a gpu_id, of all that have none of their own, until
        the daemon ends.

        name: "strict", "share" (then share_percent is 1 to 99), "deadline" or "observe". Raises
        InvalidArgument, and NoSuchNode.
        """
        percent = _number("percentage", share_percent or 0, 0, 100)
        gpu = 0 if gpu_id is None else _number("gpu_id", gpu_id, 1, UINT_MAX)
        self._order("set_policy", gpu, name.encode(), percent)

    def recent_events(self) -> List[Event]:
        """The last events that the daemon keeps, 256 at most, the oldest first."""
        return events_of(self._text("recent_events"))

    def events(self, timeout: Optional[float] = None) -> Events:
        """An iterator over what happens from this call on. It waits for the next event, with a
        timeout for at most that many seconds, and then ends; without one it ends by close() only.

        The iteration raises DaemonGone when the daemon ends.
        """
        return Events(self._socket, timeout)

    def _order(self, name: str, *arguments: Any) -> None:
        with Handle(self._socket) as handle:
            handle.call(name, *arguments)

    def _text(self, name: str, *arguments: Any) -> str:
        with Handle(self._socket) as handle:
            return handle.text(name, *arguments)

    def _undo(self, pid: int) -> None:
        try:
            self.resume(pid)
        except Error:
            pass  # the lease ends by itself
