#!/usr/bin/env python3
"""What ordering costs an all-reduce on one node, against the same run without it.

Modes take turns; the figures are medians. "bare" has no ordering and no limit on slots; with "off" the
device has slots and nobody orders them; "adaptive" learns the order; in "strict" every operation waits for
its ticket, which comes from the node's agent.

Then, in the same run, what others do in its place, over Phalanx with "off": "checked" has a barrier and two
all-gathers of fingerprints before each all-reduce, "negotiated" a thread that agrees once a millisecond on
what may start. Last, what irregular pauses of 1 to 20 ms on one rank do to a certified loop (nothing: no
fence), and how long a loop takes that changes its order, until it is certified again.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

SLOTS = 2


@dataclass
class Mode:
    name: str
    ordering: str
    slots: int
    operations: int
    times_us: list = field(default_factory=list)
    messages: list = field(default_factory=list)  # for a thousand operations of a rank


def modes():
    return [Mode("bare", "off", 0, 300_000), Mode("off", "off", SLOTS, 300_000),
            Mode("adaptive", "adaptive", SLOTS, 300_000), Mode("strict", "strict", SLOTS, 2_000)]


def measure(program, mode, ranks, size):
    environment = dict(os.environ, PHALANX_ORDERING=mode.ordering,
                       PHALANX_DEVICE_SLOTS=str(mode.slots), PHALANX_LOG="info")
    with tempfile.TemporaryDirectory(prefix="phalanx.") as scratch:
        path = os.path.join(scratch, "results.json")
        ended = subprocess.run(
            [program, "bench", "all_reduce", "--ranks", str(ranks), "--transport", "shm", "--min",
             str(size), "--max", str(size), "--iters", str(mode.operations), "--json", path],
            env=environment, capture_output=True, text=True, timeout=300, check=False)
        if ended.returncode != 0:
            sys.exit(f"cost.py: phalanx bench failed:\n{ended.stderr}")
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["results"]
    mode.times_us.append(statistics.median(row["time_us"] for row in rows))
    said = re.findall(r"of (\d+) operations launched by schedule, (\d+) messages", ended.stderr)
    mode.messages += [1000 * int(messages) / int(operations) for operations, messages in said]


def loop(arguments, name, operations, ranks, ordering, slots):
    """What rank 0 printed, and how many terms each rank has begun."""
    environment = dict(os.environ, PHALANX_ORDERING=ordering, PHALANX_DEVICE_SLOTS=str(slots),
                       PHALANX_LOG="info", PHALANX_TRANSPORT="shm")
    folder = os.path.join(arguments.build, "bin")
    ended = subprocess.run(
        [os.path.join(folder, "phalanx"), "run", "-n", str(ranks), "--no-label", "--",
         os.path.join(os.path.abspath(folder), "ordering_loops"), name, str(operations)],
        env=environment, capture_output=True, text=True, timeout=300, check=False)
    if ended.returncode != 0:
        sys.exit(f"cost.py: ordering_loops {name} failed:\n{ended.stderr}")
    printed = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    terms = [int(number) for number in re.findall(r"(\d+) schedules and fences", ended.stderr)]
    return printed, terms


def compare(arguments, ranks):
    print("baselines, without ordering:  µs an operation")
    for name, operations in (("plain", 20_000), ("checked", 2_000), ("negotiated", 300)):
        times = [loop(arguments, name, operations, ranks, "off", 0)[0][0]["time_us"]
                 for _ in range(arguments.repetitions)]
        print(f"{name:10} {statistics.median(times):8.1f}")
    _, terms = loop(arguments, "pauses", 250, ranks, "adaptive", SLOTS)
    # A schedule is one term, a fence one more.
    print(f"pauses of 1 to 20 ms on rank 0: {max(terms) - 1} fences")
    fences, _ = loop(arguments, "turned", 3, ranks, "adaptive", SLOTS)
    print("a changed order, until certified again: "
          + ", ".join(f"{row['fence_us'] / 1000:.2f}" for row in fences)
          + " ms (the first, second and third change)")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="where bin/phalanx lies")
    parser.add_argument("--ranks", default="1,2", help="numbers of ranks (%(default)s)")
    parser.add_argument("--size", type=int, default=8, help="bytes (%(default)s)")
    parser.add_argument("--repetitions", type=int, default=5, help="%(default)s")
    arguments = parser.parse_args()
    program = os.path.join(arguments.build, "bin", "phalanx")
    if not os.access(program, os.X_OK):
        parser.error(f"{program} isn't built")
    for ranks in (int(text) for text in arguments.ranks.split(",")):
        measured = modes()
        for _ in range(arguments.repetitions):
            for mode in measured:
                measure(program, mode, ranks, arguments.size)
        bare = statistics.median(measured[0].times_us)
        print(f"\nall-reduce of {arguments.size} B, {ranks} rank{'s' if ranks > 1 else ''}, "
              f"{SLOTS} slots, medians of {arguments.repetitions}")
        print("mode            µs   added ns   messages a rank for 1,000 operations")
        for mode in measured:
            time_us = statistics.median(mode.times_us)
            messages = f"{statistics.median(mode.messages):.2f}" if mode.messages else "-"
            print(f"{mode.name:10} {time_us:8.3f} {1000 * (time_us - bare):10.0f}   {messages}")
        if ranks > 1:
            compare(arguments, ranks)


if __name__ == "__main__":
    main()
