#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""perfetto.py FILE: is this trace event JSON that a viewer takes whole?

Exit status 0, and what there is as one JSON object; 1, and each thing that is wrong as a line."""
import collections
import json
import sys

WANTED = {
    "M": {"name", "args"},
    "X": {"name", "ts", "dur"},
    "i": {"name", "ts", "s"},
    "s": {"name", "ts", "id", "cat"},
    "f": {"name", "ts", "id", "cat", "bp"},
    "B": {"name", "ts"},
    "E": {"ts"},
}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file)
    wrong, bars, depth, flows = [], collections.defaultdict(list), collections.Counter(), {}
    processes, threads, kinds = {}, {}, collections.Counter()
    for number, event in enumerate(trace["traceEvents"]):
        phase = event.get("ph")
        missing = (WANTED.get(phase, {"a phase that we know"}) | {"pid", "tid"}) - set(event)
        if missing:
            wrong.append(f"event {number}: no {', '.join(sorted(missing))}")
            continue
        track = event["pid"], event["tid"]
        kinds[phase] += 1
        if phase == "M":
            names = processes if event["name"] == "process_name" else threads
            key = event["pid"] if event["name"] == "process_name" else track
            if key in names:
                wrong.append(f"event {number}: named twice: {key}")
            names[key] = event["args"]["name"]
            continue
        if track not in threads:
            wrong.append(f"event {number}: on a track that has no name: {track}")
        if not isinstance(event["ts"], (int, float)) or event["ts"] <= 0:
            wrong.append(f"event {number}: ts {event['ts']}")
        if phase == "X":
            if event["dur"] < 0:
                wrong.append(f"event {number}: lasts {event['dur']}")
            # Nanoseconds: floating point would make neighbours overlap.
            begin = round(event["ts"] * 1000)
            bars[track].append((begin, -round(event["dur"] * 1000), number))
        elif phase in "BE":
            depth[track] += 1 if phase == "B" else -1
            if depth[track] < 0:
                wrong.append(f"event {number}: ends what has not begun")
        elif phase in "sf":
            flows.setdefault(event["id"], []).append((event["ts"], phase))
    wrong += [f"track {track}: {n} begun and not ended" for track, n in depth.items() if n > 0]
    for ends in flows.values():
        if [phase for _, phase in sorted(ends, key=lambda e: (e[0], e[1] == "f"))] != ["s", "f"]:
            wrong.append(f"a flow that is not from a cause to a later effect: {ends}")
    # Bars of one track lie in each other or beside each other.
    for track, list_ in bars.items():
        stack = []
        for begin, length, number in sorted(list_):
            while stack and stack[-1] <= begin:
                stack.pop()
            if stack and begin - length > stack[-1]:
                wrong.append(f"event {number}: overlaps another on track {threads.get(track)}")
            stack.append(begin - length)
    if not isinstance(trace.get("otherData", {}).get("notes"), list):
        wrong.append("no notes")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    print(json.dumps({"kinds": kinds, "processes": list(processes.values()), "tracks": list(threads.values()),
                      "flows": len(flows), "bars": {str(threads.get(t)): len(b) for t, b in bars.items()}}))
    sys.exit(1 if wrong else 0)


main()
