"""What is checked: programs with limits for the protocol, and for each broken variant what breaks it."""

import dataclasses
import itertools
import random
from dataclasses import dataclass

import programs
from programs import Limits

ONE_NODE_EACH, FIRST_TWO_TOGETHER = (0, 1, 2), (0, 0, 1)


@dataclass(frozen=True)
class Case:
    program: programs.Program
    limits: Limits
    nodes: tuple = ONE_NODE_EACH


def case(line, nodes=ONE_NODE_EACH, **limits):
    return Case(programs.parse(line), Limits(**limits), nodes)


RUN_AHEAD = "r0 A/s0; B/s0; C/s1; D/s1 · r1 C/s1; D/s1; A/s0; B/s0"
LOCAL = "r0 L/s0; G/s1 · r1 L/s0; G/s1 · r2 G"
GROUP = "r0 G{X;Y}/s0; Z/s1 · r1 X; Z; Y"
CROSSED = "r0 A/s0; B/s1 · r1 B/s0; A/s1"

# Programs that broke an earlier draft of the protocol.
HISTORIC = [
    "r0 A/s0; G/s1 · r1 G/s0; A/s0",
    "r0 A · r1 B; hsB; A · r2 B",
    "r0 B · r1 B/s0; A/s0 · r2 A",
    "r0 C/s0; A/s0 · r1 A/s1; C/s2",
    GROUP,
    "r0 A/s0; B/s1 · r1 B/s1; hsB; A/s0",
]

# What else a rule was made for.
OTHERS = [
    CROSSED,
    "r0 G{P;Q} · r1 G{Q;P}",                          # adjacent send and receive, both ways round
    "r0 A/s0; B/s1 · r1 B/s0; A/s1 · unscheduled A",  # the program has changed since it was learned
    "r0 B/s0; C/s1 · r1 C/s0; B/s1 · absent r0 A · absent r1 A",  # an entry that nobody issues any more
]

# Ops that a member completes before the others have come: a send, a broadcast's root, a reduction's leaf.
EARLY = [
    "r0 M · r1 M; hsM; A · r2 A · alone r0 M",
    "r0 M/s0; A/s1 · r1 M/s1; hsM; A/s0 · alone r0 M",
    "r0 A/s0; M/s1 · r1 M/s1; A/s0 · alone r0 M",
    "r0 M; N; A/s1 · r1 A; M/s1; N/s1 · alone r0 M · alone r0 N",
    "r0 B; A/s1 · r1 B/s0; A/s1 · r2 A/s0; hsA; B/s1 · root r0 B",
    "r0 R; A/s1 · r1 A; R · r2 R/s0; A/s1 · alone r1 R · alone r2 R",
    "r0 A; M/s1 · r1 M; hsM; A · alone r0 M · unscheduled A",
]
# No schedule completes it under rendezvous; buffering may.
THANKS_TO_BUFFERS = "r0 M; N · r1 N; M · alone r0 M · alone r1 N"

# Not completable: they end by an abort that all ranks agree on.
HOPELESS = [
    "r0 A; hsA; B · r1 B; hsB; A",
    "r0 A/s0; B/s0 · r1 B/s0; A/s0",
    "r0 A; B · r1 A · absent r1 B",
    "r0 A; hsA; B · r1 B; hsB; A; C · r2 C",
    "r0 A; X · r1 X; hsX; Y · r2 Y; hsY; A",
]

RINGS = [
    "r0 A/s0; B/s1 · r1 B/s0; C/s1 · r2 C/s0; A/s1",
    "r0 B/s0; A/s1 · r1 C/s0; B/s1 · r2 A/s0; C/s1",
]


def quick():
    """In a test: everything small, a fence and a crash at every moment."""
    for line in HISTORIC + OTHERS + HOPELESS:
        yield case(line, slots=1, crashes=1)
        yield case(line, slots=2, crashes=1)
        yield case(line, slots=3, fences=1)
    for line in HISTORIC[:4] + [CROSSED]:
        yield case(line, slots=2, crashes=1, lessons=1)
        yield case(line, slots=2, lessons=1, hesitate=1)
    for line in RINGS:
        yield case(line, slots=1, crashes=1)
        yield case(line, slots=2, fences=1)
    yield case(LOCAL, FIRST_TWO_TOGETHER, slots=1, crashes=1)
    yield case(LOCAL, FIRST_TWO_TOGETHER, slots=2, crashes=1)
    yield case(RUN_AHEAD, slots=2, run_ahead=2)
    yield case(RUN_AHEAD, slots=1, run_ahead=2, crashes=1)
    for line in EARLY + [THANKS_TO_BUFFERS]:
        yield case(line, slots=1, crashes=1)
        yield case(line, slots=2, crashes=1)
        yield case(line, slots=3, fences=1)


def thorough():
    """By hand: the same programs with every fault at once."""
    two_ranks = [line for line in EARLY if "r2" not in line]
    for line in HISTORIC + OTHERS + HOPELESS + two_ranks + [THANKS_TO_BUFFERS]:
        for slots in (1, 2, 3):
            yield case(line, slots=slots, crashes=2, lessons=1, hesitate=1)
    for line in RINGS + [LOCAL] + [line for line in EARLY if "r2" in line]:
        for slots in (1, 2, 3):
            yield case(line, slots=slots, crashes=1)
        yield case(line, slots=2, lessons=1)
    for slots in (1, 2, 3):
        yield case(LOCAL, FIRST_TWO_TOGETHER, slots=slots, crashes=2, lessons=1)
        yield case(RUN_AHEAD, slots=slots, run_ahead=2)


def exhaustive(limits, completable=True):
    """All programs of two ranks that issue three ops each, those that can complete or the others."""
    for program in programs.two_ranks(3, completable):
        yield Case(program, limits)


def sampled(shape, number, limits, nodes=ONE_NODE_EACH):
    """Random completable programs of a shape (ranks, ops), the same ones each time."""
    for program in programs.random_programs(*shape, number, seed=1):
        yield Case(program, limits, nodes)


def buffered(cases):
    """The same cases, each with some ops that members complete early, the same ones each time."""
    rng = random.Random(1)
    for each in cases:
        yield dataclasses.replace(each, program=programs.buffered(each.program, rng))


def quick_families():
    limits = Limits(slots=2)
    yield f"each 100th of 2 ranks x 3 ops, {limits}", itertools.islice(exhaustive(limits), 0, None, 100)
    yield (f"each 100th of 2 ranks x 3 ops, buffered, {limits}",
           buffered(itertools.islice(exhaustive(limits), 50, None, 100)))
    for limits in (Limits(slots=1, crashes=1), Limits(slots=2)):
        yield f"random, 3 ranks x 3 ops, {limits}", sampled((3, 3), 40, limits)
        yield f"random, 3 ranks x 3 ops, buffered, {limits}", buffered(sampled((3, 3), 40, limits))
        yield (f"random, 3 ranks x 3 ops, r0 and r1 on one node, {limits}",
               sampled((3, 3), 20, limits, FIRST_TWO_TOGETHER))


def families():
    for limits in (Limits(slots=1, crashes=1), Limits(slots=2), Limits(slots=3),
                   Limits(slots=2, crashes=1), Limits(slots=2, adaptive=0, crashes=1),
                   Limits(slots=2, lessons=1), Limits(slots=2, fences=0, hesitate=1)):
        yield f"all of 2 ranks x 3 ops, {limits}", exhaustive(limits)
    for limits in (Limits(slots=1, crashes=1), Limits(slots=2), Limits(slots=3),
                   Limits(slots=2, crashes=1), Limits(slots=2, lessons=1)):
        yield f"all of 2 ranks x 3 ops, buffered, {limits}", buffered(exhaustive(limits))
    for limits in (Limits(slots=1, crashes=1), Limits(slots=2)):
        yield f"all of 2 ranks x 3 ops that can't complete, {limits}", exhaustive(limits, False)
    for limits in (Limits(slots=1, crashes=1), Limits(slots=2), Limits(slots=3),
                   Limits(slots=2, fences=0, crashes=1)):
        yield f"random, 2 ranks x 4 ops, {limits}", sampled((2, 4), 300, limits)
        yield f"random, 3 ranks x 3 ops, {limits}", sampled((3, 3), 300, limits)
        yield f"random, 3 ranks x 3 ops, buffered, {limits}", buffered(sampled((3, 3), 300, limits))
        yield (f"random, 3 ranks x 3 ops, r0 and r1 on one node, {limits}",
               sampled((3, 3), 300, limits, FIRST_TWO_TOGETHER))


# Name of the switch -> cases of which each must break it.
BROKEN = {
    "NO_RESERVED_SLOT": [case("r0 A/s0; B/s1; C/s2 · r1 C/s0; hsC; B/s0; A/s0", fences=0)],
    "OWED_IN_SCHEDULE_ORDER": [case(line) for line in HISTORIC[:3]],
    "GROUP_AS_UNIT": [case(GROUP, slots=1)],
    "TWO_SOURCES": [case(LOCAL, FIRST_TWO_TOGETHER, slots=1)],
    "HIGH_WATER_MARK": [case(CROSSED, crashes=1)],
    "HARD_RUN_AHEAD": [case(RUN_AHEAD, run_ahead=2)],
    "QUESTION_IS_NO_FENCE": [case(CROSSED, slots=1, crashes=1)],
    "NEW_BEFORE_OLD": [case(CROSSED, slots=1, crashes=1)],
    "FENCE_ON_MISSING_HEAD": [case(HISTORIC[3], fences=0)],
    "ABORT_IN_PIECES": [case(HOPELESS[-1])],
    "COMPLETE_IS_ABSENT": [case(EARLY[0], fences=0), case("r0 M · r1 M · alone r0 M", slots=1, crashes=1)],
    "COMPLETE_HIDES_FROM_FENCE": [case(EARLY[0], fences=0)],
    "END_IS_WRONG": [case(HISTORIC[0])],
}
