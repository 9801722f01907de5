#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hardened.py BUILD: reads each program and library in the build folder and each installed one.

Every one must be position independent, with a stack that is not executable, with relocations
that are read-only and resolved at the start, and with the C library's checked functions instead
of the plain ones. On x86-64 also: marked for shadow stacks, and with landing pads where it is
entered; every object file is marked for both. Exit status 0: so it is, 1: not.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# These must be there, and must have stack protectors and checked functions.
INSTALLED = ("kfdschedd", "kfdsched", "kfdreplay", "libkfdshim.so", "libkfdshim-agent.so", "libkfdsched.so.1.0.0")
BUILT = INSTALLED + ("kfdsim", "kfdconform")
# libkfdsched formats and copies nothing: it has no call that the C library could check.
UNCHECKED = ("libkfdsched.so.1.0.0",)
# A test's program that has the C library in it, which is not ours to harden.
STATIC = {"time_static"}
# Libraries of tests of which only the constructor is run: no other file enters a function of them.
CONSTRUCTOR_ONLY = {"libbench_early_thread.so", "libfirst_thread.so", "libpinning.so"}
# Another project's, as the distribution has built it.
FOREIGN = {"liburcu-bp.so.8"}
# With _FORTIFY_SOURCE=3 a call of one of these remains only if its format has no conversion.
FORMATTED = {"snprintf", "vsnprintf", "sprintf", "printf", "vprintf", "fprintf", "vfprintf", "dprintf",
             "vdprintf", "asprintf", "vasprintf"}
LANDING_PAD = b"\xf3\x0f\x1e\xfa"  # endbr64


def readelf(options, paths):
    """The text about each file, by path."""
    # With one file alone readelf does not name it, so a second one is always there.
    done = subprocess.run(["readelf", "--wide", *options, "/dev/null", *paths], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False, env={**os.environ, "LC_ALL": "C"})
    parts = re.split(r"^File: (.*)$", done.stdout.decode(errors="replace"), flags=re.M)
    shown = {pathlib.Path(path): text for path, text in zip(parts[1::2], parts[2::2])}
    missing = set(paths) - set(shown)
    if missing:
        sys.exit(f"hardened: readelf shows nothing of {missing}")
    return shown


def is_host_binary(path):
    """ELF, and for Linux: a GPU's code objects name another ABI."""
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as file:
        head = file.read(8)
    return head[:4] == b"\x7fELF" and head[7] in (0, 3)


class Binary:
    """What readelf shows of one file."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.is_x86_64 = re.search(r"Machine: +.*X86-64", self.text) is not None
        self.is_program = " INTERP " in self.text
        # Names that other files define, and the addresses of the functions that others enter.
        self.imports, self.functions = set(), {}
        for value, kind, bind, section, name in re.findall(
                r"^ +\d+: ([0-9a-f]+) +\S+ (\S+) +(\S+) +\S+ +(\S+) (\S+)", self.text, re.M):
            name = name.split("@")[0]
            if section == "UND":
                self.imports.add(name)
            elif kind == "FUNC" and (name == "main" if self.is_program else bind == "GLOBAL"):
                self.functions[name] = int(value, 16)

    def flags(self, segment):
        found = re.search(rf"^ +{segment} +(?:0x[0-9a-f]+ +){{5}}([RWE ]{{3}})", self.text, re.M)
        return found and found[1].replace(" ", "")

    def bytes_at(self, address, count):
        for offset, start, size in re.findall(
                r"^ +LOAD +(0x[0-9a-f]+) (0x[0-9a-f]+) 0x[0-9a-f]+ (0x[0-9a-f]+)", self.text, re.M):
            if int(start, 16) <= address < int(start, 16) + int(size, 16):
                with self.path.open("rb") as file:
                    file.seek(int(offset, 16) + address - int(start, 16))
                    return file.read(count)
        return b""

    def problems(self):
        flags = " ".join(re.findall(r"\((?:FLAGS|FLAGS_1)\) +(.*)", self.text))
        if not re.search(r"Type: +DYN", self.text):
            yield "is not position independent"
        elif self.is_program and "PIE" not in flags:
            yield "is a program and not marked PIE"
        if self.flags("GNU_STACK") != "RW":
            yield f"has a stack with the rights {self.flags('GNU_STACK')}"
        if self.flags("GNU_RELRO") != "R":
            yield "has no RELRO segment"
        if "NOW" not in flags:
            yield "resolves symbols later than at the start"
        if self.imports & FORMATTED and not any(f"__{name}_chk" in self.imports for name in FORMATTED):
            yield f"calls {' '.join(sorted(self.imports & FORMATTED))} unchecked"
        if self.path.name in BUILT:
            yield from self.product_problems()
        if self.is_x86_64:
            yield from self.x86_problems()

    def product_problems(self):
        if "__stack_chk_fail" not in self.imports:
            yield "has no stack protector"
        if self.path.name not in UNCHECKED and not any(
                re.fullmatch(r"__\w+_chk", name) for name in self.imports):
            yield "calls none of the C library's checked functions"

    def x86_problems(self):
        if not re.search(r"x86 feature: .*SHSTK", self.text):
            yield "is not marked for shadow stacks"
        if not self.functions and self.path.name not in CONSTRUCTOR_ONLY:
            yield "has no function that could be read"
        bare = [name for name, at in self.functions.items() if self.bytes_at(at, 4) != LANDING_PAD]
        if bare:
            yield f"has no landing pad at {' '.join(bare)}"


def object_problems(build):
    """Of each object file of ours: a linker drops the mark that one of them lacks."""
    objects = list(build.rglob("*.o"))
    if not objects:
        yield f"{build}: no object files"
    for path, text in readelf(("-h", "-n"), objects).items():
        if "X86-64" in text and "x86 feature: IBT, SHSTK" not in text:
            yield f"{path}: is not marked IBT, SHSTK"


def main():
    build = pathlib.Path(sys.argv[1])
    problems = list(object_problems(build))
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["cmake", "--install", str(build)], stdout=subprocess.DEVNULL, check=True,
                       env={**os.environ, "DESTDIR": root})
        count = 0
        for names, files in ((BUILT, build.iterdir()), (INSTALLED, pathlib.Path(root).rglob("*"))):
            shown = readelf(("-h", "-l", "-d", "-n", "-s"), sorted(filter(is_host_binary, files)))
            binaries = [Binary(path, text) for path, text in shown.items()
                        if text.strip() and path.name not in STATIC | FOREIGN]
            missing = set(names) - {binary.path.name for binary in binaries}
            problems += [f"{name}: is not there" for name in sorted(missing)]
            for binary in binaries:
                problems += [f"{binary.path}: {problem}" for problem in binary.problems()]
            count += len(binaries)
    if problems:
        sys.exit("\n".join(["FAILED:", *problems]))
    print(f"ok: {count} binaries")


if __name__ == "__main__":
    main()
