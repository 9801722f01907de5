# SPDX-License-Identifier: MIT
"""application.py present|absent: kfdshim.request and its like, with a libkfdshim.so that counts
(stub_shim.c) preloaded, or with none: there the same calls have the same results."""
import asyncio
import ctypes
import gc
import inspect
import os
import sys
import unittest

import kfdshim

PRESENT = sys.argv.pop(1) == "present"


class Stub:
    """The variables of stub_shim.c; without it those that an application changes stay as they are."""

    def __getattr__(self, name):
        kind = ctypes.c_longlong if name == "slo_us" else ctypes.c_int
        return kind.in_dll(ctypes.CDLL(None), "stub_" + name) if PRESENT else kind(0)


stub = Stub()


class Case(unittest.TestCase):
    def running(self, number):
        """That many requests run now."""
        self.assertEqual(stub.requests.value, number if PRESENT else 0)

    def setUp(self):
        self.before = stub.begun.value

    def tearDown(self):
        self.running(0)

    def begun(self, number):
        self.assertEqual(stub.begun.value - self.before, number if PRESENT else 0)


class Requests(Case):
    def test_block(self):
        with kfdshim.request():
            self.running(1)
            with kfdshim.request():
                self.running(2)
            self.running(1)
        self.begun(2)

    def test_exception(self):
        for error in (KeyError("x"), OSError(), KeyboardInterrupt(), GeneratorExit()):
            with self.assertRaises(type(error)) as seen:
                with kfdshim.request():
                    raise error
            self.assertIs(seen.exception, error)
            self.running(0)

    def test_value(self):
        with kfdshim.request() as value:
            self.assertIsNone(value)
        self.assertIs(kfdshim.request(), kfdshim.request())

    def test_active(self):
        self.assertEqual(kfdshim.active(), PRESENT)
        os.environ["KFDSHIM_DISABLE"] = "1"
        self.assertFalse(kfdshim.active())
        os.environ["KFDSHIM_DISABLE"] = "0"
        self.assertEqual(kfdshim.active(), PRESENT)
        del os.environ["KFDSHIM_DISABLE"]


if PRESENT:  # the signals are raised in the library

    class Interrupted(Case):
        def test_interrupted(self):
            """A signal at the begin or the end leaves no request behind."""
            stub.interrupts.value = 1
            for _ in range(100):
                with self.assertRaises(KeyboardInterrupt):
                    with kfdshim.request():
                        pass
            stub.interrupts.value = 0


class Online(Case):
    def test_function(self):
        @kfdshim.online
        def double(number, *, more=0):
            """Twice."""
            self.running(1)
            return 2 * number + more

        self.assertEqual(double(2, more=1), 5)
        self.assertEqual((double.__name__, double.__doc__), ("double", "Twice."))
        with self.assertRaises(TypeError):
            double()

    def test_methods(self):
        case = self

        class Model:
            @kfdshim.online
            def of_object(self):
                case.running(1)
                return self

            @classmethod
            @kfdshim.online
            def of_class(cls):
                case.running(1)
                return cls

            @staticmethod
            @kfdshim.online
            def of_none():
                case.running(1)

        model = Model()
        self.assertIs(model.of_object(), model)
        self.assertIs(model.of_class(), Model)
        model.of_none()
        self.begun(3)
        with self.assertRaises(TypeError):
            kfdshim.online(Model.__dict__["of_class"])

    def test_generator(self):
        @kfdshim.online
        def count(to):
            for i in range(to):
                self.running(1)
                if (yield i) == "stop":
                    return "stopped"
            return "done"

        self.assertTrue(inspect.isgeneratorfunction(count))
        self.assertEqual(list(count(3)), [0, 1, 2])
        generator = count(3)
        self.running(0)  # no value was requested
        next(generator)
        self.running(1)  # also between two values
        with self.assertRaises(StopIteration) as end:
            generator.send("stop")
        self.assertEqual(end.exception.value, "stopped")
        self.running(0)
        for end_it in (lambda g: g.close(), lambda g: self.assertRaises(KeyError, g.throw, KeyError())):
            generator = count(3)
            next(generator)
            end_it(generator)
            self.running(0)
        generator = count(3)
        next(generator)
        del generator
        gc.collect()

    def test_coroutine(self):
        @kfdshim.online
        async def answer(wait):
            self.running(1)
            await wait
            return 42

        async def main():
            wait = asyncio.get_running_loop().create_future()
            task = asyncio.ensure_future(answer(wait))
            await asyncio.sleep(0)
            self.running(1)
            wait.set_result(None)
            self.assertEqual(await task, 42)
            self.running(0)
            task = asyncio.ensure_future(answer(asyncio.get_running_loop().create_future()))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        self.assertTrue(inspect.iscoroutinefunction(answer))
        asyncio.run(main())

    def test_async_generator(self):
        ended = []

        @kfdshim.online
        async def stream(to):
            try:
                for i in range(to):
                    try:
                        await asyncio.sleep(0)
                        self.running(1)
                        if (yield i) == "stop":
                            return
                    except KeyError:
                        yield "caught"
            finally:
                await asyncio.sleep(0)
                self.running(1)
                ended.append(to)

        async def main():
            self.assertEqual([value async for value in stream(3)], [0, 1, 2])
            self.running(0)
            generator = stream(4)
            await generator.__anext__()
            self.running(1)
            self.assertEqual(await generator.athrow(KeyError()), "caught")
            self.assertEqual(await generator.asend(None), 1)
            with self.assertRaises(StopAsyncIteration):
                await generator.asend("stop")
            self.running(0)
            generator = stream(5)
            await generator.__anext__()
            await generator.aclose()
            self.running(0)
            generator = stream(6)
            await generator.__anext__()
            with self.assertRaises(ZeroDivisionError):
                await generator.athrow(ZeroDivisionError())

        self.assertTrue(inspect.isasyncgenfunction(stream))
        asyncio.run(main())
        self.assertEqual(ended, [3, 4, 5, 6])


class Settings(Case):
    def test_priority(self):
        for priority in (0, 15):
            kfdshim.set_priority(priority)
            self.assertEqual(stub.priority.value, priority if PRESENT else 0)
        for priority in (-1, 16):
            with self.assertRaises(kfdshim.InvalidArgument) as seen:
                kfdshim.set_priority(priority)
            self.assertEqual(str(seen.exception), f"a priority must be 0 to 15, not {priority}")
            self.assertIsInstance(seen.exception, ValueError)

        with self.assertRaises(TypeError):
            kfdshim.set_priority(1.5)

    def test_slo(self):
        for seconds, microseconds in (
                (0.02, 20000), (None, 0), (1, 1000000), (0, 0), (1e-9, 1), (4294.967295, 4294967295)):
            kfdshim.set_slo(seconds)
            self.assertEqual(stub.slo_us.value, microseconds if PRESENT else 0)
        for seconds in (-0.1, 4295, float("inf"), float("nan")):
            with self.assertRaises(kfdshim.InvalidArgument):
                kfdshim.set_slo(seconds)


unittest.main(verbosity=1)
