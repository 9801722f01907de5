#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A "model" in plain Python: GPU work through the HSA runtime, nothing else.

    LD_PRELOAD=libkfdshim.so KFDSHIM_PRIORITY=offline python3 examples/model.py

It represents any program without support for libkfdshim.so. It loads the
runtime the way Python loads everything, by dlopen with RTLD_LOCAL, and finds
each function in that one library by its handle. So the shim's wrapper of the
doorbell (hsa_signal_store_screlease) is not called here, and the shim has to
notice this program's work by other means: from the queues' own pointers.

One user queue is made. The runtime makes a second one for its own use with
it, so the driver sees two AQL queues.

Each step is one dispatch of the spin kernel of kfdreplay: a workgroup on every
compute unit, for one millisecond of GPU time. Needs no package besides Python
and the HSA runtime.
"""

import argparse
import ctypes
import os
import sys
import time
from ctypes import POINTER, byref, c_char_p, c_int64, c_size_t, c_uint16, c_uint32, c_uint64, c_void_p

# Names and numbers of hsa.h and hsa_ext_amd.h.
AGENT_INFO_DEVICE, AGENT_INFO_ISA, DEVICE_GPU = 17, 19, 1
AMD_AGENT_INFO_COMPUTE_UNITS = 0xA002
ISA_INFO_NAME_LENGTH, ISA_INFO_NAME = 0, 1
QUEUE_TYPE_SINGLE = 1
SYMBOL_INFO_KERNEL_OBJECT = 22
AMD_POOL_INFO_SEGMENT, AMD_POOL_INFO_GLOBAL_FLAGS = 0, 1
AMD_SEGMENT_GLOBAL, AMD_POOL_FLAG_KERNARG = 0, 1
PROFILE_FULL = 1
CONDITION_LESS, WAIT_BLOCKED = 2, 0
INFO_BREAK = 1  # returned by a callback that has seen enough
PACKET_KERNEL_DISPATCH, SCOPE_SYSTEM = 2, 2

THREADS = 256
LDS_BYTES = 65536  # a workgroup that takes all of it has its compute unit alone
STEP_TICKS = 100_000  # of the GPU's 100 MHz counter: 1 ms
RING_PACKETS = 1024

# hsa_agent_t, hsa_signal_t and their like are structures of one 64-bit word.
# The calling convention passes those as it passes the word itself.
Handle = c_uint64


class Queue(ctypes.Structure):
    """hsa_queue_t"""

    _fields_ = [
        ("type", c_uint32),
        ("features", c_uint32),
        ("base_address", c_void_p),
        ("doorbell", Handle),
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("id", c_uint64),
    ]


class DispatchPacket(ctypes.Structure):
    """hsa_kernel_dispatch_packet_t: the 64 bytes that request one kernel."""

    _fields_ = [
        ("header", c_uint16),
        ("setup", c_uint16),
        ("workgroup", c_uint16 * 3),
        ("reserved0", c_uint16),
        ("grid", c_uint32 * 3),
        ("private_bytes", c_uint32),
        ("group_bytes", c_uint32),
        ("kernel_object", c_uint64),
        ("kernargs", c_void_p),
        ("reserved2", c_uint64),
        ("completion_signal", Handle),
    ]


class Kernargs(ctypes.Structure):
    """What kfdreplay_spin takes."""

    _fields_ = [("ticks", c_uint64), ("cells", c_void_p)]


class Hsa:
    """The runtime's functions; a status other than success is an exception."""

    # Functions that return a value of their own instead of a status.
    VALUES = {
        "hsa_queue_add_write_index_screlease": c_uint64,
        "hsa_signal_store_relaxed": None,
        "hsa_signal_store_screlease": None,
        "hsa_signal_wait_scacquire": c_int64,
    }

    def __init__(self):
        self.library = ctypes.CDLL("libhsa-runtime64.so.1", mode=ctypes.RTLD_LOCAL)

    def __getattr__(self, name):
        function = self.library[name]
        if name in self.VALUES:
            function.restype = self.VALUES[name]
            call = function
        else:
            function.restype = c_uint32

            def call(*arguments):
                status = function(*arguments)
                if status not in (0, INFO_BREAK):
                    raise OSError(f"{name} failed: HSA status 0x{status:x}")

        setattr(self, name, call)
        return call


AgentCallback = ctypes.CFUNCTYPE(c_uint32, Handle, c_void_p)


def find(iterate, wanted):
    """The first handle of an hsa_*_iterate_* function that `wanted` accepts."""
    found = []

    @AgentCallback
    def look(handle, _):
        if not wanted(handle):
            return 0
        found.append(Handle(handle))
        return INFO_BREAK

    iterate(look)
    return found[0] if found else None


class Model:
    """One GPU, one queue, one kernel."""

    def __init__(self, code_object):
        self.hsa = hsa = Hsa()
        hsa.hsa_init()
        self.gpu = find(lambda look: hsa.hsa_iterate_agents(look, None), self.is_gpu)
        cpu = find(lambda look: hsa.hsa_iterate_agents(look, None), lambda a: not self.is_gpu(a))
        if self.gpu is None or cpu is None:
            raise OSError("the HSA runtime shows no GPU")
        self.compute_units = c_uint32()
        hsa.hsa_agent_get_info(self.gpu, AMD_AGENT_INFO_COMPUTE_UNITS, byref(self.compute_units))
        self.kernel_object = self.load(code_object or self.default_code_object())
        self.kernargs = self.make_kernargs(cpu)
        self.done = Handle()
        hsa.hsa_signal_create(c_int64(0), c_uint32(0), None, byref(self.done))
        self.queue = POINTER(Queue)()
        hsa.hsa_queue_create(
            self.gpu, c_uint32(RING_PACKETS), c_uint32(QUEUE_TYPE_SINGLE), None, None,
            c_uint32(0), c_uint32(LDS_BYTES), byref(self.queue))

    def is_gpu(self, agent):
        kind = c_uint32()
        self.hsa.hsa_agent_get_info(Handle(agent), AGENT_INFO_DEVICE, byref(kind))
        return kind.value == DEVICE_GPU

    def default_code_object(self):
        """The build leaves one for each architecture beside its binaries."""
        isa, length = Handle(), c_uint32()
        self.hsa.hsa_agent_get_info(self.gpu, AGENT_INFO_ISA, byref(isa))
        self.hsa.hsa_isa_get_info_alt(isa, ISA_INFO_NAME_LENGTH, byref(length))
        name = ctypes.create_string_buffer(length.value + 1)
        self.hsa.hsa_isa_get_info_alt(isa, ISA_INFO_NAME, name)
        # amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
        processor = name.value.decode().split("--")[-1].split(":")[0]
        build = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build")
        return os.path.join(build, f"kfdreplay_spin.{processor}.co")

    def load(self, path):
        hsa = self.hsa
        with open(path, "rb") as file:
            self.code = file.read()  # the runtime reads it from here: it must stay
        reader, executable, symbol = Handle(), Handle(), Handle()
        kernel_object = c_uint64()
        hsa.hsa_code_object_reader_create_from_memory(
            c_char_p(self.code), c_size_t(len(self.code)), byref(reader))
        hsa.hsa_executable_create_alt(c_uint32(PROFILE_FULL), c_uint32(0), None, byref(executable))
        hsa.hsa_executable_load_agent_code_object(executable, self.gpu, reader, None, None)
        hsa.hsa_executable_freeze(executable, None)
        hsa.hsa_executable_get_symbol_by_name(
            executable, c_char_p(b"kfdreplay_spin.kd"), byref(self.gpu), byref(symbol))
        hsa.hsa_executable_symbol_get_info(symbol, SYMBOL_INFO_KERNEL_OBJECT, byref(kernel_object))
        return kernel_object.value

    def make_kernargs(self, cpu):
        """The kernel's arguments have to be in memory that the GPU can read."""
        hsa = self.hsa

        def is_kernarg_pool(pool):
            segment, flags = c_uint32(), c_uint32()
            hsa.hsa_amd_memory_pool_get_info(Handle(pool), AMD_POOL_INFO_SEGMENT, byref(segment))
            if segment.value != AMD_SEGMENT_GLOBAL:
                return False
            hsa.hsa_amd_memory_pool_get_info(Handle(pool), AMD_POOL_INFO_GLOBAL_FLAGS, byref(flags))
            return bool(flags.value & AMD_POOL_FLAG_KERNARG)

        pool = find(
            lambda look: hsa.hsa_amd_agent_iterate_memory_pools(cpu, look, None), is_kernarg_pool)
        if pool is None:
            raise OSError("the HSA runtime shows no memory for kernel arguments")
        memory = c_void_p()
        hsa.hsa_amd_memory_pool_allocate(pool, c_size_t(4096), c_uint32(0), byref(memory))
        hsa.hsa_amd_agents_allow_access(c_uint32(1), byref(self.gpu), None, memory)
        arguments = Kernargs.from_address(memory.value)
        arguments.ticks = STEP_TICKS
        arguments.cells = None
        return memory

    def step(self):
        """Writes a packet into the ring, rings the doorbell, waits for the end."""
        hsa, queue = self.hsa, self.queue.contents
        hsa.hsa_signal_store_relaxed(self.done, c_int64(1))
        index = hsa.hsa_queue_add_write_index_screlease(self.queue, c_uint64(1))
        slot = queue.base_address + (index % queue.size) * ctypes.sizeof(DispatchPacket)
        packet = DispatchPacket(
            workgroup=(THREADS, 1, 1),
            grid=(self.compute_units.value * THREADS, 1, 1),
            group_bytes=LDS_BYTES,
            kernel_object=self.kernel_object,
            kernargs=self.kernargs,
            completion_signal=self.done,
        )
        header = PACKET_KERNEL_DISPATCH | 1 << 8 | SCOPE_SYSTEM << 9 | SCOPE_SYSTEM << 11
        # The packet is the GPU's once its header is there, so that comes last,
        # with the setup word (one dimension) in one store of 32 bits.
        ctypes.memmove(slot + 4, ctypes.addressof(packet) + 4, ctypes.sizeof(packet) - 4)
        c_uint32.from_address(slot).value = header | 1 << 16
        hsa.hsa_signal_store_screlease(Handle(queue.doorbell), c_int64(index))
        left = hsa.hsa_signal_wait_scacquire(
            self.done, c_uint32(CONDITION_LESS), c_int64(1), c_uint64(2**64 - 1), c_uint32(WAIT_BLOCKED))
        if left != 0:
            raise OSError("the GPU reports a failed kernel")

    def close(self):
        self.hsa.hsa_queue_destroy(self.queue)
        self.hsa.hsa_signal_destroy(self.done)
        self.hsa.hsa_shut_down()


def main():
    parser = argparse.ArgumentParser(description="Keeps a GPU busy through the HSA runtime.")
    parser.add_argument("--seconds", type=float, default=6.0, help="how long (default 6)")
    parser.add_argument("--code-object", metavar="FILE",
                        help="default: ../build/kfdreplay_spin.GPU.co beside this script")
    options = parser.parse_args()
    try:
        model = Model(options.code_object)
        start = time.monotonic()
        steps = 0
        while time.monotonic() - start < options.seconds:
            model.step()
            steps += 1
        print(f"model.py: {steps} steps in {time.monotonic() - start:.1f} s")
        model.close()
    except OSError as error:
        print(f"model.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
