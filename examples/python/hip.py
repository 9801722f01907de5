# SPDX-License-Identifier: MIT
"""GPU work through HIP by ctypes alone, in place of a framework: what serve.py and train.py run.

The kernel is kfdreplay's: a workgroup on each compute unit, for a time that the caller names. The
build leaves its code objects, one for each GPU architecture, in build/.
"""
import ctypes
import pathlib
import threading

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
COMPUTE_UNITS = 63  # hipDeviceAttributeMultiprocessorCount
BLOCKING_WAIT = 4  # hipDeviceScheduleBlockingSync: a wait sleeps, and leaves the core to others
THREADS = 256
LDS_BYTES = 65536  # a workgroup that takes all of it has its compute unit alone
TICKS_PER_SECOND = 100_000_000


def load():
    for version in (7, 6, 5):
        try:
            return ctypes.CDLL(f"libamdhip64.so.{version}")
        except OSError:
            pass
    raise OSError("no HIP here (libamdhip64.so.5 to .7): on Debian install libamdhip64-5")


class Gpu:
    """The first GPU, one kernel. Any thread may call run(): each has a stream of its own."""

    def __init__(self, build=BUILD):
        self.hip = load()
        self.hip.hipGetErrorName.restype = ctypes.c_char_p
        self.hip.hipModuleLaunchKernel.argtypes = (
            [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3)
        self.call("hipInit", 0)
        self.call("hipSetDeviceFlags", BLOCKING_WAIT)
        units = ctypes.c_int()
        self.call("hipDeviceGetAttribute", ctypes.byref(units), COMPUTE_UNITS, 0)
        self.compute_units = units.value
        self.kernel = self.find_kernel(pathlib.Path(build))
        self.thread = threading.local()

    def call(self, name, *arguments):
        status = getattr(self.hip, name)(*arguments)
        if status:
            raise OSError(f"{name} failed: {self.hip.hipGetErrorName(status).decode()}")

    def find_kernel(self, build):
        """HIP refuses the code objects of other architectures."""
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        for path in sorted(build.glob("kfdreplay_spin.*.co")):
            if self.hip.hipModuleLoad(ctypes.byref(module), str(path).encode()) == 0:
                self.call("hipModuleGetFunction", ctypes.byref(kernel), module, b"kfdreplay_spin")
                return kernel
        raise OSError(f"no kernel for this GPU in {build}: build the project there ('make')")

    def stream(self):
        if not hasattr(self.thread, "stream"):
            stream = ctypes.c_void_p()
            self.call("hipStreamCreate", ctypes.byref(stream))
            self.thread.stream = stream
        return self.thread.stream

    def run(self, seconds):
        """Keeps all compute units busy for that long, and waits for the end."""
        ticks, cells = ctypes.c_uint64(round(seconds * TICKS_PER_SECOND)), ctypes.c_void_p()
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(ticks), ctypes.addressof(cells))
        stream = self.stream()
        self.call("hipModuleLaunchKernel", self.kernel, self.compute_units, 1, 1, THREADS, 1, 1,
                  LDS_BYTES, stream, arguments, None)
        self.call("hipStreamSynchronize", stream)
