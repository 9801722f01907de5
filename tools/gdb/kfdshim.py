# SPDX-License-Identifier: MIT
"""Pretty-printers for gdb: shared memory of a client, a gang of the core, a queue of kfdsim.

    gdb -x tools/gdb/kfdshim.py -p PID
    (gdb) print *client->shm
    (gdb) print core->gangs[3]
    (gdb) print *queue

Each value is one line with what matters; `print/r` shows all members. A `*` marks an active node.
A member that the program does not have, because it is of another version, is shown as "?".
"""
import gdb

RUNTIMES = ("unknown", "enabled", "never")
LEVELS = ("none", "self", "gate", "weight")
QUEUE_TYPES = ("pm4", "sdma", "aql", "xgmi")  # KFD_IOC_QUEUE_TYPE_*
NEVER = 2**64 - 1


def get(value, name):
    """The member, or None if the structure has none of that name."""
    try:
        return value[name]
    except gdb.error:
        return None


def number(value, name):
    member = get(value, name)
    return "?" if member is None else int(member)


def word(words, value, name):
    n = number(value, name)
    return words[n] if n != "?" and n < len(words) else str(n)


def text(value, name):
    member = get(value, name)
    return "?" if member is None else member.string(errors="replace", length=-1)


def flags(value, *names):
    """The names of the members that are true."""
    return " ".join(name for name in names if number(value, name) not in (0, "?"))


class ClientShm:
    """struct client_shm: the shared memory of a client."""

    def __init__(self, value):
        self.value = value

    def hold_cmd(self, name):
        n = number(self.value, name)
        if n in (0, "?"):
            return "none"
        level = n >> 8 & 0xFF
        what = ("release", "hold", "prepare")[n & 3] if n & 3 < 3 else "?"
        return f"{n >> 16}:{what}/{LEVELS[level] if level < len(LEVELS) else level}"

    def nodes(self):
        used = []
        for member in ("nodes", "more_nodes"):
            array = get(self.value, member)
            if array is None:
                continue
            low, high = array.type.range()
            for i in range(low, high + 1):
                gpu_id = number(array[i], "gpu_id")
                if gpu_id:
                    active = number(array[i], "activity") not in ("?", 0) and number(array[i], "activity") & 1
                    used.append(f"{gpu_id}{'*' if active else ''}")
        return ",".join(used) or "none"

    def to_string(self):
        v = self.value
        return (f"client_shm version {number(v, 'version')} priority {number(v, 'priority')}"
                f" group '{text(v, 'group')}' runtime {word(RUNTIMES, v, 'runtime')}"
                f" hold_cmd {self.hold_cmd('hold_cmd')} done {self.hold_cmd('hold_cmd_done')}"
                f" errno {number(v, 'hold_cmd_errno')} suspended {number(v, 'suspended')}"
                f" teardown {number(v, 'teardown_begin')}/{number(v, 'teardown_granted')}/{number(v, 'teardown_end')}"
                f" nodes {self.nodes()} queues < {number(v, 'queue_end')}"
                f" events {number(v, 'events_number')}")


class Gang:
    """struct gang of scheduler/core."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        v = self.value
        rights = get(v, "rights")
        tenant = "?" if rights is None else number(rights, "tenant")
        deadline = number(v, "deadline")
        return (f"gang priority {number(v, 'priority')} tenant {tenant} group {number(v, 'group')}"
                f" first client {number(v, 'first')}"
                f" [{flags(v, 'held', 'contended', 'observed', 'starved', 'waits', 'urgent')}]"
                f" held_since {number(v, 'held_since')} ran {number(v, 'ran_ns')} ns"
                f" costs {number(v, 'suspend_ns')}/{number(v, 'resume_ns')} ns"
                f" deadline {'never' if deadline == NEVER else deadline}")


class SimQueue:
    """struct queue of sim/driver."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        v = self.value
        record = get(v, "record")
        packets = ""
        if record is not None and int(record):
            r = record.dereference()
            packets = (f" packets {number(r, 'packets')} of {number(r, 'submitted')}"
                       f" suspends {number(r, 'suspends')}")
        return (f"queue {number(v, 'id')} {word(QUEUE_TYPES, v, 'type')} node {number(v, 'node')}"
                f" ring {number(v, 'ring'):#x}+{number(v, 'ring_bytes')} percent {number(v, 'percent')}"
                f" priority {number(v, 'priority')}"
                f" [{flags(v, 'suspended', 'stalled', 'being_destroyed', 'removed', 'reset', 'stopped', 'map_wanted')}]"
                f"{packets}")


PRINTERS = {"client_shm": ClientShm, "gang": Gang, "queue": SimQueue}
# Several structures are called `queue`; only this one has these members.
MEMBERS = {SimQueue: ("record", "being_destroyed"), Gang: ("held_since", "rights"), ClientShm: ("queue_end",)}


def lookup(value):
    """Called by gdb for each value; None: gdb prints it by itself."""
    kind = value.type.strip_typedefs().unqualified()
    if kind.code != gdb.TYPE_CODE_STRUCT or kind.tag not in PRINTERS:
        return None
    printer = PRINTERS[kind.tag]
    names = {field.name for field in kind.fields()}
    return printer(value) if names.issuperset(MEMBERS[printer]) else None


lookup.__name__ = "kfdshim"
gdb.pretty_printers.append(lookup)
gdb.execute("set max-value-size 1048576")  # struct client_shm is larger than gdb's default of 64 KiB
