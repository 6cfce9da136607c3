"""Run by crates/groma/tests/python.rs, with GROMA_PROGRAM set: python3 -m unittest."""

import os
import tempfile
import unittest
from pathlib import Path

import groma


class Module(unittest.TestCase):
    def test_a_run_is_measured_read_back_and_compared(self):
        with tempfile.TemporaryDirectory() as place:
            store = os.path.join(place, "store.db")
            first = groma.run("syscall.getppid", "vdso", budget="4s", profile="quick", store=store)
            call = first["syscall.getppid"]
            self.assertEqual((call.unit, call.quantity, call.better), ("s", "latency", "lower"))
            if call.is_measured:
                self.assertTrue(1e-9 < call.value < 1e-3, call)
            self.assertIn("cpu.count", first.facts)
            self.assertEqual(groma.load("latest", store=store).id, first.id)
            again = [one.value for one in groma.runs(store)[0]]
            self.assertEqual(again, [one.value for one in first])
            rows = first.rows()
            self.assertEqual(len({tuple(sorted(row)) for row in rows}), 1, "one set of columns")
            groma.run("syscall.getppid", budget="3s", profile="quick", store=store)
            self.assertTrue(groma.compare("latest~1", "latest", store=store))

    def test_files_of_every_kind_are_read(self):
        with tempfile.TemporaryDirectory() as place:
            stream = os.path.join(place, "run.ndjson")
            options = ["--out", stream, "--samples"]
            groma._call(["run", "syscall.getppid", "--profile", "quick", "--budget", "3s", "--no-store", *options])
            self.assertEqual(groma.load(stream)["syscall.getppid"].id, "syscall.getppid")
            captured = Path(place, "console.log")
            captured.write_text("[    0.000000] Booting Linux\r\n" + Path(stream).read_text().replace("\n", "\r\n"))
            self.assertEqual(groma.load(captured).id, groma.load(stream).id)
            lmbench = Path(place, "box.0")
            lmbench.write_text("[lmbench3.0 results for Linux box 6.1]\nPipe latency: 4.5 microseconds\n")
            values = [one.value for one in groma.load(lmbench) if one.value is not None]
            self.assertEqual(values, [4.5e-6])

    def test_errors_are_the_program_s_own(self):
        with self.assertRaisesRegex(groma.Error, "no benchmark.*'syscall.nothing'|syscall.nothing") as caught:
            groma.run("syscall.nothing")
        self.assertEqual(caught.exception.code, 2)
        with self.assertRaisesRegex(groma.Error, "No such file"):
            groma.runs("/nonexistent")
        with self.assertRaises(KeyError):
            groma.Run(head={"run": "x"}, metrics=(), end=None, id="x")["a.b"]


if __name__ == "__main__":
    unittest.main()
