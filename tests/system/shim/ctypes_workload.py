# SPDX-License-Identifier: MIT
"""Some of workload.c's orders, from plain Python: ctypes loads the runtime
RTLD_LOCAL and resolves by handle, so no wrapped symbol ever sees a call. With
an argument, a runtime's file, it uses a copy of that under another name."""
import ctypes
import sys
import tempfile


def private_copy(file):
    name = b"libhsa-runtime64.so.1"
    with open(file, "rb") as original, tempfile.NamedTemporaryFile(suffix=".so") as copy:
        text = original.read()
        assert text.count(name + b"\0") == 1
        copy.write(text.replace(name + b"\0", b"libprivate-rocr.so.9" + b"\0\0"))
        copy.flush()
        library = ctypes.CDLL(copy.name)
    with open("/proc/self/maps") as maps:
        assert "libhsa-runtime64" not in maps.read()
    return library


hsa = private_copy(sys.argv[1]) if len(sys.argv) > 1 else ctypes.CDLL("libhsa-runtime64.so.1")
u64, i64, u32 = ctypes.c_uint64, ctypes.c_int64, ctypes.c_uint32
hsa.hsa_signal_store_screlease.argtypes = hsa.hsa_signal_store_relaxed.argtypes = [u64, i64]
for function in hsa.hsa_signal_wait_scacquire, hsa.hsa_signal_wait_relaxed:
    function.argtypes = [u64, u32, i64, u64, u32]
    function.restype = i64
hsa.hsa_queue_add_write_index_screlease.argtypes = [ctypes.c_void_p, u64]
hsa.hsa_queue_add_write_index_screlease.restype = u64
BARRIER_AND = 3
gpu = u64(0)
queue = ctypes.c_void_p()
gate, last = u64(), u64()


@ctypes.CFUNCTYPE(ctypes.c_int, u64, ctypes.c_void_p)
def find_gpu(agent, _):
    kind = ctypes.c_int()
    hsa.hsa_agent_get_info(u64(agent), 17, ctypes.byref(kind))
    if kind.value == 1:
        gpu.value = agent
    return 0


def must(status, what):
    if status:
        print("failed", what, hex(status & 0xFFFFFFFF), flush=True)
        sys.exit(1)


def field(offset, kind):
    return kind.from_address(queue.value + offset).value


def submit(wait_for, completion):
    index = hsa.hsa_queue_add_write_index_screlease(queue, 1)
    at = field(8, u64) + 64 * (index % field(24, u32))
    ctypes.memset(at + 2, 0, 62)
    u64.from_address(at + 8).value = wait_for
    u64.from_address(at + 56).value = completion
    ctypes.c_uint16.from_address(at).value = BARRIER_AND | 1 << 8
    return index


def obey(word, relaxed):
    store = hsa.hsa_signal_store_relaxed if relaxed else hsa.hsa_signal_store_screlease
    wait = hsa.hsa_signal_wait_relaxed if relaxed else hsa.hsa_signal_wait_scacquire
    if word == "queue":
        must(hsa.hsa_queue_create(gpu, 1024, 0, None, None, u32(0xFFFFFFFF), u32(0xFFFFFFFF),
                                  ctypes.byref(queue)), "hsa_queue_create")
        return hex(queue.value)
    if word == "block":
        hsa.hsa_signal_store_relaxed(gate, 1)
        hsa.hsa_signal_store_relaxed(last, 1)
        submit(gate.value, 0)
        store(field(16, u64), submit(0, last.value))
        return "ok"
    if word == "finish":
        hsa.hsa_signal_store_relaxed(gate, 0)
        wait(last, 2, 1, 2**64 - 1, 0)
        return "ok"
    if word == "destroy":
        must(hsa.hsa_queue_destroy(queue), "hsa_queue_destroy")
        return "ok"
    if word == "again":
        for signal in gate, last:
            hsa.hsa_signal_destroy(signal)
        must(hsa.hsa_shut_down(), "hsa_shut_down")
        begin()
        return "ok"
    return "what?"


def begin():
    must(hsa.hsa_init(), "hsa_init")
    hsa.hsa_iterate_agents(find_gpu, None)
    for signal in gate, last:
        must(hsa.hsa_signal_create(i64(1), 0, None, ctypes.byref(signal)), "signal")


begin()
for line in sys.stdin:
    order = line.split()
    if order == ["quit"]:
        break
    print(obey(order[0], order[1:] == ["1"]), flush=True)
