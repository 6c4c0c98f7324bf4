"""The libraries that are measured: how each is compiled, started and read."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Sweep:
    """Sizes in bytes: min, times factor, up to max."""

    min: int
    max: int
    factor: int
    loop_ms: int

    def sizes(self):
        size = self.min
        while size <= self.max:
            yield size
            size *= self.factor

    def flags(self):
        return ["--min", str(self.min), "--max", str(self.max), "--factor", str(self.factor)]


@dataclass(frozen=True)
class Sample:
    """The mean time of one operation in one launch, on the slowest rank."""

    library: str
    variant: str
    ranks: int
    bytes: int
    microseconds: float
    placement: str

    @property
    def name(self):
        return f"{self.library} {self.variant}".strip()


class LaunchFailed(Exception):
    """A launch that gave no figures; says why."""


def run(command, timeout_s, env=None):
    """The command's standard output. Ends everything that it started when it takes too long."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True,
                          env={**os.environ, **(env or {})}) as process:
        try:
            output, errors = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            raise LaunchFailed(f"took longer than {timeout_s} s") from None
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        last = (errors.strip() or output.strip() or "no output").splitlines()[-1]
        raise LaunchFailed(f"exited with {process.returncode}: {last}")
    return output


def _end(process):
    """Politely first: launchers take their ranks with them when they are asked to end."""
    for what in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, what)
            process.communicate(timeout=5)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _compile(command, output, *sources_and_flags):
    if shutil.which(command) is None:
        raise LaunchFailed(f"{command} isn't installed")
    run([command, "-std=c++20", "-O2", "-o", output, *sources_and_flags], timeout_s=120)


@dataclass
class Launcher:
    """One way to run one library. Subclasses make the samples of one launch."""

    library: str
    variant: str
    over_sockets: bool = False
    is_peer: bool = True
    # A library that spins makes no progress to speak of when ranks outnumber cores.
    spins: bool = False

    @property
    def name(self):
        return f"{self.library} {self.variant}".strip()

    def prepare(self, build):
        """Compiles what it needs into the folder. Raises LaunchFailed when it can't run here."""

    def launch(self, ranks, sweep, timeout_s):
        """Runs all sizes once; the samples."""
        raise NotImplementedError

    def _read_lines(self, output, ranks, placement):
        samples = []
        for line in output.splitlines():
            if not line.startswith("{"):
                continue
            row = json.loads(line)
            if row["wrong"]:
                raise LaunchFailed(f"{row['wrong']} wrong elements at {row['bytes']} bytes")
            samples.append(Sample(self.library, self.variant, ranks, row["bytes"],
                                  row["microseconds"], placement))
        return samples


@dataclass
class Mpi(Launcher):
    """Open MPI or MPICH, by its own launcher."""

    flavour: str = "openmpi"
    flags: list = field(default_factory=list)
    program: str = ""

    def prepare(self, build):
        self.program = os.path.join(build, f"mpi_all_reduce.{self.flavour}")
        _compile(f"mpicxx.{self.flavour}", self.program, os.path.join(HERE, "mpi_all_reduce.cc"),
                 os.path.join(HERE, "measure.cc"))

    def launch(self, ranks, sweep, timeout_s):
        command = [f"mpiexec.{self.flavour}", "-n", str(ranks)]
        env = {}
        placement = "free"
        if self.flavour == "openmpi":
            env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            # Its own default: a core for each rank where there are enough.
            placement = "core" if ranks <= CORES else "free"
            command += (["--bind-to", "core"] if ranks <= CORES else
                        ["--oversubscribe", "--bind-to", "none"])
        output = run([*command, *self.flags, self.program, *sweep.flags(), "--loop-ms",
                      str(sweep.loop_ms)], timeout_s, env)
        return self._read_lines(output, ranks, placement)


@dataclass
class Gloo(Launcher):
    """Gloo over TCP; the variant is the algorithm."""

    program: str = ""

    def prepare(self, build):
        self.program = os.path.join(build, "gloo_all_reduce")
        _compile("g++", self.program, os.path.join(HERE, "gloo_all_reduce.cc"),
                 os.path.join(HERE, "measure.cc"), "-lgloo", "-pthread")

    def launch(self, ranks, sweep, timeout_s):
        with tempfile.TemporaryDirectory(prefix="gloo.") as store:
            output = run([self.program, "--ranks", str(ranks), "--algorithm", self.variant,
                          "--store", store, *sweep.flags(), "--loop-ms", str(sweep.loop_ms)],
                         timeout_s)
        return self._read_lines(output, ranks, "free")


@dataclass
class Phalanx(Launcher):
    """`phalanx bench`. The variant is the transport; samples add the kind of buffer to it."""

    collective: str = "all_reduce"
    program: str = ""

    @property
    def name(self):
        return f"{self.library} {self.variant} {self.collective}"

    def prepare(self, build):
        if not os.access(self.program, os.X_OK):
            raise LaunchFailed(f"{self.program} isn't built")

    def launch(self, ranks, sweep, timeout_s):
        with tempfile.TemporaryDirectory(prefix="phalanx.") as scratch:
            path = os.path.join(scratch, "results.json")
            buffers = "both" if self.collective == "all_reduce" else "allocated"
            run([self.program, "bench", self.collective, "--ranks", str(ranks), *sweep.flags(),
                 "--transport", self.variant, "--buffers", buffers, "--check",
                 "--loop-ms", str(sweep.loop_ms), "--json", path], timeout_s)
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)["results"]
        return self._samples(rows, ranks, set(sweep.sizes()))

    def _samples(self, rows, ranks, sizes):
        samples = []
        for row in rows:
            if row["bytes"] not in sizes or row["type"] != "float32":
                continue
            if self.collective == "all_reduce" and not (row["redop"] == "sum" and row["in_place"]):
                continue
            if row["wrong"]:
                raise LaunchFailed(f"{row['wrong']} wrong elements at {row['bytes']} bytes")
            kind = row["buffer"] if self.collective == "all_reduce" else self.collective
            samples.append(Sample("phalanx", f"{self.variant} {kind}", ranks, row["bytes"],
                                  row["time_us"], "free"))
        return samples


_UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]


def launchers(phalanx, transports, quick):
    """Everything that takes part, in the order in which a repetition runs it."""
    everything = [
        Mpi("openmpi", "ucx_posix", flags=[*_UCX, "-x", "UCX_TLS=posix,self"]),
        Mpi("openmpi", "ucx_posix_cma", flags=[*_UCX, "-x", "UCX_TLS=posix,cma,self"]),
        Mpi("openmpi", "vader_cma", flags=["--mca", "pml", "ob1", "--mca", "btl", "vader,self"]),
        Mpi("mpich", "", flavour="mpich", spins=True),
        Mpi("openmpi", "ucx_tcp", over_sockets=True,
            flags=[*_UCX, "-x", "UCX_TLS=tcp,self", "-x", "UCX_NET_DEVICES=lo"]),
        Gloo("gloo", "ring", over_sockets=True),
        Gloo("gloo", "halving_doubling", over_sockets=True),
    ]
    if not quick:
        everything += [
            Mpi("openmpi", "ob1_tcp", over_sockets=True,
                flags=["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca",
                       "btl_tcp_if_include", "lo"]),
            Gloo("gloo", "ring_chunked", over_sockets=True),
        ]
    for transport in transports:
        over_sockets = transport != "shm"
        for collective in ["all_reduce"] + (["send_receive"] if over_sockets else []):
            everything.append(Phalanx("phalanx", transport, over_sockets, is_peer=False,
                                      collective=collective, program=phalanx))
    return everything
