#!/usr/bin/env python3
"""How long a job stands still when a process of it is lost, and what saving costs it.

Ranks with a state each all-reduce in a loop and save twice a second. Again and again a process is
lost: a rank is killed, stopped (SIGSTOP), or the coordinator is killed. "resumed" is the time from the
signal to the end of the first all-reduce of the next view on the last rank: detection, new view, and all
states copied back from the committed checkpoint. Beside it stands the floor of the copying alone: what it
takes all ranks at once to copy a state into touched memory, measured by the same processes. "saving" is
how long Checkpoint() blocks its caller, against that same copy; calls that only hear that the version
before is still on its way, so that this one is skipped, are counted apart.
"""

import argparse
import json
import os
import queue
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

DEADLINE_S = 60
# The launcher starts a coordinator five times in ten seconds at most.
COORDINATOR_PAUSE_S = 2.5


class Job:
    """A running job; its lines come in by a thread, since two streams are read."""

    def __init__(self, arguments, spares):
        self.folder = tempfile.TemporaryDirectory(prefix="phalanx.")
        self.done = os.path.join(self.folder.name, "done")
        programs = os.path.join(os.path.abspath(arguments.build), "bin")
        self.process = subprocess.Popen(
            [os.path.join(programs, "phalanx"), "run", "-n", str(arguments.ranks), "--spares",
             str(spares), "--", os.path.join(programs, "recovery_loop"),
             str(arguments.mib << 20), self.done],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.errors = []
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines.put),
                         daemon=True).start()
        threading.Thread(target=self.read, args=(self.process.stderr, self.errors.append),
                         daemon=True).start()
        self.pids = {}
        self.copies, self.savings, self.resumed = [], [], {}

    @staticmethod
    def read(stream, take):
        for line in stream:
            take(line)

    def take(self, line):
        label, _, said = line.partition("] ")
        words = said.split()
        if said.startswith("pid "):
            self.pids[label[1:]] = int(words[1])
        elif said.startswith("copy_us "):
            self.copies.append(int(words[1]))
        elif said.startswith("saving_us "):
            self.savings.append(int(words[1]))
        elif said.startswith("resumed epoch "):
            self.resumed.setdefault(int(words[2]), {})[label[1:]] = int(words[4])

    def wait(self, ready):
        end = time.monotonic() + DEADLINE_S
        while not ready():
            try:
                self.take(self.lines.get(timeout=max(0.0, end - time.monotonic())))
            except queue.Empty:
                self.fail("what was waited for didn't come")

    def fail(self, why):
        self.process.kill()
        sys.exit(f"cost.py: {why}:\n{''.join(self.errors[-20:])}")

    def coordinator(self):
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children, encoding="ascii") as file:
            for pid in file.read().split():
                with open(f"/proc/{pid}/cmdline", "rb") as command:
                    if b"coordinator" in command.read().split(b"\0"):
                        return int(pid)
        return self.fail("the job has no coordinator")

    def end(self):
        with open(self.done, "w", encoding="ascii"):
            pass
        if (code := self.process.wait(timeout=DEADLINE_S)) != 0:
            self.fail(f"the job failed with code {code}")
        self.folder.cleanup()


def measure(arguments, fault, times):
    """Times of resuming in ms; all savings and copies in µs. One job for a handful of losses."""
    resumed, savings, copies = [], [], []
    while len(resumed) < times:
        losses = min(arguments.losses, times - len(resumed))
        job = Job(arguments, 0 if fault == "coordinator" else losses)
        places = [str(rank) for rank in range(arguments.ranks)]
        job.wait(lambda: len(job.pids) == arguments.ranks
                 + (0 if fault == "coordinator" else losses))
        for loss in range(losses):
            saved = len(job.savings)
            job.wait(lambda: len(job.savings) >= saved + 2 * arguments.ranks)
            if fault == "coordinator":
                victim, victim_signal = job.coordinator(), signal.SIGKILL
                time.sleep(COORDINATOR_PAUSE_S)
            else:
                place = random.choice(places)
                victim = job.pids[place]
                victim_signal = signal.SIGKILL if fault == "kill" else signal.SIGSTOP
            epoch = loss + 2
            start = time.monotonic_ns()
            os.kill(victim, victim_signal)
            job.wait(lambda: len(job.resumed.get(epoch, {})) == arguments.ranks)
            resumed.append((max(job.resumed[epoch].values()) - start) / 1e6)
            places = list(job.resumed[epoch])
        job.end()
        savings += job.savings
        copies += job.copies
    return resumed, savings, copies


def quantile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="where bin/phalanx lies")
    parser.add_argument("--ranks", type=int, default=8, help="%(default)s")
    parser.add_argument("--mib", type=int, default=64, help="of state a rank (%(default)s)")
    parser.add_argument("--times", type=int, default=50, help="a fault (%(default)s)")
    parser.add_argument("--losses", type=int, default=5, help="in one job (%(default)s)")
    parser.add_argument("--faults", default="kill,stop,coordinator", help="%(default)s")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--json", help="write the figures there")
    arguments = parser.parse_args()
    if not os.access(os.path.join(arguments.build, "bin", "recovery_loop"), os.X_OK):
        parser.error(f"{arguments.build} isn't built")
    random.seed(arguments.seed)
    print(f"{arguments.ranks} ranks with {arguments.mib} MiB each on {os.cpu_count()} processors, "
          f"seed {arguments.seed}")
    results, savings, copies = {}, [], []
    print("resumed, ms        n      p50      p99      max")
    for fault in arguments.faults.split(","):
        times, saved, copied = measure(arguments, fault, arguments.times)
        results[fault] = times
        savings += saved
        copies += copied
        print(f"{fault:14} {len(times):5} {statistics.median(times):8.1f} "
              f"{quantile(times, 0.99):8.1f} {max(times):8.1f}", flush=True)
    copy_us = statistics.median(copies)
    taken = [saving for saving in savings if saving > copy_us / 10]
    saving_us = statistics.median(taken)
    print(f"a copy of all states: {copy_us / 1000:.1f} ms (median of {len(copies)}); saving blocks for "
          f"{saving_us / 1000:.1f} ms (median of {len(taken)}): {saving_us / copy_us:.2f} times that; "
          f"{len(savings) - len(taken)} skipped")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"ranks": arguments.ranks, "mib": arguments.mib, "cores": os.cpu_count(),
                       "seed": arguments.seed, "resumed_ms": results, "copy_us": copies,
                       "saving_us": savings}, file)
            file.write("\n")


if __name__ == "__main__":
    main()
