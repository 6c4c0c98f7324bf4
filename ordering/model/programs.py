"""Programs for the model: their notation, the exact test of what can complete, and whole families.

A program is one line: `r0 A/s0; G/s1 · r1 G/s0; A/s0`. Each rank's host issues its ops from left to
right, each on a stream (s0 if none is named); `hsA` makes it wait until A is complete there; `G{X;Y}/s0`
issues a group. Letters are ops on communicators of their own; an op's members are the ranks that name
it. The certified schedule is alphabetical. `alone r0 M`: r0 completes M without the others (it sends; or
is a reduction's leaf); `root r0 M`: r0 does, and the others need r0 alone.
"""

import itertools
import random
import re
from dataclasses import dataclass, field, replace

# As in program.pml.
RANKS, OPS, STREAMS, NODES, ITEMS = 3, 6, 4, 2, 9
GLOBAL = NODES


@dataclass(frozen=True)
class Item:
    """One step of a host: waits until `waits` are complete, then issues `issues` on `stream`."""
    issues: tuple = ()
    stream: int = 0
    waits: tuple = ()

    def __str__(self):
        waits = [f"hs{op}" for op in self.waits]
        where = f"/s{self.stream}"
        if len(self.issues) > 1:
            return "; ".join(waits + ["G{" + ";".join(self.issues) + "}" + where])
        return "; ".join(waits + [op + where for op in self.issues])


@dataclass(frozen=True)
class Program:
    ranks: tuple                                   # of tuples of Item
    more_members: tuple = ()                       # pairs (op, rank): members that never issue the op
    unscheduled: frozenset = field(default=frozenset())
    alone: tuple = ()                              # pairs (op, rank)
    roots: tuple = ()                              # pairs (op, rank)

    def __str__(self):
        text = " · ".join(f"r{rank} " + "; ".join(str(item) for item in items)
                          for rank, items in enumerate(self.ranks))
        for word, pairs in (("absent", self.more_members), ("alone", self.alone), ("root", self.roots)):
            text += "".join(f" · {word} r{rank} {op}" for op, rank in pairs)
        return text + "".join(f" · unscheduled {op}" for op in sorted(self.unscheduled))

    def ops(self):
        named = {op for items in self.ranks for item in items for op in item.issues}
        return sorted(named | {op for op, _ in self.more_members})

    def members(self, op):
        members = {rank for rank, items in enumerate(self.ranks)
                   if any(op in item.issues for item in items)}
        return members | {rank for named, rank in self.more_members if named == op}

    def needs(self, rank, op):
        """The members that must be resident, or have been, for the rank to complete the op."""
        roots = {root for named, root in self.roots if named == op}
        if (op, rank) in self.alone or rank in roots:
            return {rank}
        return roots | {rank} if roots else self.members(op)


_PART = re.compile(r"G\{(?P<group>[A-Z](?:;[A-Z])*)\}(?:/s(?P<gs>\d))?|hs(?P<wait>[A-Z])"
                   r"|(?P<op>[A-Z])(?:/s(?P<s>\d))?")


def _items(text):
    items, at = [], 0
    text = text.replace(" ", "")
    while at < len(text):
        match = _PART.match(text, at)
        if not match:
            raise ValueError(f"can't read '{text[at:]}'")
        if match["wait"]:
            items.append(Item(waits=(match["wait"],)))
        elif match["group"]:
            items.append(Item(tuple(match["group"].split(";")), int(match["gs"] or 0)))
        else:
            items.append(Item((match["op"],), int(match["s"] or 0)))
        at = match.end()
        if at < len(text):
            if text[at] != ";":
                raise ValueError(f"expected ';' at '{text[at:]}'")
            at += 1
    return tuple(items)


def parse(line):
    ranks, pairs, unscheduled = [], {"absent": [], "alone": [], "root": []}, set()
    for part in re.split(r"\s*[·|]\s*", line.strip()):
        word, _, rest = part.partition(" ")
        if word in pairs:
            rank, op = rest.split()
            pairs[word].append((op, int(rank[1:])))
        elif word == "unscheduled":
            unscheduled.update(rest.split())
        elif word == f"r{len(ranks)}":
            ranks.append(_items(rest))
        else:
            raise ValueError(f"expected r{len(ranks)}, not '{word}'")
    return Program(tuple(ranks), tuple(pairs["absent"]), frozenset(unscheduled), tuple(pairs["alone"]),
                   tuple(pairs["root"]))


def before_on_stream(items):
    """op -> the ops that must end before the rank's stream reaches it."""
    before, on_stream = {}, {}
    for item in items:
        for op in item.issues:
            before[op] = frozenset(on_stream.get(item.stream, ()))
        on_stream.setdefault(item.stream, []).extend(item.issues)
    return before


def completable(program):
    """Whether some schedule completes all of it: with rendezvous and unlimited slots, completing what
    can complete never takes a choice away, so doing it greedily is exact."""
    before = [before_on_stream(items) for items in program.ranks]
    position = [0] * len(program.ranks)
    issued = [set() for _ in program.ranks]
    complete = set()

    def advance(rank):
        items, moved = program.ranks[rank], False
        while position[rank] < len(items) and set(items[position[rank]].waits) <= complete:
            issued[rank].update(items[position[rank]].issues)
            position[rank] += 1
            moved = True
        return moved

    def present(rank, op):
        return rank < len(issued) and op in issued[rank] and before[rank][op] <= complete

    moved = True
    while moved:
        moved = any([advance(rank) for rank in range(len(program.ranks))])
        for op in program.ops():
            if op not in complete and all(present(rank, op) for rank in program.members(op)):
                complete.add(op)
                moved = True
    wanted = set().union(*issued)
    return (all(position[rank] == len(items) for rank, items in enumerate(program.ranks))
            and wanted <= complete)


def _mask(numbers):
    return sum(1 << number for number in set(numbers))


def table(program, limits, nodes=(0, 1, 2)):
    """The numbers that ReadProgram() of program.pml reads, in its order."""
    ops = program.ops()
    index = {op: number for number, op in enumerate(ops)}
    if len(program.ranks) > RANKS or len(ops) > OPS or any(len(i) > ITEMS for i in program.ranks):
        raise ValueError(f"too large for the model: {program}")
    members = [program.members(op) for op in ops]
    local = [len(m) > 1 and len({nodes[r] for r in m}) == 1 for m in members]
    own_order = sorted({nodes[min(m)] for m, is_local in zip(members, local) if is_local})
    if any(node >= NODES for node in own_order):
        raise ValueError("only the first two nodes may have ops of their own")

    def per_op(values, fill=0):
        return list(values) + [fill] * (OPS - len(ops))

    out = [limits.slots, limits.run_ahead, limits.adaptive, limits.fences, limits.crashes,
           limits.lessons, limits.hesitate, int(completable(program)),
           _mask(range(len(program.ranks))),
           _mask(index[op] for op in ops if op not in program.unscheduled)]
    out += [nodes[r] if nodes[r] in own_order else GLOBAL for r in range(RANKS)]
    out += [int(n in own_order) for n in range(NODES)]
    out += [_mask(i for i, m in enumerate(members) if any(nodes[r] == n for r in m))
            for n in range(NODES)]
    out += per_op((nodes[min(m)] if is_local else GLOBAL for m, is_local in zip(members, local)), GLOBAL)
    out += per_op(_mask(m) for m in members)
    out += [_mask(index[op] for op, _ in program.alone + program.roots)]
    for rank in range(RANKS):
        out += per_op(_mask(program.needs(rank, op)) for op in ops)
    out += per_op(_mask(index[o] for o in ops[:i] if o not in program.unscheduled)
                  for i in range(len(ops)))
    out += [_mask(i for i, m in enumerate(members) if r in m) for r in range(RANKS)]
    ranks = list(program.ranks) + [()] * (RANKS - len(program.ranks))
    out += [len(items) for items in ranks]
    for name in ("waits", "issues"):
        for items in ranks:
            sets = [_mask(index[op] for op in getattr(item, name)) for item in items]
            out += sets + [0] * (ITEMS - len(items))
    out += _stream_tables(ranks, ops, index)
    return " ".join(str(number) for number in out)


def _stream_tables(ranks, ops, index):
    before, stream_of, on_stream, group_of, beside = [], [], [], [], []
    for items in ranks:
        prior = before_on_stream(items)
        streams, groups = {}, {}
        for item in items:
            for op in item.issues:
                streams[op], groups[op] = item.stream, item.issues
        before += [_mask(index[o] for o in prior.get(op, ())) for op in ops] + [0] * (OPS - len(ops))
        stream_of += [streams.get(op, 0) for op in ops] + [0] * (OPS - len(ops))
        on_stream += [_mask(index[o] for o, s in streams.items() if s == stream)
                      for stream in range(STREAMS)]
        group_of += [_mask(index[o] for o in groups.get(op, ())) for op in ops] + [0] * (OPS - len(ops))
        beside.append(_mask(index[o] for o, group in groups.items() if o != group[0]))
    return before + stream_of + on_stream + group_of + beside


@dataclass(frozen=True)
class Limits:
    """What a device holds, and how many faults of each kind may befall a run."""
    slots: int = 2
    adaptive: int = 1
    fences: int = 1
    crashes: int = 0
    lessons: int = 0
    hesitate: int = 0
    run_ahead: int = 255

    def __str__(self):
        words = ["adaptive" if self.adaptive else "strict", f"S={self.slots}"]
        words += [f"{name} {getattr(self, name)}" for name in ("fences", "crashes", "lessons")
                  if getattr(self, name)]
        words += ["hesitating"] if self.hesitate else []
        words += [f"run-ahead {self.run_ahead}"] if self.run_ahead < 255 else []
        return ", ".join(words)


# --- families ----------------------------------------------------------------------------------------


def _hosts(ops):
    """All hosts that issue each of the ops once, plainly: order, streams up to renaming, host waits."""
    for order in itertools.permutations(ops):
        for streams in itertools.product(range(len(order)), repeat=len(order)):
            if any(s > max(streams[:i], default=-1) + 1 for i, s in enumerate(streams)):
                continue
            yield from _with_waits(order, streams)


def _with_waits(order, streams):
    """Before each op but the first the host may wait for any of the earlier ones; a wait that an
    earlier one on the same stream, or the same wait before, makes idle is left out."""
    def choices(at, waited):
        if at == len(order):
            yield ()
            return
        earlier = [i for i in range(at) if i not in waited]
        for number in range(len(earlier) + 1):
            for chosen in itertools.combinations(earlier, number):
                if any(a < b and streams[a] == streams[b] for a, b in itertools.combinations(chosen, 2)):
                    continue
                # Waiting for an op means having waited for what is before it on its stream.
                done = waited | {a for a in range(at) for b in chosen
                                 if a <= b and streams[a] == streams[b]}
                for rest in choices(at + 1, done):
                    yield (tuple(order[i] for i in chosen),) + rest

    for waits in choices(0, frozenset()):
        yield tuple(Item((op,), stream, wait) for op, stream, wait in zip(order, streams, waits))


def two_ranks(number_of_ops, can_complete=True):
    """All programs of two ranks that both issue each op once, those that can complete or the others;
    swapping the ranks changes nothing, so one of each such pair."""
    ops = [chr(ord("A") + i) for i in range(number_of_ops)]
    hosts = list(_hosts(ops))
    for first, second in itertools.combinations_with_replacement(hosts, 2):
        program = Program((first, second))
        if completable(program) == can_complete:
            yield program


def _random_host(ops, rng):
    """Issues some of the ops in some order, on some streams, in groups now and then."""
    left = rng.sample(ops, rng.randint(2, len(ops)))
    items, issued = [], []
    while left:
        size = 2 if len(left) > 1 and rng.random() < 0.2 else 1
        parts, left = left[:size], left[size:]
        waits = [rng.choice(issued)] if issued and rng.random() < 0.25 else []
        items.append(Item(tuple(parts), rng.randrange(3), tuple(waits)))
        issued += parts
    return tuple(items)


def buffered(program, rng):
    """The program with one op or more of which some members don't wait for the others."""
    ops = program.ops()
    alone, roots = [], []
    for op in rng.sample(ops, rng.randint(1, len(ops))):
        members = sorted(program.members(op))
        some = rng.choice(members)
        kind = rng.choice(("alone", "root", "reduce"))
        if kind == "root":
            roots.append((op, some))
        elif kind == "alone":
            alone.append((op, some))
        else:
            alone += [(op, rank) for rank in members if rank != some]
    return replace(program, alone=tuple(alone), roots=tuple(roots))


def random_programs(ranks, number_of_ops, number, seed):
    """Completable ones, in which each op has two members at least."""
    rng = random.Random(seed)
    ops = [chr(ord("A") + i) for i in range(number_of_ops)]
    while number > 0:
        program = Program(tuple(_random_host(ops, rng) for _ in range(ranks)))
        if all(len(program.members(op)) > 1 for op in program.ops()) and completable(program):
            number -= 1
            yield program
