#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An inference server of the standard library that reports its requests.

    PYTHONPATH=python LD_PRELOAD=build/libkfdshim.so python3 examples/python/serve.py --port 8080
    curl --data 'how are you' http://127.0.0.1:8080/

A request is made of layers: for each the CPU prepares the input, then the GPU runs a kernel. From
the queues alone the process would look idle before each kernel, and offline work would be let onto
the GPU and taken off again up to LAYERS times a request. With kfdshim.request() it is once.
"""
import argparse
import http.server
import json
import signal
import sys
import threading
import time

import hip
import kfdshim

LAYERS = 8
PREPARE_S, KERNEL_S = 0.01, 0.001


class Model:
    def __init__(self, gpu):
        self.gpu = gpu
        self.gpu.run(KERNEL_S)

    @kfdshim.online  # the same as `with kfdshim.request():` around its body
    def infer(self, question):
        begin = time.monotonic()
        for _ in range(LAYERS):
            time.sleep(PREPARE_S)
            self.gpu.run(KERNEL_S)
        return {"answer": question[::-1], "milliseconds": 1000 * (time.monotonic() - begin)}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        question = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = json.dumps(self.server.model.infer(question.decode())).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description="An inference server that reports its requests.")
    parser.add_argument("--port", type=int, default=8080, help="of 127.0.0.1; 0: any (default 8080)")
    options = parser.parse_args()
    kfdshim.set_priority(15)
    kfdshim.set_slo(0.05)
    if not kfdshim.active():
        print("serve.py: libkfdshim.so is not preloaded: requests are not reported", file=sys.stderr)
    with http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler) as server:
        server.model = Model(hip.Gpu())
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
        print(f"serve.py: http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
    except OSError as error:
        sys.exit(f"serve.py: {error}")
