#!/usr/bin/env python3
"""Opens a shard's file as other programs do, and compares all that is in it.

usage: safetensors_test.py SAMPLE

SAMPLE is the program that writes the file. The reader is Python's safetensors where that can be
imported, and always one of the format's description below that takes nothing for granted.
"""

import json
import struct
import subprocess
import sys
import tempfile
import unittest

SAMPLE = ""

# What the program says that it writes: name -> (type, bytes of an element).
TYPES = {"int8": ("I8", 1), "uint8": ("U8", 1), "int32": ("I32", 4), "uint32": ("U32", 4),
         "int64": ("I64", 8), "uint64": ("U64", 8), "half": ("F16", 2), "float": ("F32", 4),
         "double": ("F64", 8), "bfloat16": ("BF16", 2), "f8e4m3": ("F8_E4M3", 1),
         "f8e5m2": ("F8_E5M2", 1)}


def expected():
    """Name -> (dtype, shape, bytes)."""
    layouts = [(name, dtype, [3, 5], 15 * size) for name, (dtype, size) in TYPES.items()]
    layouts += [("scalar", "F32", [], 4), ("empty", "I64", [0, 4], 0),
                ("Größe \"σ\"\n", "U8", [11], 11)]
    return {name: (dtype, shape, bytes((7 * r + i) % 251 for i in range(size)))
            for r, (name, dtype, shape, size) in enumerate(layouts)}


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), keys
    return dict(pairs)


def read(content):
    """The format's own words, as strictly as they can be taken."""
    (length,) = struct.unpack_from("<Q", content)
    assert length % 8 == 0 and 8 + length <= len(content) and length <= 100_000_000
    text = content[8:8 + length]
    assert text.startswith(b"{") and text.rstrip(b" ").endswith(b"}")
    header = json.loads(text.decode("utf-8"), object_pairs_hook=no_duplicates)
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values())
    sizes = dict(TYPES.values())
    data = content[8 + length:]
    tensors, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        assert set(entry) == {"dtype", "shape", "data_offsets"}
        begin, stop = entry["data_offsets"]
        assert begin == end <= stop, "a gap or an overlap"
        count = 1
        for dimension in entry["shape"]:
            count *= dimension
        assert stop - begin == count * sizes[entry["dtype"]]
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:stop])
        end = stop
    assert end == len(data)
    return tensors, metadata


class Safetensors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="safetensors_test.")
        subprocess.run([SAMPLE, cls.folder.name], check=True, timeout=60)
        cls.path = (cls.folder.name +
                    "/sample/version-7-epoch-2/rank-00000-of-00001.safetensors")
        with open(cls.path, "rb") as file:
            cls.content = file.read()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_by_the_description_of_the_format(self):
        tensors, metadata = read(self.content)
        self.assertEqual(tensors, expected())
        self.assertEqual(metadata, {"job": "sample", "version": "7", "epoch": "2", "rank": "0",
                                    "ranks": "1"})

    def test_by_the_safetensors_module(self):
        try:
            import safetensors
        except ImportError:
            print("read by the test's own reader alone: Python has no module safetensors")
            return
        print("read by safetensors", safetensors.__version__)
        found = {name: (entry["dtype"], entry["shape"], bytes(entry["data"]))
                 for name, entry in safetensors.deserialize(self.content)}
        self.assertEqual(found, expected())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    SAMPLE = sys.argv.pop()
    unittest.main(verbosity=2)
