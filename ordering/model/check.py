#!/usr/bin/env python3
"""Checks the ordering protocol's model with spin; README.md says what that shows.

Prints one line for each run: states, seconds, and whether it came out as it must.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

import programs
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
DEPTH = 2000  # longer than any run of the largest program
MISSING_TOOL = 77  # the exit status by which a test says that it was skipped


class CannotCheck(Exception):
    """The tools failed, so nothing is known about the model."""


class MissingTool(Exception):
    """This machine has no spin or no gcc."""


@dataclass(frozen=True)
class Outcome:
    broken: bool
    states: int
    seconds: float


class Verifier:
    """One variant of the model, compiled. Programs are handed to it in the environment."""

    def __init__(self, options, variant="", cycles=False):
        self.folder = os.path.join(options.build, "cycles" if cycles else variant or "protocol")
        self.cycles = cycles
        os.makedirs(self.folder, exist_ok=True)
        switches = [f"-D{variant}"] if variant else []
        self._tool(["spin", "-a", *switches, os.path.join(HERE, "ordering.pml")])
        # Broken variants stop at their first error: compiling takes longer than running them.
        optimise = "-O0" if variant else "-O1" if options.quick else "-O2"
        self._tool(["gcc", optimise, "-w", "-DNP" if cycles else "-DSAFETY", "-DNOREDUCE",
                    f"-DMEMLIM={options.memory_mib}", "-o", "pan", "pan.c"])

    def _tool(self, command):
        try:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=600,
                                  check=False)
        except FileNotFoundError as error:
            raise MissingTool(f"{command[0]} isn't installed; './dev model' installs it") from error
        if done.returncode != 0:
            raise CannotCheck(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")

    def _pan(self, case, *arguments):
        environment = dict(os.environ)
        environment["MODEL_PROGRAM"] = programs.table(case.program, case.limits, case.nodes)
        return subprocess.run(["./pan", *arguments], cwd=self.folder, env=environment,
                              capture_output=True, text=True, check=False).stdout

    def run(self, case):
        began = time.monotonic()
        output = self._pan(case, f"-m{DEPTH}", "-w18", *(["-l"] if self.cycles else []))
        errors = re.search(r"errors: (\d+)", output)
        states = re.search(r"(\d+) states, stored", output)
        if not errors or not states:
            raise CannotCheck(f"the verifier said:\n{output}")
        if errors[1] == "0" and re.search(r"Search not completed|search depth too small", output):
            raise CannotCheck(f"the verifier didn't finish (memory? see --memory-mib):\n{output}")
        return Outcome(errors[1] != "0", int(states[1]), time.monotonic() - began)

    def trace(self, case):
        """What happened until the error that the last run found, one line a step."""
        ops = case.program.ops()

        def name_set(match):
            names = [op for number, op in enumerate(ops) if int(match[1]) >> number & 1]
            return "{" + ", ".join(names) + "}"

        steps = self._pan(case, "-r", "ordering.pml.trail").splitlines()
        steps = [step for step in steps
                 if re.match(r"r\d |ticket |fence|schedule|the sequencer |epoch |nothing moves", step)
                 and not step.endswith("issues set 0")]  # the host only goes on
        text = "\n".join("    " + step for step in steps)
        text = re.sub(r"set (\d+)", name_set, text)
        return re.sub(r"\bop(\d)", lambda match: ops[int(match[1])], text)


class Report:
    """Runs cases, prints a line each (or one for a family) and remembers what came out wrong."""

    def __init__(self):
        self.failures = 0
        self.states = 0

    def check(self, verifier, case, must_break="", show=True):
        outcome = verifier.run(case)
        self.states += outcome.states
        right = outcome.broken == bool(must_break)
        if not right or show:
            self._line(outcome, case, must_break, right)
        if not right:
            self.failures += 1
            if outcome.broken:
                print(verifier.trace(case), flush=True)
        return outcome

    def _line(self, outcome, case, must_break, right):
        found = "breaks" if outcome.broken else "holds"
        together = " [r0 and r1 on one node]" if case.nodes == suite.FIRST_TWO_TOGETHER else ""
        hopeless = "" if programs.completable(case.program) else " (can't complete: aborts)"
        print(f"{'ok  ' if right else 'FAIL'} {found:6} {outcome.states:10} states {outcome.seconds:7.2f} s"
              f"  {must_break + ': ' if must_break else ''}{case.program}{together}{hopeless}"
              f" ({case.limits})", flush=True)

    def check_family(self, verifier, title, cases, deadline):
        began, number, states = time.monotonic(), 0, self.states
        for case in cases:
            if time.monotonic() > deadline:
                print(f"FAIL out of time after {number} programs: {title}", flush=True)
                self.failures += 1
                return
            self.check(verifier, case, show=False)
            number += 1
        print(f"     {self.states - states:17} states {time.monotonic() - began:7.2f} s"
              f"  {number} programs: {title}", flush=True)


def check_broken(options, report):
    for variant, cases in suite.BROKEN.items():
        verifier = Verifier(options, variant)
        for case in cases:
            report.check(verifier, case, must_break=variant)


def check_all(options):
    report = Report()
    began = time.monotonic()
    deadline = began + options.minutes * 60
    protocol = Verifier(options)
    for case in suite.quick() if options.quick else suite.thorough():
        report.check(protocol, case)
    check_broken(options, report)
    if not options.quick:
        cycles = Verifier(options, cycles=True)
        report.check_family(cycles, "no cycle of states in the quick set", suite.quick(), deadline)
    for title, cases in suite.quick_families() if options.quick else suite.families():
        report.check_family(protocol, title, cases, deadline)
    print(f"{report.states} states, {time.monotonic() - began:.0f} s, {report.failures} wrong")
    return 1 if report.failures else 0


def check_one(options):
    limits = programs.Limits(slots=options.slots, adaptive=int(not options.strict),
                             fences=options.fences, crashes=options.crashes, lessons=options.lessons,
                             hesitate=int(options.hesitate), run_ahead=options.run_ahead)
    nodes = suite.FIRST_TWO_TOGETHER if options.together else suite.ONE_NODE_EACH
    case = suite.Case(programs.parse(options.program), limits, nodes)
    verifier = Verifier(options, options.broken)
    outcome = Report().check(verifier, case, must_break=options.broken)
    if outcome.broken and options.broken:
        print(verifier.trace(case))
    return 1 if outcome.broken else 0


def arguments():
    parser = argparse.ArgumentParser(prog="./dev model", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small set that the tests run")
    parser.add_argument("--build", default="build/model", help="folder for what spin and gcc write")
    parser.add_argument("--memory-mib", type=int, default=3072, help="limit of one run (3072)")
    parser.add_argument("--minutes", type=float, default=120, help="start no program after this (120)")
    one = parser.add_argument_group("one program, with a trace if it breaks")
    one.add_argument("--program", metavar="LINE", help="for example 'r0 A/s0; G/s1 · r1 G/s0; A/s0'")
    one.add_argument("--broken", metavar="SWITCH", default="", choices=["", *suite.BROKEN],
                     help="a broken variant: " + ", ".join(suite.BROKEN))
    one.add_argument("--slots", type=int, default=2)
    one.add_argument("--strict", action="store_true", help="no speculation")
    one.add_argument("--fences", type=int, default=1, help="fences for no reason (1)")
    one.add_argument("--crashes", type=int, default=0, help="of the sequencer (0)")
    one.add_argument("--lessons", type=int, default=0, help="schedules learned after a fence (0)")
    one.add_argument("--hesitate", action="store_true", help="ranks may stop speculating at any moment")
    one.add_argument("--run-ahead", type=int, default=255, help="bound on outstanding ops")
    one.add_argument("--together", action="store_true", help="r0 and r1 on one node")
    return parser.parse_args()


def main():
    options = arguments()
    options.build = os.path.abspath(options.build)
    try:
        return check_one(options) if options.program else check_all(options)
    except MissingTool as error:
        print(f"model: {error}", file=sys.stderr)
        return MISSING_TOOL
    except (CannotCheck, ValueError) as error:
        print(f"model: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
