#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants_targets.py SOURCE BUILD: proves which programs `make mutants` builds for a test.

A fresh build folder has no program that mutants.py does not ask for, so a test of which it misses
one fails there with each break and without it. Exit status 0: all are found, 1: not.
"""
import os
import sys
import tempfile

source, build = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(source, "tests/mutation"))
import mutants  # noqa: E402

# A test, and a program that it needs and that is named ...
NEEDED = (
    ("unit/shim/peers", "unit_shim_peers"),  # by its command
    ("system/cli/suspend_alone", "libwitness.so"),  # by a variable
    ("system/cli/run", "tests/lib/libcli_fake_shim.so"),  # in the script, after the variable of a folder
    ("system/cli/colocate_clients", "tests/lib/cli_fake_daemon"),  # the same in a file that the script reads
    ("system/cli/status", "tests/lib/cli_fake_daemon"),
    ("system/cli/conventions", "all"),  # by an installation
)

world = mutants.World(source, build)
missed = [f"{test}: {program}" for test, program in NEEDED
          if not any(os.path.join("/", target).endswith("/" + program) for target in world.targets(test))]

with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
    script.write('"${FAKES}/cli_fake_daemon" "$OTHER/kfdreplay"\n')
    script.flush()
    found = world.named_in(script.name, {"FAKES": os.path.join(build, "tests/lib")})
    if found != {"tests/lib/cli_fake_daemon"}:
        missed.append(f"a script that names one program in braces, and one by an unknown variable: {found}")

for line in missed:
    print(f"mutants.py does not find what it must build for {line}")
sys.exit(1 if missed else 0)
