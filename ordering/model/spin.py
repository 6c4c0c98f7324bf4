"""Runs small models, each a file with limits and broken variants, and prints one line for each run."""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

from check import MISSING_TOOL, CannotCheck, MissingTool


@dataclass(frozen=True)
class Model:
    """What is checked of one .pml file: limits are macros, and so are the names of the variants."""
    path: str
    steps: str  # pattern of the lines of a trace that say what happens
    quick: list
    thorough: list  # beside the quick ones
    broken: dict  # variant -> the limits with which it must break
    broken_long: dict = field(default_factory=dict)  # those that take too long for the quick set

    def name(self):
        return os.path.basename(self.path).removesuffix(".pml")


def tool(folder, *command):
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False)
    except FileNotFoundError as error:
        raise MissingTool(f"{command[0]} isn't installed; './dev model' installs it") from error


def check(options, model, limits, variant=""):
    """Whether it came out as it must; prints a line."""
    switches = [f"-D{name}={value}" for name, value in limits.items()] + ([f"-D{variant}"] if variant else [])
    folder = os.path.join(options.build, variant or model.name())
    os.makedirs(folder, exist_ok=True)
    for command in (["spin", "-a", *switches, model.path],
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
          f" {time.monotonic() - began:7.2f} s  {variant + ': ' if variant else ''}{model.name()}"
          f" ({', '.join(f'{name} {value}' for name, value in limits.items())})", flush=True)
    if broken and (options.trace or not right):
        steps = tool(folder, "./pan", "-r", f"{model.name()}.pml.trail").stdout.splitlines()
        print("\n".join("    " + step.strip() for step in steps if re.match(rf"\s*({model.steps})", step)),
              flush=True)
    return right


def main(description, build, models):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="the small set that the tests run")
    parser.add_argument("--trace", action="store_true", help="show what breaks the broken variants")
    parser.add_argument("--build", default=build, help="folder for what spin and gcc write")
    parser.add_argument("--memory-mib", type=int, default=3072, help="limit of one run (3072)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    results = []
    try:
        for model in models:
            for limits in model.quick if options.quick else model.quick + model.thorough:
                results.append(check(options, model, limits))
            for variant, limits in (model.broken if options.quick
                                    else {**model.broken, **model.broken_long}).items():
                results.append(check(options, model, limits, variant))
    except MissingTool as error:
        print(f"model: {error}", file=sys.stderr)
        return MISSING_TOOL
    except CannotCheck as error:
        print(f"model: {error}", file=sys.stderr)
        return 2
    return 0 if all(results) else 1
