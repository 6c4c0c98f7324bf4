#!/usr/bin/env python3
"""The notation of programs, and the exact test of what can complete, which the model relies on.

usage: programs_test.py FOLDER-OF-THE-MODEL
"""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

import programs


class Notation(unittest.TestCase):
    def test_reads_what_it_writes(self):
        for line in ["r0 A/s0; G/s1 · r1 G/s0; A/s0", "r0 G{X;Y}/s2; Z/s1 · r1 X/s0; hsX; Z/s0; Y/s0",
                     "r0 A/s0 · r1 A/s0; B/s0 · absent r0 B · unscheduled A"]:
            self.assertEqual(str(programs.parse(line)), line)

    def test_without_a_stream_it_is_the_first(self):
        self.assertEqual(programs.parse("r0 A; hsA; B | r1 B;A"),
                         programs.parse("r0 A/s0; hsA; B/s0 · r1 B/s0; A/s0"))

    def test_refuses_nonsense(self):
        for line in ["A", "r1 A", "r0 A B", "r0 a", "r0 A; hs", "r0 G{}", "r0 A/x"]:
            with self.subTest(line), self.assertRaises(ValueError):
                programs.parse(line)

    def test_members_are_who_names_it(self):
        program = programs.parse("r0 A · r1 B; A · r2 B · absent r0 C")
        self.assertEqual([sorted(program.members(op)) for op in "ABC"], [[0, 1], [1, 2], [0]])

    def test_refuses_what_the_model_has_no_room_for(self):
        with self.assertRaises(ValueError):
            programs.table(programs.parse("r0 A; B; C; D; E; F; G"), programs.Limits())


class Completable(unittest.TestCase):
    def check(self, line, expected):
        self.assertEqual(programs.completable(programs.parse(line)), expected)

    def test_crossed_on_two_streams(self):
        self.check("r0 A/s0; B/s1 · r1 B/s0; A/s1", True)

    def test_crossed_on_one_stream(self):
        self.check("r0 A; B · r1 B; A", False)

    def test_one_rank_with_two_streams_is_enough(self):
        self.check("r0 A/s0; B/s1 · r1 B; A", True)

    def test_host_waits(self):
        self.check("r0 A; hsA; B · r1 B; hsB; A", False)
        self.check("r0 A/s0; hsA; B/s1 · r1 B/s0; A/s1", True)

    def test_parts_of_a_group_are_present_together(self):
        self.check("r0 G{A;B} · r1 B; A", True)
        self.check("r0 G{A;B}; C · r1 C; A; B", False)

    def test_a_ring_of_three(self):
        self.check("r0 A; B · r1 B; C · r2 C; A", False)
        self.check("r0 A; B · r1 B; C · r2 C/s0; A/s1", True)

    def test_an_absent_rank(self):
        self.check("r0 A; B · r1 A · absent r1 B", False)
        self.check("r0 A · r1 A · absent r1 B", True)


class Families(unittest.TestCase):
    def test_all_programs_of_two_ranks(self):
        # Two ops: 4 hosts for each order (one stream or two, a wait or none). In the same order all
        # 2 x 10 pairs complete; crossed, the 16 - 9 in which one host has two streams and no wait.
        self.assertEqual([str(program) for program in programs.two_ranks(1)], ["r0 A/s0 · r1 A/s0"])
        two = list(programs.two_ranks(2))
        self.assertEqual(len(set(two)), len(two))
        self.assertEqual(len(two), 20 + 7)
        self.assertEqual(len(list(programs.two_ranks(2, can_complete=False))), 9)
        self.assertEqual(sum(1 for _ in programs.two_ranks(3)), 6984)

    def test_random_ones_are_the_same_each_time(self):
        first = list(programs.random_programs(3, 3, 20, seed=7))
        self.assertEqual(first, list(programs.random_programs(3, 3, 20, seed=7)))
        self.assertNotEqual(first, list(programs.random_programs(3, 3, 20, seed=8)))
        self.assertTrue(all(programs.completable(program) for program in first))


if __name__ == "__main__":
    unittest.main()
