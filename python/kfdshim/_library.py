# SPDX-License-Identifier: MIT
"""Finds libkfdsched and declares its functions (kfdsched.h). Loaded at the first use.

By ctypes.CDLL, which releases the global interpreter lock: the calls wait for the daemon.
"""
import ctypes
import errno
import functools
import os
import pathlib
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ssize_t, c_uint, c_void_p
from typing import Any, Callable, List, Optional, Union

from ._errors import Error, NoLibrary, error_of

SONAME = "libkfdsched.so.1"
EVENT_BYTES = 4096
Path = Union[str, "os.PathLike[str]", None]

# pid_t is an int.
_FUNCTIONS = {
    "open": (c_void_p, c_char_p),
    "close": (None, c_void_p),
    "errmsg": (c_char_p, c_void_p),
    "status": (c_int, c_void_p, c_int, POINTER(c_void_p)),
    "summary": (c_int, c_void_p, POINTER(c_void_p)),
    "suspend": (c_int, c_void_p, c_int, c_uint),
    "resume": (c_int, c_void_p, c_int),
    "set_priority": (c_int, c_void_p, c_int, c_int),
    "set_policy": (c_int, c_void_p, c_uint, c_char_p, c_uint),
    "recent_events": (c_int, c_void_p, POINTER(c_void_p)),
    "events": (c_int, c_void_p),
    "next_event": (c_ssize_t, c_void_p, c_int, c_char_p, c_size_t, c_int),
}


def candidates() -> List[str]:
    """Where it is searched, in this order: only KFDSCHED_LIBRARY, if that is set; beside the
    package; build/ of the source tree; lib/ of the prefix where both are installed; where the
    dynamic linker finds it."""
    named = os.environ.get("KFDSCHED_LIBRARY")
    if named:
        return [named]
    package = pathlib.Path(__file__).resolve().parent
    folders = [package, package.parents[1] / "build", package.parents[2]]
    found = [folder / SONAME for folder in folders]
    return [str(path) for path in found if path.exists()] + [SONAME]


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, with its functions declared. Raises NoLibrary."""
    failed = []
    for name in candidates():
        try:
            loaded = ctypes.CDLL(name)
            for function, (restype, *argtypes) in _FUNCTIONS.items():
                declared = getattr(loaded, "kfdsched_" + function)
                declared.restype, declared.argtypes = restype, argtypes
            return loaded
        except (OSError, AttributeError) as error:
            failed.append(str(error))
    raise NoLibrary(errno.ENOENT, f"{SONAME} cannot be loaded ({'; '.join(failed)}): install it, or "
                    "name it with KFDSCHED_LIBRARY")


class Handle:
    """A struct kfdsched: for one thread at a time. It connects when it is used."""

    def __init__(self, socket: Path) -> None:
        self._library: Any = library()
        self._pointer: Optional[int] = self._library.kfdsched_open(
            None if socket is None else os.fsencode(socket))
        if not self._pointer:
            raise MemoryError

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        pointer, self._pointer = self._pointer, None
        if pointer:
            self._library.kfdsched_close(pointer)

    def call(self, name: str, *arguments: Any) -> int:
        """kfdsched_NAME() of these arguments. Returns its result; raises the Error for it if that is
        negative."""
        result = self._function(name)(self._pointer, *arguments)
        if result < 0:
            raise self._error(-result)
        return int(result)

    def text(self, name: str, *arguments: Any) -> str:
        """The same of a function whose last parameter is a char ** of the caller's to free."""
        out = c_void_p()
        self.call(name, *arguments, ctypes.byref(out))
        try:
            return ctypes.string_at(out.value or 0).decode("utf-8", "surrogateescape")
        finally:
            _free(out)

    def next_event(self, fd: int, timeout_ms: int) -> Optional[str]:
        """None: none came in time, or a signal handler ran."""
        text = ctypes.create_string_buffer(EVENT_BYTES)
        length = self._function("next_event")(self._pointer, fd, text, EVENT_BYTES, timeout_ms)
        if length == -errno.EAGAIN:
            return None
        if length < 0:
            raise self._error(-length)
        return text.raw[:length].decode("utf-8", "surrogateescape")

    def _function(self, name: str) -> Callable[..., int]:
        function: Callable[..., int] = getattr(self._library, "kfdsched_" + name)
        return function

    def _error(self, number: int) -> Error:
        errmsg = self._library.kfdsched_errmsg(self._pointer)
        return error_of(number, errmsg.decode("utf-8", "replace"))


_free = ctypes.CDLL(None).free
_free.restype, _free.argtypes = None, [c_void_p]
