"""From samples to ratios: medians, the best peer, spreads, and what a transport's links allow."""

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """How many times faster, with the quartiles of the paired repetitions as its spread."""

    median: float
    low: float
    high: float

    @property
    def verdict(self):
        if self.low > 1:
            return "ahead"
        return "behind" if self.high < 1 else "even"


@dataclass(frozen=True)
class Row:
    """One size with one number of ranks: a column of Phalanx beside the best peer."""

    ranks: int
    bytes: int
    column: str
    microseconds: float
    peer: str
    peer_microseconds: float
    ratio: Ratio
    # For sockets: the bound from point-to-point times over our own; how much of it was reached.
    share_of_bound: float | None


def by_series(samples):
    """{(name, ranks, bytes): times, one a repetition}."""
    series = defaultdict(list)
    for sample in samples:
        series[(sample.name, sample.ranks, sample.bytes)].append(sample.microseconds)
    return series


def ratio(theirs, ours):
    """Their times over ours. Interleaved repetitions are paired: what slowed one slowed the other."""
    pairs = [their / our for their, our in zip(theirs, ours)]
    low, _, high = statistics.quantiles(pairs, n=4) if len(pairs) > 1 else (pairs * 3)
    return Ratio(statistics.median(theirs) / statistics.median(ours), low, high)


def best(series, names, ranks, size):
    """The name with the least median at this size, or None."""
    medians = {name: statistics.median(series[(name, ranks, size)])
               for name in names if series.get((name, ranks, size))}
    return min(medians, key=medians.get) if medians else None


def interpolate(points, size):
    """The time of a message of `size` bytes, between measured ones {bytes: time}."""
    sizes = sorted(points)
    if size <= sizes[0]:
        return points[sizes[0]]
    for small, large in zip(sizes, sizes[1:]):
        if size <= large:
            part = (size - small) / (large - small)
            return points[small] + part * (points[large] - points[small])
    return points[sizes[-1]] * size / sizes[-1]


def bound(points, ranks, size):
    """The least time that ring or recursive halving-doubling needs for an all-reduce of `size` bytes,
    from the times of exchanges between two ranks, {bytes: time}."""
    ring = 2 * (ranks - 1) * interpolate(points, size / ranks)
    if ranks & (ranks - 1):
        return ring
    halving = sum(2 * interpolate(points, size / 2**step)
                  for step in range(1, int(math.log2(ranks)) + 1))
    # Doubling the whole vector is what halving-doubling degenerates to where latency is all.
    doubling = int(math.log2(ranks)) * interpolate(points, size)
    return min(ring, halving, doubling)


def rows(samples, peers, socket_peers, columns):
    """One row for each (column, ranks, bytes) that was measured.

    `columns`: the names of Phalanx's own series. Those over shared memory compete with all peers,
    those over sockets with the peers that use sockets too.
    """
    series = by_series(samples)
    found = []
    for column, ranks, size in sorted(series, key=lambda key: (key[0], key[1], key[2])):
        if column not in columns:
            continue
        over_sockets = not column.startswith("phalanx shm")
        peer = best(series, socket_peers if over_sockets else peers, ranks, size)
        if peer is None:
            continue
        ours, theirs = series[(column, ranks, size)], series[(peer, ranks, size)]
        found.append(Row(ranks, size, column, statistics.median(ours), peer,
                         statistics.median(theirs), ratio(theirs, ours),
                         _share_of_bound(series, column, ranks, size)))
    return found


def _share_of_bound(series, column, ranks, size):
    transport = column.split()[1]
    points = {key[2]: statistics.median(times) for key, times in series.items()
              if key[0] == f"phalanx {transport} send_receive" and key[1] == ranks}
    if not points:
        return None
    return bound(points, ranks, size) / statistics.median(series[(column, ranks, size)])
