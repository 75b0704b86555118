"""How a figure comes about: contenders run in turn, round after round; each round gives one ratio."""
import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Sample:
    """One run of one contender: the value of the figure, and CPU seconds of its process where they count."""

    value: float
    cpu: float | None = None


@dataclasses.dataclass(frozen=True)
class Spread:
    """What several rounds gave."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values):
        values = list(values)
        return cls(statistics.median(values), min(values), max(values))


@dataclasses.dataclass(frozen=True)
class Target:
    """A bound for the median ratio, or for Outtray's own median where `of` is "outtray"."""

    bound: float
    at_least: bool
    of: str = "ratio"
    unit: str = ""

    def missed_by(self, value):
        """How much is missing, as a share of the bound, or as it is where the bound is 0; 0: it is met."""
        short = self.bound - value if self.at_least else value - self.bound
        return max(0.0, short / self.bound if self.bound else short)

    def __str__(self):
        unit = "×" if self.of == "ratio" else self.unit
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{unit}"


def at_least(bound):
    return Target(bound, at_least=True)


def at_most(bound):
    return Target(bound, at_least=False)


def own_at_most(bound, unit):
    """For what is asked of Outtray alone; the peer is there for comparison."""
    return Target(bound, at_least=False, of="outtray", unit=" " + unit)


def rounds(contenders, count, warm=True):
    """Runs each contender COUNT times, interleaved.

    `contenders` maps names to functions that return a Sample, or several of one run by further names. The
    order turns by one each round, so that none always runs first. One round before that is thrown away: it
    fills caches. Returns a list of {name: Sample}.
    """
    names = list(contenders)
    if warm:
        for name in names:
            contenders[name]()
    taken = []
    for turn in range(count):
        order = names[turn % len(names):] + names[:turn % len(names)]
        samples = {}
        for name in order:
            told = contenders[name]()
            samples.update(told if isinstance(told, dict) else {name: told})
        taken.append(samples)
    return taken


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table."""

    figure: str
    unit: str
    outtray: Spread
    peer_name: str
    peer: Spread
    ratio: Spread | None
    cpu_ratio: Spread | None
    pairs: int
    target: Target | None

    @property
    def missed_by(self):
        if self.target is None:
            return None
        measured = self.ratio if self.target.of == "ratio" else self.outtray
        return self.target.missed_by(measured.median)

    @property
    def verdict(self):
        if self.target is None:
            return ""
        if self.missed_by == 0:
            return "met"
        return f"missed by {self.missed_by:.0%}" if self.target.bound else f"missed by {self.missed_by:g}"

    def as_json(self):
        fields = dataclasses.asdict(self)
        return {**fields, "target": str(self.target) if self.target else None, "missedBy": self.missed_by}


def compare(figure, unit, taken, ours, peer, target=None, of="value", peer_name=None):
    """The row in which contender `ours` stands against contender `peer`; `of` is "value" or "cpu"."""
    pairs = [(turn[ours], turn[peer]) for turn in taken]
    values = [(getattr(left, of), getattr(right, of)) for left, right in pairs]
    has_cpu = of == "value" and all(left.cpu and right.cpu for left, right in pairs)
    return Row(
        figure, unit, Spread.of(left for left, _ in values), peer_name or peer,
        Spread.of(right for _, right in values),
        Spread.of(left / right for left, right in values) if all(right for _, right in values) else None,
        Spread.of(left.cpu / right.cpu for left, right in pairs) if has_cpu else None,
        len(pairs), target)


def short(number):
    """Three digits that count, with k or M where there are more."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= size:
            return f"{number / (size if letter != 'k' else 1e3):.3g}{letter}"
    return f"{number:.0f}" if abs(number) >= 1000 else f"{number:.3g}"


COLUMNS = ("figure", "outtray", "peer", "ratio (min–max)", "CPU ratio", "target", "")


def cells(row):
    def ranged(spread):
        return f"{short(spread.median)} ({short(spread.least)}–{short(spread.most)})" if spread else ""

    return (
        row.figure, f"{short(row.outtray.median)} {row.unit}",
        f"{short(row.peer.median)} {row.unit}, {row.peer_name}", ranged(row.ratio),
        short(row.cpu_ratio.median) if row.cpu_ratio else "", str(row.target or ""), row.verdict)


def table(rows, markdown=False):
    """All rows, for people: columns of equal width, or a table in Markdown."""
    lines = [COLUMNS, *map(cells, rows)]
    if markdown:
        lines.insert(1, tuple("---" for _ in COLUMNS))
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
