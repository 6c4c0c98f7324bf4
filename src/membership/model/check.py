#!/usr/bin/env python3
"""Checks the model of the voters' register with spin; README.md says what that shows.

Prints one line for each run: states, seconds, and whether it came out as it must.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "ordering", "model"))
import spin

REGISTER = spin.Model(
    path=os.path.join(HERE, "register.pml"),
    steps=r"(ballot|voter|version) \d",
    quick=[{"BALLOTS": 2, "WIPES": 2}, {"BALLOTS": 3, "WIPES": 0}, {"BALLOTS": 3, "WIPES": 1}],
    thorough=[{"BALLOTS": 3, "WIPES": 2}],
    # Each leaves one rule out and must break.
    broken={
        "EMPTY_VOTER_VOTES": {"BALLOTS": 3, "WIPES": 1},
        "HALF_QUORUM": {"BALLOTS": 2, "WIPES": 0},
        "CHANGE_THE_UNSETTLED": {"BALLOTS": 3, "WIPES": 0},
        "REPLACED_IS_WRONG": {"BALLOTS": 3, "WIPES": 0},
    },
    # Takes four ballots, and so too long for the small set.
    broken_long={"OLD_VOTERS": {"BALLOTS": 4, "WIPES": 0}})

if __name__ == "__main__":
    sys.exit(spin.main(__doc__.splitlines()[0], "build/model_register", [REGISTER]))
