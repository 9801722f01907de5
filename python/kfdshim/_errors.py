# SPDX-License-Identifier: MIT
"""The exceptions of the package, and the errors of libkfdsched that they represent."""
import errno


class Error(OSError):
    """The base class. `errno` is the C library's error; str() is one sentence that says what
    happened, to what, and what to do, most often the daemon's own."""

    def __str__(self) -> str:
        return str(self.strerror)


class InvalidArgument(Error, ValueError):
    """An argument is out of range (EINVAL)."""


class NoLibrary(Error):
    """libkfdsched.so.1 cannot be loaded (ENOENT)."""


class NoDaemon(Error, ConnectionError):
    """No daemon listens at the socket (ENOENT, ECONNREFUSED, ENOTSOCK)."""


class DaemonGone(Error, ConnectionError):
    """The daemon has ended, or closed the connection (ECONNRESET)."""


class NoAnswer(Error, TimeoutError):
    """The daemon did not reply in time (EAGAIN); whether the request took effect is unknown."""


class WrongVersion(Error):
    """The socket is that of another program, or of a daemon of another version (EPROTO)."""


class NotPermitted(Error, PermissionError):
    """The daemon takes this from root and from the members of its admin_group (EPERM, EACCES)."""


class NoSuchProcess(Error, ProcessLookupError):
    """The process has ended, or is not registered with the daemon (ESRCH)."""


class NoSuchNode(Error):
    """No GPU has this gpu_id (ENODEV)."""


class NotSuspendable(Error):
    """The process cannot be suspended, for the reason in the sentence (EOPNOTSUPP)."""


_BY_ERRNO = {
    errno.EINVAL: InvalidArgument,
    errno.ENOENT: NoDaemon,
    errno.ECONNREFUSED: NoDaemon,
    errno.ENOTSOCK: NoDaemon,
    errno.ECONNRESET: DaemonGone,
    errno.EAGAIN: NoAnswer,
    errno.EPROTO: WrongVersion,
    errno.EPERM: NotPermitted,
    errno.EACCES: NotPermitted,
    errno.ESRCH: NoSuchProcess,
    errno.ENODEV: NoSuchNode,
    errno.EOPNOTSUPP: NotSuspendable,
}


def error_of(number: int, sentence: str) -> Error:
    """The exception for an error of libkfdsched, a positive number."""
    return _BY_ERRNO.get(number, Error)(number, sentence)


def invalid(sentence: str) -> InvalidArgument:
    return InvalidArgument(errno.EINVAL, sentence)
