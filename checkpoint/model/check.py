#!/usr/bin/env python3
"""Checks the models of saving and of votes on steps with spin; README.md says what that shows.

Prints one line for each run: states, seconds, and whether it came out as it must.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "ordering", "model"))
import spin

SMALL = {"COORDINATORS": 2, "HOLDERS": 2, "LOSSES": 1, "VERSIONS": 3}
COMMIT = spin.Model(
    path=os.path.join(HERE, "commit.pml"),
    steps=r"coordinator \d|holder \d|the record",
    quick=[SMALL],
    thorough=[{"COORDINATORS": 3, "HOLDERS": 2, "LOSSES": 1, "VERSIONS": 2},
              {"COORDINATORS": 2, "HOLDERS": 3, "LOSSES": 2, "VERSIONS": 3}],
    # Each leaves one rule out, or claims what isn't so, and must break.
    broken={"FREED_BEFORE_DURABLE": SMALL, "ADOPTED_IS_WRONG": SMALL})

STEP_VOTE = spin.Model(
    path=os.path.join(HERE, "step_vote.pml"),
    steps=r"rank \d|epoch \d|all are",
    quick=[{"EPOCHS": 3, "LOSSES": 2}],
    thorough=[{"EPOCHS": 4, "LOSSES": 3}],
    broken={
        "JOINER_COPIES_BEFORE_DECISION": {"EPOCHS": 3, "LOSSES": 2},
        "SURVIVORS_VOTES_DO_NOT_COUNT": {"EPOCHS": 3, "LOSSES": 2},
        "SURVIVORS_COMMIT_IS_WRONG": {"EPOCHS": 3, "LOSSES": 2},
    })

if __name__ == "__main__":
    sys.exit(spin.main(__doc__.splitlines()[0], "build/model_checkpoint", [COMMIT, STEP_VOTE]))
