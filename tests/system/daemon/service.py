#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What systemd is to a service, for a test.

  service.py listen SOCKET                    says each message that comes, a line a word
  service.py pass KIND... -- COMMAND ...      runs COMMAND with LISTEN_FDS; KIND:
                                              seqpacket=PATH, stream=PATH, tcp=ADDRESS:PORT
"""
import os
import socket
import sys


def listen(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    print("listening", flush=True)
    while True:
        print(s.recv(4096).decode(), flush=True)


def made(kind):
    what, where = kind.split("=", 1)
    if what == "tcp":
        address, port = where.rsplit(":", 1)
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, int(port)))
    else:
        s = socket.socket(socket.AF_UNIX,
                          socket.SOCK_SEQPACKET if what == "seqpacket" else socket.SOCK_STREAM)
        s.bind(where)
    s.listen(100)
    return s


def pass_on(args):
    split = args.index("--")
    sockets = [made(kind) for kind in args[:split]]
    # out of the way of where they have to be
    fds = [os.dup2(s.fileno(), 100 + i, inheritable=False) for i, s in enumerate(sockets)]
    for i, fd in enumerate(fds):
        os.dup2(fd, 3 + i, inheritable=True)
    os.environ["LISTEN_FDS"] = str(len(fds))
    os.environ["LISTEN_PID"] = str(os.getpid())
    os.execv(args[split + 1], args[split + 1:])


if sys.argv[1:2] == ["listen"]:
    listen(sys.argv[2])
elif sys.argv[1:2] == ["pass"]:
    pass_on(sys.argv[2:])
else:
    sys.exit(__doc__)
