#!/usr/bin/env python3
"""Measures Phalanx beside Open MPI, MPICH and Gloo: all-reduce of float32, sum, in place, on one node.

Libraries take turns, repetition by repetition, so that what the machine does meanwhile meets all of
them. Prints the ratio to the best peer for every size and number of ranks, with its spread.
"""

import argparse
import dataclasses
import json
import os
import platform
import statistics
import sys
import time

import peers
import summary

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def size_in_bytes(text):
    unit = UNITS.get(text[-1:].upper(), 1)
    return int(text[:-1] if unit > 1 else text) * unit


def show_size(size):
    for unit, factor in reversed(UNITS.items()):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}iB"
    return f"{size} B"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repetitions: 2 minutes")
    parser.add_argument("--build", default="build/release", help="where bin/phalanx lies")
    parser.add_argument("--ranks", help="numbers of ranks (2,4,8; quick: 2,4)")
    parser.add_argument("--transports", default="shm,ucx,ofi", help="Phalanx's (shm,ucx,ofi)")
    parser.add_argument("--min", type=size_in_bytes, help="least size (8; quick: 1K)")
    parser.add_argument("--max", type=size_in_bytes, help="largest size (64M; quick: 16M)")
    parser.add_argument("--factor", type=int, help="from one size to the next (2; quick: 4)")
    parser.add_argument("--repetitions", type=int, help="launches of each library (10; quick: 3)")
    parser.add_argument("--time-limit", type=int, metavar="SECONDS",
                        help="start no repetition after this long (3600; quick: 90)")
    parser.add_argument("--json", default="build/peers/compare.json", help="file for the results")
    parser.set_defaults(loop_ms=20)
    options = parser.parse_args()
    full = {"ranks": "2,4,8", "min": 8, "max": 64 * 2**20, "factor": 2, "repetitions": 10,
            "time_limit": 3600}
    quick = {"ranks": "2,4", "min": 1024, "max": 16 * 2**20, "factor": 4, "repetitions": 3,
             "time_limit": 90, "loop_ms": 10}
    for name, value in (quick if options.quick else full).items():
        if name == "loop_ms" or getattr(options, name) is None:
            setattr(options, name, value)
    options.ranks = [int(number) for number in options.ranks.split(",")]
    if options.factor < 2 or options.min < 4 or options.max < options.min or options.repetitions < 1:
        parser.error("sizes begin at 4 bytes and grow by a factor of 2 or more")
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def prepare(everything, folder):
    """Those that can run on this machine; says of the others why not."""
    os.makedirs(folder, exist_ok=True)
    ready = []
    for launcher in everything:
        try:
            launcher.prepare(folder)
            ready.append(launcher)
        except peers.LaunchFailed as failure:
            say(f"{launcher.name} is left out: {failure}")
    return ready


class Round:
    """Runs launchers in turn and collects what they measured."""

    SPINNING_REPETITIONS = 3
    LAUNCH_LIMIT_S = 120

    def __init__(self, launchers, sweep):
        self.launchers = launchers
        self.sweep = sweep
        self.samples = []
        self.left_out = set()  # (launcher's name, ranks) that failed

    def repeat(self, ranks, repetition):
        # A different one goes first every time.
        turn = repetition % len(self.launchers)
        for launcher in self.launchers[turn:] + self.launchers[:turn]:
            too_slow = (launcher.spins and ranks > peers.CORES
                        and repetition >= self.SPINNING_REPETITIONS)
            if (launcher.name, ranks) not in self.left_out and not too_slow:
                self._launch(launcher, ranks)

    def _launch(self, launcher, ranks):
        try:
            self.samples += launcher.launch(ranks, self.sweep, self.LAUNCH_LIMIT_S)
        except peers.LaunchFailed as failure:
            say(f"{launcher.name} with {ranks} ranks is left out from here on: {failure}")
            self.left_out.add((launcher.name, ranks))


def measure(launchers, options):
    sweep = peers.Sweep(options.min, options.max, options.factor, options.loop_ms)
    round_ = Round(launchers, sweep)
    start = time.monotonic()
    for repetition in range(options.repetitions):
        for ranks in options.ranks:
            round_.repeat(ranks, repetition)
        elapsed = time.monotonic() - start
        say(f"repetition {repetition + 1} of {options.repetitions} done after {elapsed:.0f} s")
        if elapsed > options.time_limit:
            say("the time limit is reached")
            break
    return round_.samples


def show_ratio(ratio):
    return f"{ratio.median:6.2f} ({ratio.low:.2f}–{ratio.high:.2f}) {ratio.verdict}"


def print_rows(rows):
    """A table for each series of Phalanx's and number of ranks."""
    heading = None
    for row in rows:
        if (row.column, row.ranks) != heading:
            heading = (row.column, row.ranks)
            print(f"\n{row.column}, {row.ranks} ranks: µs, and how many times faster than the best peer")
            print(f"{'size':>8} {'phalanx':>10} {'best peer':>10}  {'which':<24} ratio (quartiles)")
        share = "" if row.share_of_bound is None else f"  {row.share_of_bound:.0%} of the bound"
        print(f"{show_size(row.bytes):>8} {row.microseconds:10.2f} {row.peer_microseconds:10.2f}  "
              f"{row.peer:<24} {show_ratio(row.ratio)}{share}")


def print_medians(samples):
    """Everybody's medians, a table for each number of ranks."""
    series = summary.by_series(samples)
    names = sorted({key[0] for key in series})
    for ranks in sorted({key[1] for key in series}):
        sizes = sorted({key[2] for key in series if key[1] == ranks})
        print(f"\nmedians, {ranks} ranks: µs")
        print(f"{'':<28}" + "".join(f"{show_size(size):>11}" for size in sizes))
        for name in names:
            cells = [series.get((name, ranks, size)) for size in sizes]
            if any(cells):
                print(f"{name:<28}" + "".join(
                    f"{statistics.median(times):11.1f}" if times else f"{'-':>11}" for times in cells))


def write_json(path, options, samples, rows):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({
            "machine": {"cores": peers.CORES, "architecture": platform.machine(),
                        "kernel": platform.release()},
            "repetitions": options.repetitions,
            "samples": [dataclasses.asdict(sample) for sample in samples],
            "rows": [dataclasses.asdict(row) for row in rows],
        }, file, indent=1)
    say(f"written to {path}")


def main():
    options = arguments()
    phalanx = os.path.join(options.build, "bin", "phalanx")
    everything = peers.launchers(phalanx, options.transports.split(","), options.quick)
    launchers = prepare(everything, "build/peers")
    busy = os.getloadavg()[0]
    if busy > 0.5:
        say(f"the machine isn't idle (load {busy:.1f}): expect spread")
    samples = measure(launchers, options)
    peer_names = {launcher.name for launcher in launchers if launcher.is_peer}
    socket_names = {launcher.name for launcher in launchers
                    if launcher.is_peer and launcher.over_sockets}
    columns = {sample.name for sample in samples
               if sample.library == "phalanx" and not sample.variant.endswith("send_receive")}
    rows = summary.rows(samples, peer_names, socket_names, columns)
    print_medians(samples)
    print_rows(rows)
    write_json(options.json, options, samples, rows)
    return 0 if samples else 1


if __name__ == "__main__":
    sys.exit(main())
