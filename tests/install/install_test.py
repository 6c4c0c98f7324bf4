#!/usr/bin/env python3
"""Installs Phalanx, moves the installed tree, and builds and runs a program of somebody else's on it.

usage: install_test.py BUILD_DIR COMPILER

Once by find_package(Phalanx), once by pkg-config; also checks what the library exports and that no
file of the installed tree remembers where it was built.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD_DIR = ""
COMPILER = ""
OUTSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "outside")


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{shlex.join(command)} exited with {done.returncode}:\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(dir=BUILD_DIR, prefix="install_test.")
        staged = os.path.join(cls.scratch.name, "staged")
        run("cmake", "--install", BUILD_DIR, "--prefix", staged)
        cls.prefix = os.path.join(cls.scratch.name, "moved")
        shutil.move(staged, cls.prefix)
        cls.library = cls.find("libphalanx.so")
        cls.launcher = os.path.join(cls.prefix, "bin", "phalanx")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def find(cls, name):
        for folder, _, names in os.walk(cls.prefix):
            if name in names:
                return os.path.join(folder, name)
        raise AssertionError(f"{name} isn't installed")

    def run_on_two_ranks(self, program, **options):
        output = run(self.launcher, "run", "-n", "2", "--", program, **options)
        self.assertEqual(output.count("sum 3"), 2, output)

    def test_find_package(self):
        build = os.path.join(self.scratch.name, "by_cmake")
        run("cmake", "-S", OUTSIDE, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}",
            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.run_on_two_ranks(os.path.join(build, "outside"))

    def build_by_pkg_config(self, source):
        search = os.path.join(os.path.dirname(self.library), "pkgconfig")
        flags = run("pkg-config", "--cflags", "--libs", "phalanx",
                    env={**os.environ, "PKG_CONFIG_PATH": search})
        program = os.path.join(self.scratch.name, "by_pkg_config")
        run(COMPILER, "-std=c++20", source, "-o", program, *shlex.split(flags))
        return program, {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(self.library)}

    def test_pkg_config(self):
        program, environment = self.build_by_pkg_config(os.path.join(OUTSIDE, "outside.cc"))
        self.run_on_two_ranks(program, env=environment)

    def test_the_program_in_the_readme(self):
        with open(os.path.join(OUTSIDE, "..", "..", "..", "README.md"), encoding="utf-8") as readme:
            text = readme.read().split("```cpp\n")[1].split("```")[0]
        source = os.path.join(self.scratch.name, "readme.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        program, environment = self.build_by_pkg_config(source)
        output = run(self.launcher, "run", "-n", "2", "--", program, env=environment)
        self.assertEqual(output.count("OK, sum 1"), 2, output)

    def test_exports_its_own_names_alone(self):
        listing = run("nm", "-DC", "--defined-only", self.library)
        names = [line.split(None, 2)[2] for line in listing.splitlines()]
        self.assertTrue(any(name.startswith("phalanx::Session::Join") for name in names), names)
        beginnings = ("phalanx::", "typeinfo for phalanx::", "typeinfo name for phalanx::",
                      "vtable for phalanx::", "non-virtual thunk to phalanx::")
        self.assertEqual([name for name in names if not name.startswith(beginnings)], [])

    def test_can_be_moved(self):
        for folder, _, names in os.walk(self.prefix):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith((".cmake", ".pc")):
                    with open(path, encoding="utf-8") as file:
                        self.assertNotIn(self.scratch.name, file.read(), path)
                elif ".so" in name or folder.endswith("/bin"):
                    for entry in self.run_paths(path):
                        self.assertTrue(entry.startswith("$ORIGIN"), f"{path}: {entry}")

    @staticmethod
    def run_paths(path):
        for line in run("readelf", "-d", path).splitlines():
            if "RUNPATH" in line or "RPATH" in line:
                yield from line[line.index("[") + 1:line.rindex("]")].split(":")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    BUILD_DIR, COMPILER = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
