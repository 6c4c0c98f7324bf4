#!/usr/bin/env python3
"""How long a job stands still when a process of it is lost, and what saving costs it.

Ranks with a state each all-reduce in a loop and save twice a second. Again and again a process is
lost: a rank is killed, stopped (SIGSTOP), or the coordinator is killed. "resumed" is the time from the
signal to the end of the first all-reduce of the next view on the last rank: detection, new view, and all
states copied back from the committed checkpoint. Of that, "known" is the time until the coordinator knew of
the loss, "back" until all ranks had come back from the old view, "restored" until all had their states again;
medians. Beside it stands the floor of the copying alone: what it takes all ranks at once to copy a state into
touched memory, measured by the same processes. "saving" is how long Checkpoint() blocks its caller, against
that same copy; calls that only hear that the version before is still on its way, so that this one is skipped,
are counted apart. "lag" is the time from there (on the last rank) until the version was committed, and
"in the background" the processor time that the agent and the coordinator take for it. Last, steps of one rank
that save each time beside steps that don't, in the same run: with the copy waited for, and with it taken while the
next step computes, for which a core is idle if there are two.
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
STEP_MS = 200


class Job:
    """A running job; its lines come in by a thread, since two streams are read."""

    def __init__(self, arguments, spares):
        self.folder = tempfile.TemporaryDirectory(prefix="phalanx.")
        self.done = os.path.join(self.folder.name, "done")
        programs = os.path.join(os.path.abspath(arguments.build), "bin")
        self.process = subprocess.Popen(
            [os.path.join(programs, "phalanx"), "run", "-n", str(arguments.ranks), "--spares",
             str(spares), "--events", os.path.join(self.folder.name, "events"), "--", os.path.join(programs, "recovery_loop"),
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
        self.saved_at = {}  # by step: when the last rank had its copy

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
            self.saved_at[int(words[3])] = max(self.saved_at.get(int(words[3]), 0), int(words[5]))
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

    def background_s(self):
        """Processor time so far of the agent, which is the launcher's process here, and coordinator."""
        total = 0
        for pid in (self.process.pid, self.coordinator()):
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def end(self):
        """Returns what `phalanx run --events` has noted."""
        with open(self.done, "w", encoding="ascii"):
            pass
        if (code := self.process.wait(timeout=DEADLINE_S)) != 0:
            self.fail(f"the job failed with code {code}")
        with open(os.path.join(self.folder.name, "events"), encoding="ascii") as file:
            events = [json.loads(line) for line in file]
        self.folder.cleanup()
        return events


class Figures:
    """Of all jobs; times in ms but where the name says otherwise."""

    def __init__(self):
        self.phases = {}  # by fault: a list of each phase, and of the whole
        self.savings_us, self.copies_us, self.lags = [], [], []
        self.background_ms_per_gib = 0.0
        self.windows_us = {}  # by the way of saving

    def add_job(self, job, events):
        self.savings_us += job.savings
        self.copies_us += job.copies
        self.lags += [event["at_ns"] / 1e6 - job.saved_at[event["version"]] / 1e6
                      for event in events
                      if event["event"] == "committed" and event["version"] in job.saved_at]


def lose_somebody(job, fault, places):
    """When it happened, in ns."""
    if fault == "coordinator":
        victim = job.coordinator()
        time.sleep(COORDINATOR_PAUSE_S)
    else:
        victim = job.pids[random.choice(places)]
    start = time.monotonic_ns()
    os.kill(victim, signal.SIGSTOP if fault == "stop" else signal.SIGKILL)
    return start


def measure(arguments, fault, figures):
    """One job for a handful of losses."""
    phases = figures.phases.setdefault(fault, {"known": [], "back": [], "restored": [], "all": []})
    while len(phases["all"]) < arguments.times:
        losses = min(arguments.losses, arguments.times - len(phases["all"]))
        spares = 0 if fault == "coordinator" else losses
        job = Job(arguments, spares)
        places = [str(rank) for rank in range(arguments.ranks)]
        job.wait(lambda: len(job.pids) == arguments.ranks + spares)
        starts = {}
        for epoch in range(2, losses + 2):
            saved = len(job.savings)
            job.wait(lambda: len(job.savings) >= saved + 2 * arguments.ranks)
            starts[epoch] = lose_somebody(job, fault, places)
            job.wait(lambda: len(job.resumed.get(epoch, {})) == arguments.ranks)
            phases["all"].append((max(job.resumed[epoch].values()) - starts[epoch]) / 1e6)
            places = list(job.resumed[epoch])
        events = job.end()
        figures.add_job(job, events)
        for event in events:
            if event["event"] == "recovered":
                known_ns = event["at_ns"] - event["total_us"] * 1000
                phases["known"].append((known_ns - starts[event["epoch"]]) / 1e6)
                phases["back"].append(event["returned_us"] / 1e3)
                phases["restored"].append(event["restored_us"] / 1e3)


def measure_background(arguments, figures):
    job = Job(arguments, 0)
    job.wait(lambda: len(job.savings) >= 2 * arguments.ranks)
    before, saved_before = job.background_s(), len(job.savings)
    job.wait(lambda: len(job.savings) >= saved_before + 20 * arguments.ranks)
    taken_s = job.background_s() - before
    events = job.end()
    figures.add_job(job, events)
    commits = sum(event["event"] == "committed" for event in events) - 2
    gib = commits * arguments.ranks * arguments.mib / 1024
    figures.background_ms_per_gib = taken_s * 1000 / gib


def measure_steps(arguments, figures):
    """Steps of one rank, so that a core is idle where there are two."""
    programs = os.path.join(os.path.abspath(arguments.build), "bin")
    run = subprocess.run([os.path.join(programs, "phalanx"), "run", "-n", "1", "--",
                          os.path.join(programs, "saving_steps"), str(arguments.mib << 20), str(STEP_MS),
                          str(arguments.windows)],
                         capture_output=True, text=True, timeout=600, check=False)
    if run.returncode != 0:
        sys.exit(f"cost.py: the job of steps failed:\n{run.stderr}")
    for line in run.stdout.splitlines():
        _, found, said = line.partition("window_us ")
        if found:
            way, duration = said.split()
            figures.windows_us.setdefault(way, []).append(int(duration))


def quantile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def tell_of_saving(figures):
    copy_us = statistics.median(figures.copies_us)
    taken = [saving for saving in figures.savings_us if saving > copy_us / 10]
    saving_us = statistics.median(taken)
    print(f"a copy of all states: {copy_us / 1000:.1f} ms (median of {len(figures.copies_us)}); saving "
          f"blocks for {saving_us / 1000:.1f} ms (median of {len(taken)}): {saving_us / copy_us:.2f} "
          f"times that; {len(figures.savings_us) - len(taken)} skipped")
    print(f"lag until the commit: p50 {statistics.median(figures.lags):.1f} ms, p99 "
          f"{quantile(figures.lags, 0.99):.1f} ms ({len(figures.lags)} versions); in the background "
          f"{figures.background_ms_per_gib:.0f} ms of a core for each GiB")


def tell_of_steps(figures):
    """Windows of a round were run one after the other, so they are compared in pairs."""
    for way in ("blocking", "overlapped"):
        growths = [window / alone - 1 for window, alone
                   in zip(figures.windows_us[way], figures.windows_us["none"], strict=True)]
        print(f"a step of {STEP_MS} ms that saves, {way}: {100 * statistics.median(growths):+.2f} % (median of "
              f"{len(growths)} windows)")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="where bin/phalanx lies")
    parser.add_argument("--ranks", type=int, default=8, help="%(default)s")
    parser.add_argument("--mib", type=int, default=64, help="of state a rank (%(default)s)")
    parser.add_argument("--times", type=int, default=50, help="a fault (%(default)s)")
    parser.add_argument("--losses", type=int, default=5, help="in one job (%(default)s)")
    parser.add_argument("--faults", default="kill,stop,coordinator", help="%(default)s")
    parser.add_argument("--windows", type=int, default=20, help="of ten steps, of each way (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--json", help="write the figures there")
    arguments = parser.parse_args()
    if not os.access(os.path.join(arguments.build, "bin", "recovery_loop"), os.X_OK):
        parser.error(f"{arguments.build} isn't built")
    random.seed(arguments.seed)
    print(f"{arguments.ranks} ranks with {arguments.mib} MiB each on {os.cpu_count()} processors, "
          f"seed {arguments.seed}")
    figures = Figures()
    print("resumed, ms        n      p50      p99      max    of which known     back restored")
    for fault in arguments.faults.split(","):
        measure(arguments, fault, figures)
        phases = figures.phases[fault]
        print(f"{fault:14} {len(phases['all']):5} {statistics.median(phases['all']):8.1f} "
              f"{quantile(phases['all'], 0.99):8.1f} {max(phases['all']):8.1f} "
              f"{statistics.median(phases['known']):17.1f} {statistics.median(phases['back']):8.1f} "
              f"{statistics.median(phases['restored']):8.1f}", flush=True)
    measure_background(arguments, figures)
    tell_of_saving(figures)
    measure_steps(arguments, figures)
    tell_of_steps(figures)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"ranks": arguments.ranks, "mib": arguments.mib, "cores": os.cpu_count(),
                       "seed": arguments.seed, "resumed_ms": figures.phases,
                       "copy_us": figures.copies_us, "saving_us": figures.savings_us,
                       "lag_ms": figures.lags,
                       "background_ms_per_gib": figures.background_ms_per_gib,
                       "window_us": figures.windows_us}, file)
            file.write("\n")


if __name__ == "__main__":
    main()
