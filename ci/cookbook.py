#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cookbook.py [--check] [PAGE...]: makes each page of docs/operator/cookbook of the one with the same
name in cookbook.in beside it. PAGE: only this one, such as watch.md.

Each block ```kfdsched WORLD... of the source is one command line or more; they are run in a
world of kfdsim's own, and the block becomes what a terminal would show, output included.
WORLD: what is there when the first one runs, in this order:

  gpu=NAME     the simulated GPU (mi210 without it)
  root=NAME    with the runtimes of that Debian suite (packaging/roots.sh)
  daemon       kfdschedd
  online, offline, seen, plain
               a workload with the shim and that priority, with the shim alone, or without;
               {online} ... {plain} in a command are their process ids
  container    a workload in a container's namespaces and cgroup; {container} likewise

--check: makes the pages again and compares: the same text and commands, and the same beginning of
what each command prints, except for numbers. Exit status 0: they are the same, 1: not.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
PAGES = ROOT / "docs/operator/cookbook"
SOURCES = ROOT / "docs/operator/cookbook.in"
LIMIT_S = 300
BEGINNING = 16  # of a line of output: what comes behind it may be of that moment

PROLOGUE = r"""
set -u
cd "$WORK"
export PATH="$BUILD:$PATH" KFDSHIM_SOCKET= LINES=24 COLUMNS=100 TERM=dumb
has_queues() { [ -n "$(ls "/sys/class/kfd/kfd/proc/$1/queues" 2>/dev/null)" ]; }
until_true() { for _ in $(seq 200); do "$@" && return; sleep 0.1; done; echo "cookbook: $* never came" >&2; exit 9; }
knows() { "$BUILD/kfdsched" status --json 2>/dev/null | jq -e ".processes[] | select(.pid == $1) | .level == \"trap\" or .role == \"online\"" >/dev/null; }
replay() { exec "$BUILD/kfdreplay" --trace "$SOURCE/traces/$1" "${@:2}" >/dev/null 2>&1; }
"""

PARTS = {
    "daemon": r"""
# A slow host is no reason to spare a process here.
printf '[scheduler]\nslow_suspend_us = 10000000\n' >"$WORK/patient.ini"
"$BUILD/kfdschedd" --foreground --config "$WORK/patient.ini" >/dev/null 2>&1 &
until_true test -S /run/kfdsched/socket
""",
    "online": r"""
(export LD_PRELOAD="$BUILD/libkfdshim.so" KFDSHIM_PRIORITY=online; replay online_resnet50_b1.csv --rate 20 --seconds 250) &
online=$!
until_true has_queues $online
""",
    "offline": r"""
(export LD_PRELOAD="$BUILD/libkfdshim.so" KFDSHIM_PRIORITY=offline; replay offline_gpt2m_train_8x1024.csv --closed --seconds 250) &
offline=$!
until_true has_queues $offline
""",
    "seen": r"""
(export LD_PRELOAD="$BUILD/libkfdshim.so"; replay offline_gpt2m_train_8x1024.csv --closed --seconds 250) &
seen=$!
until_true has_queues $seen
""",
    "plain": r"""
(replay online_llama1b_decode_b1.csv --rate 10 --seconds 250) &
plain=$!
until_true has_queues $plain
""",
    "container": r"""
id=3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef
mkdir -p "$WORK/containers/$id"; echo train >"$WORK/containers/$id/hostname"
unshare --pid --fork --kill-child --mount --mount-proc bash -c '
	mount --bind "$1" /etc/hostname; shift; "$@" & wait' init "$WORK/containers/$id/hostname" \
	"$BUILD/kfdreplay" --trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 10 --seconds 250 >/dev/null 2>&1 &
in_container() { for container in /sys/class/kfd/kfd/proc/*; do container=${container##*/}
	[ "$(awk '/^NSpid:/ {print NF}' "/proc/$container/status" 2>/dev/null)" = 3 ] && has_queues "$container" && return; done; false; }
until_true in_container
echo "0::/system.slice/docker-$id.scope" >"$WORK/cgroup"
mount --bind "$WORK/cgroup" "/proc/$container/cgroup"
""",
}


def run_block(world, commands):
    """The list of (command as shown, exit code, output)."""
    gpu, root = "mi210", []
    script = PROLOGUE
    for word in world:
        if word.startswith("gpu="):
            gpu = word[4:]
        elif word.startswith("root="):
            made = subprocess.run([ROOT / "packaging/roots.sh", word[5:]], stdout=subprocess.PIPE, check=True)
            root = ["--root", made.stdout.decode().strip()]
        else:
            script += PARTS[word]
    for process in ("online", "offline"):
        if process in world and "daemon" in world:
            script += f"until_true knows ${process}\n"
    script += "sleep 1\n"
    for command in commands:
        line = re.sub(r"\{(\w+)\}", r"$\1", command)
        # Shown with the numbers in place; run by the shell, output and errors in one stream.
        script += f'printf "\\001%s\\002" "{re.sub(chr(34), chr(92) + chr(34), line)}"\n'
        script += f"{{ {line}; }} 2>&1 </dev/null\nprintf '\\003%d\\004' $?\n"
    script += "kill $(jobs -p) 2>/dev/null\nexit 0\n"
    # In there, since a world with another root sees of this machine's files that folder alone.
    with tempfile.TemporaryDirectory(prefix="cookbook-", dir=BUILD) as work:
        done = subprocess.run(
            [BUILD / "kfdsim", "--gpu", gpu, *root, "--", "bash", "-c", script],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False, cwd=ROOT,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                 "BUILD": str(BUILD), "SOURCE": str(ROOT), "WORK": work})
    text = done.stdout.decode(errors="replace").replace(str(BUILD) + "/", "").replace(str(ROOT) + "/", "")
    # Whose build of the kernel this is says nothing to a reader.
    release = os.uname().release
    text = text.replace(release, release.split("-")[0])
    found = re.findall(r"\x01(.*?)\x02(.*?)\x03(\d+)\x04", text, re.S)
    if len(found) != len(commands):
        sys.exit(f"cookbook: {world}: {commands}: only {len(found)} were run (exit {done.returncode})\n{text}")
    return [(shown, int(code), output.replace(work, "/tmp/cookbook")) for shown, output, code in found]


def make(source):
    made = []
    lines = iter(source.splitlines())
    for line in lines:
        if not line.startswith("```kfdsched"):
            made.append(line)
            continue
        world, commands = line.split()[1:], []
        for command in lines:
            if command == "```":
                break
            commands.append(command)
        print(f"cookbook: {commands[0]}", file=sys.stderr)
        made.append("```console")
        for shown, code, output in run_block(world, commands):
            if code not in (0, 1):
                sys.exit(f"cookbook: '{shown}' ended with {code}:\n{output}")
            made.append(f"$ {shown}")
            made += [text.rstrip() for text in output.rstrip("\n").splitlines()]
        made.append("```")
    return "\n".join(made) + "\n"


def skeleton(text):
    """The text outside blocks, commands, and the first line of what each printed, without numbers."""
    kept, after, block = [], False, False
    for line in text.splitlines():
        block ^= line.startswith("```")
        if not block:
            kept.append(line)
        elif line.startswith("$ ") or after:
            plain = re.sub(r"0x[0-9a-f]+|[0-9.]+|\s+", "", line)
            kept.append(plain if line.startswith("$ ") else plain[:BEGINNING])
        after = line.startswith("$ ")
    return kept


def main():
    check = "--check" in sys.argv[1:]
    names = {source.name for source in SOURCES.glob("*.md")}
    wanted = {argument for argument in sys.argv[1:] if argument != "--check"}
    if wanted - names:
        sys.exit(f"cookbook: {SOURCES} has no {sorted(wanted - names)[0]}; usage: cookbook.py [--check] [PAGE...]")
    if check and names != {page.name for page in PAGES.glob("*.md")}:
        sys.exit(f"cookbook: {PAGES} has other pages than {SOURCES}: make it anew")
    for name in sorted(wanted or names):
        made = make((SOURCES / name).read_text())
        if not check:
            (PAGES / name).write_text(made)
        elif skeleton(made) != skeleton((PAGES / name).read_text()):
            sys.exit(f"cookbook: {name} does not show what its commands print: make it anew\n{made}")


if __name__ == "__main__":
    main()
