#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_layers.py: does every #include go the way that the source tree allows?

The table below is that of docs/internals/source-tree.md. Exit status 1, with a line for each fault: an
include that the table does not allow, one inside shim/ against its order, one that leads to no file of the
project, a C file in no directory of the table, or a directory with more C files than a reader can survey.
"""
import collections
import os
import re
import subprocess
import sys

COMMAND = "cli/util cli/output cli/inspect common kfd channel include cli/commands.def"
SIM_BASE = "sim/host/config.h sim/host/profile_keys.def sim/host/sim_priv.h sim/host/time_slots.h".split()
FAMILIES = "show top doctor record trace preempt colocate import_log docgen".split()
# Directory: what it may include besides itself. The longest directory that matches counts. A name
# with an ending is one file.
MAY_INCLUDE = {
    "common": "",
    "include": "",
    "kfd": "common",
    "channel": "common kfd",
    "preload": "common channel include",
    "shim": "common kfd channel",
    # Pure headers that others need as well: sets of nodes, the hold-over from gaps, names of policies.
    "scheduler/core": "common/nodes.h common/gaps.h common/policy.h common/policies.def",
    "scheduler/daemon": "common kfd channel scheduler/core",
    "scheduler/client": "common channel include",
    "cli/inspect": "common kfd channel include",
    "cli/output": "common",
    "cli/util": COMMAND,
    **{"cli/" + family: COMMAND for family in FAMILIES},
    "cli/commands.def": "",
    "cli": COMMAND,  # main.c
    "sim/gpu": "",
    # The headers on which all of the simulated driver is built.
    **dict.fromkeys(SIM_BASE, "common kfd sim/gpu sim/host/config.h sim/host/profile_keys.def"),
    "sim/driver": " ".join(["common kfd sim/gpu", *SIM_BASE]),
    "sim/cp": " ".join(["common kfd sim/gpu sim/driver", *SIM_BASE]),
    "sim/host": " ".join(["common kfd sim/gpu sim/driver sim/host/time/page.h", *SIM_BASE]),
    "sim/sandbox": "common kfd sim/host",
    # The libraries that a simulation preloads into programs: the C library alone. One header of
    # sim/host/time is their contract with sim/host.
    "sim/host/time": "",
    "sim/sandbox/stat": "",
    "tools/kernels": "",
    "tools/kfdreplay": "common tools/kernels",
    "tools/kfdconform": "common kfd tools/kernels",
    "examples": "include",
    "tests": "*",
    "cmake": "", "ci": "",
}
# Modules of a directory: each may include those before it, so they cannot form a circle.
ORDER = {
    "shim": """
        config descriptor safe_read thread readers topology kfd_context queue_table
        completion activity ends
        publish self_session submit_gate queue_override hold
        links/peer_files links/peer_policy links/peers vram_limit links/daemon_link runtime
        sampler ioctl_hooks
    """.split(),
    # Those of the worker. The other modules of the daemon stand before all of them.
    "scheduler/daemon": """
        clients/client worker metrics/metrics operator/events
        clients/client_life clients/client_level clients/client_actions
        clients/client_attrs clients/client_scan
        operator/lease clients/external
        operator/control operator/status operator/query clients/registration
        loop watchdog main
    """.split(),
}
GENERATED = {"version_data.h"}
MOST_C_FILES = 45

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], stdout=subprocess.PIPE, check=True, text=True)
FILES = {file for file in listed.stdout.split("\n") if os.path.isfile(file)}


def within(file, names):
    return max((name for name in names if file == name or file.startswith(name + "/")), key=len, default=None)


def target_of(file, name):
    """The file that the compiler would take: from the including file's directory, the root, or include/."""
    for folder in (os.path.dirname(file), "", "include"):
        path = os.path.normpath(os.path.join(folder, name))
        if path in FILES:
            return path
    return None


def position(folder, file):
    module = os.path.splitext(file)[0][len(folder) + 1:]
    return ORDER[folder].index(module) if module in ORDER[folder] else -1


def includes(file):
    with open(file, encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match:
                yield number, match.group(1)


def faults():
    for file in sorted(FILES):
        if not file.endswith((".c", ".h", ".def")):
            continue
        source = within(file, MAY_INCLUDE)
        if source is None:
            yield f"{file}: in no directory of the table"
            continue
        if source == "shim" and position(source, file) < 0:
            yield f"{file}: not in ORDER"
        for number, name in includes(file):
            target = target_of(file, name)
            if target is None:
                if name not in GENERATED:
                    yield f'{file}:{number}: "{name}" is no file of the project'
                continue
            if source in ORDER and within(target, ORDER) == source and position(source, target) > position(source, file):
                yield f"{file}:{number}: {target} is not before it in ORDER"
            allowed = MAY_INCLUDE[source]
            if allowed == "*" or within(target, MAY_INCLUDE) == source or within(target, allowed.split()):
                continue
            yield f"{file}:{number}: {source} must not include {target}"
    counts = collections.Counter(os.path.dirname(file) for file in FILES if file.endswith((".c", ".h")))
    for folder, count in sorted(counts.items()):
        if count > MOST_C_FILES:
            yield f"{folder}: {count} C files, more than {MOST_C_FILES}"


found = list(faults())
for fault in found:
    print(f"check_layers: {fault}", file=sys.stderr)
sys.exit(bool(found))
