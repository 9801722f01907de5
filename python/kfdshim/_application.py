# SPDX-License-Identifier: MIT
"""kfdshim.h: an application reports its requests, its priority and its latency objective.

The functions are those of libkfdshim.so if that is preloaded; otherwise nothing happens. They are
called by ctypes.PyDLL, which keeps the global interpreter lock: none of them waits for anything
but a mutex that the library holds for microseconds and never while it runs Python code. ctypes.CDLL
would release the lock around each call, and a thread that releases it while others compute gets it
back after the interpreter's switch interval, 5 ms.
"""
import ctypes
import functools
import inspect
import operator
import os
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from ._errors import invalid

PRIORITY_MAX = 15
SLO_MAX_S = 0xFFFFFFFF / 1e6

_Function = TypeVar("_Function", bound=Callable[..., Any])
_process = ctypes.PyDLL(None)


def _find(name: str, restype: Any, *argtypes: Any) -> Any:
    """The function of libkfdshim.so; None: the library is not preloaded."""
    function = getattr(_process, name, None)
    if function is not None:
        function.restype, function.argtypes = restype, argtypes
    return function



class _Ignored:
    """A parameter of any type. ctypes passes what from_param returns, here an int; with py_object the
    call would take three times as long."""

    from_param = callable


_begin = _find("kfdshim_request_begin", None)
# `with` passes the three parts of an exception, and a C function without parameters ignores them.
_end = _find("kfdshim_request_end", None, _Ignored, _Ignored, _Ignored)
_set_priority = _find("kfdshim_set_priority", ctypes.c_int, ctypes.c_int)
_set_slo = _find("kfdshim_set_slo", ctypes.c_int, ctypes.c_longlong)


class Request:
    """What request() returns: requests are counted by the library, so it has no state."""

    __slots__ = ()
    if TYPE_CHECKING or _begin is None or _end is None:

        def __enter__(self) -> None:
            pass

        def __exit__(self, *exception: object) -> None:
            pass

    else:
        # C functions in place of methods: no Python code runs in which a signal handler could raise
        # (KeyboardInterrupt) between the begin and the block or between the block and the end.
        __enter__ = _begin
        __exit__ = _end


_REQUEST = Request()


def request() -> Request:
    """A context manager: the process has a request as long as its block runs.

    During a request the process counts as active on each GPU where it has queues, also while the
    CPU works for the request and the GPU has nothing to do. Requests may overlap, in threads and in
    coroutines. A child of fork has no requests. Returns the same object each time; raises nothing.
    """
    return _REQUEST


def online(function: _Function) -> _Function:
    """A decorator: each call of the function is a request, as long as its body runs.

    A function or method: until it returns or raises. A coroutine function (async def): from its
    first step to its end, also while it awaits. A generator, also an asynchronous one: from the
    first value that is requested until the generator is exhausted, has raised, or is closed (by
    close(), or by its deletion), also between two values, because a response that is streamed is
    one request. Place it below @classmethod and @staticmethod.

    Of a function that returns an awaitable or an iterator without being one of these the request is
    the call alone. Raises TypeError if it is given something that cannot be called.
    """
    if not callable(function):
        raise TypeError(f"{function!r} cannot be called: place @online below @classmethod")
    wrapper: Any
    if inspect.isasyncgenfunction(function):

        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with request():
                body = function(*args, **kwargs)
                try:
                    value = await body.__anext__()
                    while True:
                        try:
                            sent = yield value
                        except GeneratorExit:
                            raise
                        except BaseException as error:  # given by athrow(): the body's to handle
                            value = await body.athrow(error)
                        else:
                            value = await body.asend(sent)
                except StopAsyncIteration:
                    pass
                finally:
                    await body.aclose()

    elif inspect.iscoroutinefunction(function):

        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with request():
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function):

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with request():
                return (yield from function(*args, **kwargs))

    else:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with request():
                return function(*args, **kwargs)

    return functools.wraps(function)(wrapper)


def set_priority(priority: int) -> None:
    """Sets the priority of this process, 0 to 15, 15 the most urgent, in place of KFDSHIM_PRIORITY.

    Raises InvalidArgument if it is out of range, with and without the library.
    """
    if not 0 <= operator.index(priority) <= PRIORITY_MAX:
        raise invalid(f"a priority must be 0 to {PRIORITY_MAX}, not {priority}")
    if _set_priority is not None:
        _set_priority(priority)


def set_slo(seconds: Optional[float]) -> None:
    """Sets what a request may take, in seconds, in place of KFDSHIM_SLO; None or 0: unknown.

    The policy `deadline` of the daemon decides by it. It is kept in whole microseconds, at least 1.
    Raises InvalidArgument below 0 and above 4294.967295, with and without the library.
    """
    wanted = seconds or 0
    if not 0 <= wanted <= SLO_MAX_S:
        raise invalid(f"a latency objective is 0 to {SLO_MAX_S} seconds, not {seconds}")
    if _set_slo is not None:
        _set_slo(max(1, round(wanted * 1e6)) if wanted else 0)


def active() -> bool:
    """True if these functions have an effect: libkfdshim.so is preloaded, and KFDSHIM_DISABLE=1 does
    not switch it off."""
    return _begin is not None and os.environ.get("KFDSHIM_DISABLE") != "1"
