# SPDX-License-Identifier: MIT
"""kfdshim.Scheduler on a libkfdsched without a daemon (stub_sched.c), which KFDSCHED_LIBRARY names."""
import ctypes
import errno
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import kfdshim

PACKAGE = pathlib.Path(kfdshim.__file__).parent
STUB = os.environ["KFDSCHED_LIBRARY"]
stub = ctypes.CDLL(STUB)
NAMES = {
    errno.EINVAL: kfdshim.InvalidArgument, errno.ENOENT: kfdshim.NoDaemon,
    errno.ECONNREFUSED: kfdshim.NoDaemon, errno.ECONNRESET: kfdshim.DaemonGone,
    errno.EAGAIN: kfdshim.NoAnswer, errno.EPROTO: kfdshim.WrongVersion,
    errno.EPERM: kfdshim.NotPermitted, errno.ESRCH: kfdshim.NoSuchProcess,
    errno.ENODEV: kfdshim.NoSuchNode, errno.EOPNOTSUPP: kfdshim.NotSuspendable,
    errno.ENOSPC: kfdshim.Error,
}
PROCESS = {"pid": 12, "comm": "python3", "shim": True, "priority": None, "role": "seen", "level": "trap",
           "state": "suspended", "active": True, "suspends": 3, "suspended_us": 1500000,
           "queue_counts": [{"gpu_id": 7, "queues": 3, "compute": 2},
                            {"gpu_id": 9, "queues": 1, "compute": 0}]}


def text(name, size, value=None):
    array = (ctypes.c_char * size).in_dll(stub, "stub_" + name)
    if value is not None:
        array.value = value.encode()
    return array.value.decode()


def number(name, value=None):
    variable = ctypes.c_int.in_dll(stub, "stub_" + name)
    if value is not None:
        variable.value = value
    return variable.value


class Case(unittest.TestCase):
    def setUp(self):
        for name in ("result", "resume_result"):
            number(name, 0)
        ctypes.c_bool.in_dll(stub, "stub_interrupts").value = False
        text("calls", 4096, "")
        text("errmsg", 128, "a sentence")
        self.scheduler = kfdshim.Scheduler("/a/socket")

    def tearDown(self):
        self.assertEqual(number("open_handles"), 0)

    def called(self, *calls):
        self.assertEqual(text("calls", 4096).splitlines(), ["/a/socket: " + call for call in calls])


class Asking(Case):
    def test_processes(self):
        text("json", 2048, json.dumps({"processes": [PROCESS]}))
        (process,) = self.scheduler.processes()
        self.called("summary")
        self.assertEqual(process, kfdshim.Process(
            pid=12, name="python3", role="seen", priority=None, level="trap", state="suspended", active=True,
            shim=True, gpu_ids=(7, 9), suspends=3, suspended_seconds=1.5))

    def test_an_older_daemon_answers_in_full(self):
        full = {key: value for key, value in PROCESS.items() if key != "queue_counts"}
        text("json", 2048, json.dumps({"processes": [{**full, "nodes": [{"gpu_id": 5, "active": True}]}]}))
        self.assertEqual(self.scheduler.processes()[0].gpu_ids, (5,))

    def test_status(self):
        text("json", 2048, '{"processes": []}')
        self.assertEqual(self.scheduler.status(), {"processes": []})
        self.scheduler.status(12)
        self.called("status 0", "status 12")

    def test_default_socket(self):
        text("json", 2048, '{"processes": []}')
        kfdshim.Scheduler().processes()
        self.assertEqual(text("calls", 4096), "default: summary\n")

    def test_recent_events(self):
        text("json", 2048, json.dumps([{"kind": "lease", "time_us": 2500000, "pid": 4, "leased": True}]))
        self.assertEqual(self.scheduler.recent_events(), [kfdshim.Event(
            "lease", 2.5, 4, {"kind": "lease", "time_us": 2500000, "pid": 4, "leased": True})])

    def test_errors(self):
        text("errmsg", 128, "what happened: what to do")
        for code, kind in NAMES.items():
            number("result", -code)
            with self.assertRaises(kfdshim.Error) as seen:
                self.scheduler.processes()
            self.assertIs(type(seen.exception), kind)
            self.assertEqual((seen.exception.errno, str(seen.exception)), (code, "what happened: what to do"))
            self.assertEqual(str(pickle.loads(pickle.dumps(seen.exception))), "what happened: what to do")


class Orders(Case):
    def test_suspend(self):
        with self.scheduler.suspend(12, 2.1) as suspension:
            self.called("suspend 12 3")
            self.assertEqual(suspension.pid, 12)
        self.called("suspend 12 3", "resume 12")

    def test_suspend_without_a_block(self):
        self.scheduler.suspend(12, 5)
        self.called("suspend 12 5")

    def test_block_raises(self):
        for error in (KeyError(), KeyboardInterrupt(), SystemExit()):
            text("calls", 4096, "")
            with self.assertRaises(type(error)):
                with self.scheduler.suspend(12, 5):
                    raise error
            self.called("suspend 12 5", "resume 12")

    def test_generator_exit(self):
        def suspended():
            with self.scheduler.suspend(12, 5):
                yield

        generator = suspended()
        next(generator)
        generator.close()
        self.called("suspend 12 5", "resume 12")

    def test_interrupted_while_it_suspends(self):
        ctypes.c_bool.in_dll(stub, "stub_interrupts").value = True
        with self.assertRaises(KeyboardInterrupt):
            with self.scheduler.suspend(12, 5):
                self.fail("the block runs")
        self.called("suspend 12 5", "resume 12")

    def test_not_suspended(self):
        number("result", -errno.EOPNOTSUPP)
        with self.assertRaises(kfdshim.NotSuspendable):
            self.scheduler.suspend(12, 5)
        self.called("suspend 12 5")

    def test_no_answer_may_be_a_suspension(self):
        number("result", -errno.EAGAIN)
        with self.assertRaises(kfdshim.NoAnswer):
            self.scheduler.suspend(12, 5)
        self.called("suspend 12 5", "resume 12")

    def test_end_of_the_process(self):
        with self.scheduler.suspend(12, 5):
            number("resume_result", -errno.ESRCH)

    def test_resume_fails(self):
        with self.assertRaises(kfdshim.NoDaemon):
            with self.scheduler.suspend(12, 5):
                number("resume_result", -errno.ENOENT)
        number("resume_result", 0)
        with self.assertRaises(KeyError):  # the block's says more
            with self.scheduler.suspend(12, 5):
                number("resume_result", -errno.ENOENT)
                raise KeyError

    def test_other_orders(self):
        self.scheduler.resume(12)
        self.scheduler.set_priority(12, 15)
        self.scheduler.set_priority(12, kfdshim.PRIORITY_OWN)
        self.scheduler.policy("strict")
        self.scheduler.policy("share", share_percent=20, gpu_id=4000000000)
        self.called("resume 12", "set_priority 12 15", "set_priority 12 -2", "set_policy 0 strict 0",
                    "set_policy 4000000000 share 20")

    def test_arguments(self):
        s = self.scheduler
        for call in (
                lambda: s.suspend(0, 5), lambda: s.suspend(2**32 + 12, 5), lambda: s.suspend(-1, 5),
                lambda: s.suspend(12, 0), lambda: s.suspend(12, 86401), lambda: s.suspend(12, float("nan")),
                lambda: s.suspend(12, float("inf")), lambda: s.resume(0), lambda: s.status(-1),
                lambda: s.set_priority(12, 16), lambda: s.set_priority(12, -3),
                lambda: s.policy("strict", gpu_id=0), lambda: s.policy("share", share_percent=2**32 + 1)):
            self.assertRaises(kfdshim.InvalidArgument, call)
        self.assertRaises(TypeError, s.suspend, 12.5, 5)
        self.called()


class Following(Case):
    def event(self, **more):
        text("event", 256, json.dumps({"kind": "came", "time_us": 1000000, **more}))

    def test_iterator(self):
        self.event(pid=3)
        events = self.scheduler.events(timeout=0.01)
        self.called("events")  # they count from the call on
        self.assertEqual(next(events).pid, 3)
        self.assertEqual(list(events), [])
        self.event()
        self.assertIsNone(next(events).pid)  # a time-out does not end it for ever
        self.assertGreaterEqual(events.fileno(), 0)
        events.close()
        events.close()
        self.event()
        self.assertEqual(list(events), [])

    def test_ends(self):
        with self.scheduler.events() as events:
            number("result", -errno.ECONNRESET)
            self.assertRaises(kfdshim.DaemonGone, next, events)
        self.assertEqual(number("open_handles"), 0)
        self.assertRaises(kfdshim.DaemonGone, self.scheduler.events)
        number("result", 0)
        del events
        events = self.scheduler.events()
        del events

    def test_interrupted(self):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        with self.scheduler.events() as events:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            self.assertRaises(KeyboardInterrupt, next, events)


class Library(Case):
    def python(self, package, **environment):
        """What a process finds whose package stands there."""
        code = "import kfdshim; kfdshim.Scheduler(); print(kfdshim._library.library()._name)"
        return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                              env={"PYTHONPATH": str(package), **environment})

    def test_places(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = pathlib.Path(folder).resolve()
            place = prefix / "lib" / "python3" / "dist-packages"
            shutil.copytree(PACKAGE, place / "kfdshim")
            none = self.python(place, LD_LIBRARY_PATH="/nonexistent", KFDSCHED_LIBRARY="/nonexistent/x.so")
            self.assertEqual(none.returncode, 1)
            self.assertRegex(none.stderr, "NoLibrary: libkfdsched.so.1 cannot be loaded.*/nonexistent/x.so.*"
                             "KFDSCHED_LIBRARY")
            beside = place / "kfdshim" / "libkfdsched.so.1"
            build = place.parent / "build" / "libkfdsched.so.1"
            system = prefix / "lib" / "libkfdsched.so.1"
            linker = prefix / "linker" / "libkfdsched.so.1"
            for path in (linker, system, build, beside):
                path.parent.mkdir(exist_ok=True)
                shutil.copy(STUB, path)
                found = self.python(place, LD_LIBRARY_PATH=str(linker.parent))
                want = "libkfdsched.so.1" if path is linker else str(path)
                self.assertEqual(found.stdout.strip(), want, found.stderr)
            self.assertEqual(self.python(place, KFDSCHED_LIBRARY=STUB).stdout.strip(), STUB)

    def test_needs_none_to_be_imported(self):
        code = "import kfdshim\nwith kfdshim.request(): print('ok')"
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                              env={"PYTHONPATH": str(PACKAGE.parent), "KFDSCHED_LIBRARY": "/nonexistent"})
        self.assertEqual(done.stdout, "ok\n", done.stderr)


unittest.main(verbosity=1)
