#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py [--only NAME[,NAME]...] [--build DIR] [--json]

Would the tests notice? Each line of mutants.txt breaks one line of a copy of the
tree; the test that it names must then fail. The copy and its build folder stand
in DIR/mutants (default: build/mutants) and are used again by the next run. The
working tree is only read.

stdout: a table, or with --json one object (docs/reference/test-results.md). Exit status 0: each
break was noticed; 1: one was missed, does not apply any more, does not build, or
its test fails without it too; 2: wrong use.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = os.path.join(ROOT, "tests/mutation/mutants.txt")
SEPARATOR = ";;"
FIELDS = ("name", "file", "text", "replacement", "test")


def wrong_use(why):
    sys.stderr.write(f"mutants: {why}; usage: mutants.py [--only NAME[,NAME]...] [--build DIR] [--json]\n")
    sys.exit(2)


def read_list(only):
    mutants = []
    with open(LIST, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = [field.strip(" \n") for field in line.split(SEPARATOR)]
            if len(fields) != len(FIELDS):
                sys.exit(f"mutants: {LIST}:{number}: {len(fields)} fields instead of {len(FIELDS)}")
            mutant = dict(zip(FIELDS, fields))
            for key in ("text", "replacement"):
                mutant[key] = mutant[key].replace("\\n", "\n").replace("\\t", "\t")
            mutants.append(mutant)
    names = [mutant["name"] for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"mutants: {LIST}: {name} is there twice")
    for name in only:
        if name not in names:
            wrong_use(f"there is no break {name}")
    return [mutant for mutant in mutants if not only or mutant["name"] in only]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def same(a, b):
    return os.path.exists(b) and os.path.getsize(a) == os.path.getsize(b) and open(a, "rb").read() == open(b, "rb").read()


def copy_tree(to):
    """What is equal already keeps its time, so that the build has little to do."""
    wanted = set()
    for folder, folders, files in os.walk(ROOT):
        at = os.path.relpath(folder, ROOT)
        folders[:] = [f for f in folders if f not in (".git", "__pycache__") and
                      not (at == "." and f.startswith("build"))]
        os.makedirs(os.path.join(to, at), exist_ok=True)
        for file in files:
            source, target = os.path.join(folder, file), os.path.join(to, at, file)
            wanted.add(os.path.normpath(target))
            if os.path.isfile(source) and not same(source, target):
                shutil.copyfile(source, target)
                shutil.copymode(source, target)
    for folder, _, files in os.walk(to):
        for file in files:
            if os.path.normpath(os.path.join(folder, file)) not in wanted:
                os.unlink(os.path.join(folder, file))


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def must(command):
    result = run(command)
    if result.returncode != 0:
        sys.exit(f"mutants: {' '.join(command)} fails:\n{result.stdout.decode(errors='replace')[-2000:]}")
    return result.stdout.decode()


class World:
    """A tree, its configured build folder, and what ctest knows of it."""

    def __init__(self, tree, build):
        self.tree, self.build = tree, build
        # ctest itself shows the command of a test only once its program is built.
        self.tests = {}
        # The folders of the build that a variable of a test's environment names.
        self.folders = {}
        for folder, _, files in os.walk(self.build):
            if "CTestTestfile.cmake" in files:
                self.read_tests(os.path.join(folder, "CTestTestfile.cmake"))
        outputs = must(["ninja", "-C", self.build, "-t", "targets", "all"])
        # Programs and libraries: not what installs, or runs all tests.
        self.outputs = {line.split(":")[0] for line in outputs.splitlines() if "_LINKER_" in line}

    def read_tests(self, path):
        """Each line about a test has its name, and words in quotes."""
        for line in read(path).splitlines():
            name = re.match(r'\w+\(\[=\[(\S+)\]=\] ', line)
            if not name:
                continue
            quotes = re.findall(r'"([^"]*)"', line)
            words = [w for quoted in quotes for w in re.split("[;=:]", quoted)]
            self.tests.setdefault(name.group(1), []).extend(words)
            folders = self.folders.setdefault(name.group(1), {})
            for variable, value in re.findall(r'(?:^|;)(\w+)=([^;]+)', "\n".join(quotes), re.M):
                if os.path.normpath(value) == self.build or value.startswith(self.build + "/"):
                    folders[variable] = value

    def named_in(self, script, folders):
        """The programs that a script, or one that it reads, names by a variable in @folders."""
        text = read(script)
        found = set()
        for variable, name in re.findall(r"\$\{?(\w+)\}?/([\w./-]+)", text):
            if variable in folders:
                name = os.path.relpath(os.path.join(folders[variable], name), self.build)
                found |= {o for o in self.outputs if name in (o, os.path.dirname(o))}
        for part in re.findall(r'^\s*\. "\$SOURCE/([^"]+)"', text, re.M):
            found |= self.named_in(os.path.join(self.tree, part), folders)
        return found

    def targets(self, test):
        """The programs that its command, environment and script name, and those of
        ours that it may start or preload without naming them."""
        found = {"libkfdshim.so", "libkfdshim-agent.so", "kfdsim", "kfdsched", "kfdschedd", "kfdreplay",
                 "kfdconform", "kfdsched_manual"}  # the last one makes the schemas
        for word in self.tests[test]:
            if word.startswith(self.tree + "/") and word.endswith(".sh"):
                found |= self.named_in(word, self.folders[test])
                if "cmake --install" in read(word):
                    found.add("all")
            if not word.startswith(self.build + "/"):
                continue
            name = os.path.relpath(word, self.build)
            # A folder: whatever stands in it.
            found |= {o for o in self.outputs if o == name or (os.path.dirname(o) == name and o.endswith(".so"))}
        return sorted(found)

    def builds(self, test):
        return run(["ninja", "-C", self.build, *self.targets(test)]).returncode == 0

    def passes(self, test):
        # One that hangs fails by its own TIMEOUT.
        return run(["ctest", "--test-dir", self.build, "--no-tests=error", "-R",
                    f"^{re.escape(test)}$"]).returncode == 0


def copied_world(folder):
    tree, build = os.path.join(folder, "tree"), os.path.join(folder, "build")
    copy_tree(tree)
    must(["cmake", "-G", "Ninja", "-DBUILD_TESTING=ON", "-S", tree, "-B", build])
    return World(tree, build)


def judge(world, mutant, green):
    path = os.path.join(world.tree, mutant["file"])
    test = mutant["test"]
    if test not in world.tests:
        return "no such test"
    text = read(path) if os.path.exists(path) else ""
    if not mutant["text"] or text.count(mutant["text"]) != 1:
        return "does not apply"
    if test not in green:
        green[test] = world.builds(test) and world.passes(test)
    if not green[test]:
        return "fails without it"
    write(path, text.replace(mutant["text"], mutant["replacement"]))
    try:
        if not world.builds(test):
            return "does not build"
        return "MISSED" if world.passes(test) else "noticed"
    finally:
        write(path, text)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.error = wrong_use
    parser.add_argument("--only", default="")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    mutants = read_list([name for name in options.only.split(",") if name])
    talks = sys.stderr.isatty()
    if talks:
        sys.stderr.write("\rmutants: a copy of the tree is made and built")
    world = copied_world(os.path.abspath(os.path.join(options.build, "mutants")))
    green = {}
    for number, mutant in enumerate(mutants, 1):
        if talks:
            sys.stderr.write(f"\r\033[Kmutants: {number}/{len(mutants)} {mutant['name']}")
            sys.stderr.flush()
        start = time.monotonic()
        mutant["result"] = judge(world, mutant, green)
        mutant["seconds"] = round(time.monotonic() - start, 1)
        if not talks:  # a log: what an interrupted run has found must not be lost
            sys.stderr.write(f"mutants: {number}/{len(mutants)} {mutant['name']}: {mutant['result']}\n")
    if talks:
        sys.stderr.write("\r\033[K")
    passed = all(mutant["result"] == "noticed" for mutant in mutants)
    if options.json:
        keys = ("name", "file", "test", "result", "seconds")
        print(json.dumps({"passed": passed, "mutants": [{k: m[k] for k in keys} for m in mutants]}, indent=2))
    else:
        print(f"{'break':<38}  {'test':<24}  {'result':<16}  seconds")
        for m in mutants:
            print(f"{m['name']:<38}  {m['test']:<24}  {m['result']:<16}  {m['seconds']:7.1f}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
