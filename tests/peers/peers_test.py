#!/usr/bin/env python3
"""Tests of the comparison with peers: its arithmetic, and what it reads and leaves behind.

usage: peers_test.py STRESS_PEERS_DIR
"""

import sys
import time
import unittest

sys.path.insert(0, sys.argv.pop(1))

import compare
import peers
import summary


def sample(library, variant, microseconds, ranks=2, size=1024):
    return peers.Sample(library, variant, ranks, size, microseconds, "free")


class Ratios(unittest.TestCase):
    def test_median_and_quartiles_of_pairs(self):
        ratio = summary.ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
        self.assertEqual((ratio.median, ratio.low, ratio.high), (2.0, 2.0, 2.0))
        self.assertEqual(ratio.verdict, "ahead")

    def test_verdict_needs_the_whole_spread(self):
        self.assertEqual(summary.ratio([1.0, 2.0, 1.0, 2.0], [1.5] * 4).verdict, "even")
        self.assertEqual(summary.ratio([1.0, 1.1], [2.0, 2.0]).verdict, "behind")

    def test_one_repetition_has_no_spread(self):
        self.assertEqual(summary.ratio([3.0], [2.0]), summary.Ratio(1.5, 1.5, 1.5))


class Bounds(unittest.TestCase):
    def test_interpolation(self):
        points = {100: 10.0, 200: 30.0}
        self.assertEqual([summary.interpolate(points, size) for size in (50, 100, 150, 400)],
                         [10.0, 10.0, 20.0, 60.0])

    def test_two_ranks_exchange_once_or_halve_and_double(self):
        # Latency 5, then a microsecond per 100 bytes.
        points = {0: 5.0, 100: 6.0, 10_000: 105.0}
        self.assertAlmostEqual(summary.bound(points, 2, 100), 6.0)
        self.assertAlmostEqual(summary.bound(points, 2, 10_000), 105.0)

    def test_halving_beats_the_ring_where_latency_counts(self):
        points = {0: 5.0, 10**6: 5.0 + 10**4}
        size = 8000
        self.assertAlmostEqual(summary.bound(points, 8, size), 6 * 5.0 + 2 * (7 / 8) * size / 100)

    def test_other_numbers_of_ranks_use_the_ring(self):
        points = {0: 5.0, 10**6: 5.0 + 10**4}
        self.assertAlmostEqual(summary.bound(points, 3, 3000), 4 * (5.0 + 10.0))


class Rows(unittest.TestCase):
    def test_each_column_meets_its_own_peers(self):
        samples = [sample("openmpi", "vader", 2.0), sample("gloo", "ring", 8.0),
                   sample("phalanx", "shm allocated", 1.0), sample("phalanx", "ucx allocated", 4.0),
                   sample("phalanx", "ucx send_receive", 3.0)]
        rows = summary.rows(samples, {"openmpi vader", "gloo ring"}, {"gloo ring"},
                            {"phalanx shm allocated", "phalanx ucx allocated"})
        self.assertEqual([(row.column, row.peer, row.ratio.median) for row in rows],
                         [("phalanx shm allocated", "openmpi vader", 2.0),
                          ("phalanx ucx allocated", "gloo ring", 2.0)])
        self.assertIsNone(rows[0].share_of_bound)
        self.assertAlmostEqual(rows[1].share_of_bound, 0.75)


class Launches(unittest.TestCase):
    ROW = {"collective": "all_reduce", "transport": "shm", "ranks": 2, "bytes": 64, "count": 16,
           "type": "float32", "redop": "sum", "buffer": "allocated", "in_place": True,
           "time_us": 1.5, "algbw": 1.0, "busbw": 1.0, "wrong": 0}

    def read(self, **changes):
        launcher = peers.Phalanx("phalanx", "shm", is_peer=False)
        return [(found.variant, found.bytes, found.microseconds)
                for found in launcher._samples([{**self.ROW, **changes}], 2, {64})]

    def test_of_the_bench_command_only_what_compares_counts(self):
        self.assertEqual(self.read(), [("shm allocated", 64, 1.5)])
        self.assertEqual(self.read(buffer="ordinary"), [("shm ordinary", 64, 1.5)])
        for changes in ({"in_place": False}, {"type": "float16"}, {"redop": "max"}, {"bytes": 65}):
            self.assertEqual(self.read(**changes), [])

    def test_wrong_results_are_not_figures(self):
        with self.assertRaisesRegex(peers.LaunchFailed, "3 wrong elements"):
            self.read(wrong=3)

    def test_a_failure_says_why(self):
        with self.assertRaisesRegex(peers.LaunchFailed, "exited with 3: no such thing"):
            peers.run(["sh", "-c", "echo no such thing >&2; exit 3"], timeout_s=10)

    def test_too_long_a_launch_is_ended_with_all_it_started(self):
        start = time.monotonic()
        with self.assertRaisesRegex(peers.LaunchFailed, "longer than 1 s"):
            peers.run(["sh", "-c", "sleep 60 & sleep 60"], timeout_s=1)
        self.assertLess(time.monotonic() - start, 10)


class Sizes(unittest.TestCase):
    def test_read_and_shown(self):
        self.assertEqual([compare.size_in_bytes(text) for text in ("8", "1K", "64M")],
                         [8, 1024, 64 * 2**20])
        self.assertEqual([compare.show_size(size) for size in (8, 1024, 1536, 2**20)],
                         ["8 B", "1 KiB", "1536 B", "1 MiB"])

    def test_sweep(self):
        self.assertEqual(list(peers.Sweep(8, 40, 2, 20).sizes()), [8, 16, 32])


if __name__ == "__main__":
    unittest.main()
