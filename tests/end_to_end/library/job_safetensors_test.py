#!/usr/bin/env python3
"""Opens the files of a job as other programs do.

usage: job_safetensors_test.py PHALANX TRAIN FORMAT

Runs `PHALANX run --persist … -- TRAIN`, reads what it has written with the strict reader in the folder
FORMAT, and with Python's safetensors where that can be imported.
"""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

PHALANX, TRAIN, FORMAT = "", "", ""
RANKS = 2


class JobSafetensors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="job_safetensors_test.")
        subprocess.run([PHALANX, "run", "-n", str(RANKS), "--persist", cls.folder.name, "--persist-keep", "1",
                        "--", TRAIN, "--epochs", "1"], check=True, timeout=120, stdout=subprocess.DEVNULL)
        cls.paths = sorted(glob.glob(os.path.join(cls.folder.name, "*", "*", "*.safetensors")))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, read):
        """`read` gives name -> (dtype, shape, bytes) of a file's bytes."""
        self.assertEqual(len(self.paths), RANKS)
        states = []
        for path in self.paths:
            with open(path, "rb") as file:
                states.append(read(file.read()))
        for state in states:
            self.assertEqual(set(state), {"weights", "velocity", "loss"})
            self.assertEqual(len(state["weights"][2]), len(state["velocity"][2]))
            for dtype, shape, content in state.values():
                self.assertEqual(dtype, "U8")
                self.assertEqual(shape, [len(content)])
        # Every rank has the same weights; of the loss it has its own part.
        self.assertEqual(states[0]["weights"], states[1]["weights"])
        self.assertNotEqual(states[0]["loss"], states[1]["loss"])
        self.assertTrue(any(states[0]["weights"][2]))

    def test_by_the_description_of_the_format(self):
        sys.path.insert(0, FORMAT)
        from safetensors_test import read
        self.check(lambda content: read(content)[0])

    def test_by_the_safetensors_module(self):
        try:
            import safetensors
        except ImportError:
            print("read by the tests' own reader alone: Python has no module safetensors")
            return
        print("read by safetensors", safetensors.__version__)
        self.check(lambda content: {name: (entry["dtype"], entry["shape"], bytes(entry["data"]))
                                    for name, entry in safetensors.deserialize(content)})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    FORMAT, TRAIN, PHALANX = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()
    unittest.main(verbosity=2)
