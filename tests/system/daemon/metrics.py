#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The metrics as a strict reader and a hostile one see them.

  metrics.py until SECONDS PORT FILE CONDITION...
       scrapes until all conditions hold. A condition is NAME[,KEY=VALUE]...>=NUMBER, or ==,
       of the one sample of that name with those labels, or `without LABELS`. Each text must
       keep to the grammar, and no counter may be behind the text in FILE, which it replaces.
  metrics.py statuses PORT                what is answered to requests that are not for it
  metrics.py attack PORT                  100 connections that are slow, silent or nonsense;
                                          says `attacking` and holds them until stdin ends
"""
import re
import socket
import sys
import time

SAMPLE = re.compile(r'^([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? '
                    r'((?:-?[0-9]+(?:\.[0-9]+)?)|\+Inf)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
LABELS = {"version", "node", "pid", "comm", "level", "le", "state", "gpu", "bdf", "render",
          "product", "partition"}
UNITS = {"gauge": ("_seconds", "_bytes", ""), "counter": ("_seconds_total", "_bytes_total", "_total"),
         "histogram": ("_seconds", "_bytes")}
# Without a unit: what is counted or is one of few states.
BARE = {"kfdsched_build_info", "kfdsched_gpu_info", "kfdsched_clients", "kfdsched_clients_unlisted",
        "kfdsched_node_urgent", "kfdsched_node_suspended_clients", "kfdsched_client_level",
        "kfdsched_client_priority", "kfdsched_client_suspended", "kfdsched_client_active"}


def wrong(what):
    sys.exit(f"metrics: {what}")


def labels_of(text):
    labels, at = {}, 0
    while text and at < len(text):
        m = LABEL.match(text, at)
        if not m or m.group(1) in labels or (m.group(3) == "," and m.end() == len(text)):
            wrong(f"labels: {text}")
        labels[m.group(1)] = m.group(2)
        at = m.end()
    if not set(labels) <= LABELS:
        wrong(f"unknown label: {text}")
    return labels


class Text:
    """types: of families; samples: (name, labels) -> value, in order."""

    def __init__(self, text):
        if not text.endswith("\n"):
            wrong("the last line does not end")
        self.types, self.samples, self.helped, family = {}, {}, set(), None
        for line in text[:-1].split("\n"):
            if line.startswith("# HELP "):
                family, help_text = line[7:].split(" ", 1)
                if family in self.helped or not help_text:
                    wrong(f"HELP twice, or empty: {line}")
                self.helped.add(family)
            elif line.startswith("# TYPE "):
                name, kind = line[7:].split(" ")
                if name != family or name in self.types or kind not in UNITS:
                    wrong(f"TYPE does not follow its HELP: {line}")
                self.types[name] = kind
            else:
                self.sample(line, family)

    def sample(self, line, family):
        m = SAMPLE.match(line)
        if not m:
            wrong(f"not a line of the format: {line!r}")
        name, labels = m.group(1), labels_of(m.group(2))
        kind = self.types.get(family)
        names = [family + s for s in ("_bucket", "_sum", "_count")] if kind == "histogram" else [family]
        if name not in names:
            wrong(f"a sample outside its family {family}: {line}")
        if ("le" in labels) != name.endswith("_bucket"):
            wrong(f"le belongs to buckets: {line}")
        key = (name, tuple(sorted(labels.items())))
        if key in self.samples:
            wrong(f"twice: {line}")
        self.samples[key] = float(m.group(3))

    def check(self):
        for name, kind in self.types.items():
            if not name.startswith("kfdsched_"):
                wrong(f"not our prefix: {name}")
            if not name.endswith(UNITS[kind]) or (
                    kind == "gauge" and name not in BARE and not name.endswith(("_seconds", "_bytes"))):
                wrong(f"no unit in the name of {kind} {name}")
            if (kind == "counter") != name.endswith("_total"):
                wrong(f"_total is what counters have: {name}")
        if self.helped != set(self.types):
            wrong(f"HELP without TYPE: {self.helped ^ set(self.types)}")
        if not all(name in self.types for name in BARE):
            wrong(f"missing: {[n for n in BARE if n not in self.types]}")
        self.check_histograms()

    def check_histograms(self):
        rows = {}
        for (name, labels), value in self.samples.items():
            if name.endswith("_bucket"):
                rest = tuple(l for l in labels if l[0] != "le")
                rows.setdefault((name[:-7], rest), []).append((dict(labels)["le"], value))
        for (name, rest), row in rows.items():
            bounds = [float(le) for le, _ in row]
            counts = [count for _, count in row]
            if bounds != sorted(set(bounds)) or row[-1][0] != "+Inf" or counts != sorted(counts):
                wrong(f"buckets of {name} {rest}: {row}")
            if self.samples.get((name + "_count", rest)) != counts[-1]:
                wrong(f"count of {name} {rest} is not its last bucket's")
            if (name + "_sum", rest) not in self.samples:
                wrong(f"no sum of {name} {rest}")

    def never_went_back(self, earlier):
        for (name, labels), value in earlier.samples.items():
            family = name if name in earlier.types else re.sub("_(bucket|sum|count)$", "", name)
            # a client's begin with its connection
            if earlier.types[family] == "gauge" or name.startswith("kfdsched_client_"):
                continue
            if (name, labels) not in self.samples:
                wrong(f"gone: {name} {labels}")
            if self.samples[(name, labels)] < value:
                wrong(f"went back: {name} {labels} from {value} to {self.samples[(name, labels)]}")

    def value(self, name, wanted):
        found = [v for (n, labels), v in self.samples.items()
                 if n == name and wanted.items() <= dict(labels).items()]
        if len(found) != 1:
            wrong(f"{len(found)} samples of {name} {wanted}")
        return found[0]


def holds(text, conditions):
    """What does not hold; None: all do."""
    for condition in conditions:
        if condition.startswith("without "):
            if any(condition[8:] in f'{k}="{v}"' for _, labels in text.samples for k, v in labels):
                return condition
            continue
        what, sign, number = re.fullmatch(r"(.*?)(>=|==)(.*)", condition).groups()
        name, *labels = what.split(",")
        value = text.value(name, dict(l.split("=", 1) for l in labels))
        if value < float(number) or (sign == "==" and value != float(number)):
            return f"{condition}, but {value:.9g}"
    return None


def ask(port, method, path):
    """Status, headers, body."""
    with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as s:
        s.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while more := s.recv(1 << 20):
            data += more
    head, body = data.decode("ascii").split("\r\n\r\n", 1)
    return int(head.split()[1]), head.split("\r\n")[1:], body


def scrape(port, path):
    status, headers, body = ask(port, "GET", "/metrics")
    if status != 200 or "Content-Type: text/plain; version=0.0.4; charset=utf-8" not in headers \
            or f"Content-Length: {len(body)}" not in headers:
        wrong(f"{status} {headers}")
    text = Text(body)
    text.check()
    with open(path, "a+", encoding="ascii", newline="") as f:
        f.seek(0)
        earlier = f.read()
        if earlier:
            text.never_went_back(Text(earlier))
        f.truncate(0)
        f.write(body)
    return text


def until(seconds, port, path, *conditions):
    end = time.monotonic() + float(seconds)
    while problem := holds(scrape(port, path), conditions):
        if time.monotonic() > end:
            wrong(f"does not hold: {problem}")
        time.sleep(0.2)


def statuses(port):
    for method, path, code in (("GET", "/", 404), ("GET", "/metrics/x", 404), ("HEAD", "/metrics", 200),
                               ("POST", "/metrics", 405), ("DELETE", "/metrics", 405)):
        status, _, body = ask(port, method, path)
        if status != code or (method == "HEAD" and body):
            wrong(f"{method} {path}: {status}, not {code}")


def attack(port):
    words = (b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: x\r\nA: " + b"a" * (1 << 20),
             b"\0\xff" * 500, b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999\r\n\r\nx",
             b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
    held = []
    for i in range(100):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", int(port)))
        held.append(s)
        s.settimeout(0.05)
        try:
            s.sendall(words[i % len(words)])
        except OSError:
            pass
    print("attacking", flush=True)
    sys.stdin.read()


VERBS = {"until": until, "statuses": statuses, "attack": attack}
if len(sys.argv) < 3 or sys.argv[1] not in VERBS:
    sys.exit(__doc__)
VERBS[sys.argv[1]](*sys.argv[2:])
