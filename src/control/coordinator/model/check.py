#!/usr/bin/env python3
"""Checks the model of views with spin; README.md says what that shows.

Prints one line for each run: states, seconds, and whether it came out as it must.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "..", "ordering", "model"))
import spin

SMALL = {"COORDINATORS": 2, "PROCESSES": 3, "LOSSES": 1, "EVICTIONS": 1, "EPOCHS": 3}
VIEWS = spin.Model(
    path=os.path.join(HERE, "views.pml"),
    steps=r"coordinator \d|process \d",
    quick=[SMALL],
    thorough=[{"COORDINATORS": 2, "PROCESSES": 4, "LOSSES": 2, "EVICTIONS": 1, "EPOCHS": 3},
              {"COORDINATORS": 3, "PROCESSES": 3, "LOSSES": 1, "EVICTIONS": 1, "EPOCHS": 4},
              {"COORDINATORS": 2, "PROCESSES": 4, "LOSSES": 1, "EVICTIONS": 2, "EPOCHS": 4}],
    # Each leaves one rule out, or claims what isn't so, and must break.
    broken={
        "ANNOUNCED_BEFORE_DURABLE": SMALL,
        "WRITES_WITHOUT_LOOKING": SMALL,
        "FINISHED_BEFORE_DURABLE": SMALL,
        "PLACE_OF_THE_LIVING": {**SMALL, "EPOCHS": 2},
        "EVICTION_NOT_RECORDED": SMALL,
        "REPLACED_IS_WRONG": SMALL,
    })

if __name__ == "__main__":
    sys.exit(spin.main(__doc__.splitlines()[0], "build/model_views", [VIEWS]))
