#!/usr/bin/env python3
"""Checks the model of the voters' register with spin; README.md says what that shows.

Prints one line for each run: states, seconds, and whether it came out as it must.
"""

import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "ordering", "model"))
from check import MISSING_TOOL, CannotCheck, MissingTool

QUICK = [{"BALLOTS": 2, "WIPES": 2}, {"BALLOTS": 3, "WIPES": 0}, {"BALLOTS": 3, "WIPES": 1}]
THOROUGH = QUICK + [{"BALLOTS": 3, "WIPES": 2}]
# Each leaves one rule out and must break.
BROKEN = {
    "EMPTY_VOTER_VOTES": {"BALLOTS": 3, "WIPES": 1},
    "HALF_QUORUM": {"BALLOTS": 2, "WIPES": 0},
    "CHANGE_THE_UNSETTLED": {"BALLOTS": 3, "WIPES": 0},
    "REPLACED_IS_WRONG": {"BALLOTS": 3, "WIPES": 0},
}
# Takes four ballots, and so too long for the small set.
BROKEN_LONG = {"OLD_VOTERS": {"BALLOTS": 4, "WIPES": 0}}


def tool(folder, *command):
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False)
    except FileNotFoundError as error:
        raise MissingTool(f"{command[0]} isn't installed; './dev model' installs it") from error
    return done


def check(options, limits, variant=""):
    """Whether it came out as it must; prints a line."""
    switches = [f"-D{name}={value}" for name, value in limits.items()] + ([f"-D{variant}"] if variant else [])
    folder = os.path.join(options.build, variant or "register")
    os.makedirs(folder, exist_ok=True)
    for command in (["spin", "-a", *switches, os.path.join(HERE, "register.pml")],
                    ["gcc", "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={options.memory_mib}", "-o",
                     "pan", "pan.c"]):
        done = tool(folder, *command)
        if done.returncode != 0:
            raise CannotCheck(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    began = time.monotonic()
    output = tool(folder, "./pan", "-m2000", "-w22").stdout
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    if not errors or not states or (errors[1] == "0" and re.search(r"Search not completed|too small", output)):
        raise CannotCheck(f"the verifier didn't finish (memory? see --memory-mib):\n{output}")
    broken = errors[1] != "0"
    right = broken == bool(variant)
    print(f"{'ok  ' if right else 'FAIL'} {'breaks' if broken else 'holds':6} {int(states[1]):10} states"
          f" {time.monotonic() - began:7.2f} s  {variant + ': ' if variant else ''}register"
          f" ({', '.join(f'{name} {value}' for name, value in limits.items())})", flush=True)
    if broken and (options.trace or not right):
        steps = tool(folder, "./pan", "-r", "register.pml.trail").stdout.splitlines()
        print("\n".join("    " + step.strip() for step in steps
                        if re.match(r"\s*(ballot|voter|version) \d", step)), flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small set that the tests run")
    parser.add_argument("--trace", action="store_true", help="show what breaks the broken variants")
    parser.add_argument("--build", default="build/model_register", help="folder for what spin and gcc write")
    parser.add_argument("--memory-mib", type=int, default=3072, help="limit of one run (3072)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    variants = BROKEN if options.quick else {**BROKEN, **BROKEN_LONG}
    try:
        results = [check(options, limits) for limits in (QUICK if options.quick else THOROUGH)]
        results += [check(options, limits, variant) for variant, limits in variants.items()]
    except MissingTool as error:
        print(f"model: {error}", file=sys.stderr)
        return MISSING_TOOL
    except CannotCheck as error:
        print(f"model: {error}", file=sys.stderr)
        return 2
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
