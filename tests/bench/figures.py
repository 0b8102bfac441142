"""Percentiles by nearest rank, and how figures are written. Samples are nanoseconds; none is ever left out."""

import math

RANKS = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 100)


def percentile(samples, rank):
    """The smallest sample that is not below `rank` percent of all: nearest rank."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(rank / 100.0 * len(ordered)) - 1)]


def summary(samples):
    return dict({"p%g" % rank: percentile(samples, rank) for rank in RANKS}, count=len(samples)) if samples else {"count": 0}


def milliseconds(nanoseconds):
    value = nanoseconds / 1e6
    return "%.0f" % value if value >= 100 else "%.1f" % value if value >= 10 else "%.2f" % value if value >= 0.1 else "%.3f" % value


def times(value):
    return "{:,.0f}x".format(value) if value >= 20 else "%.1fx" % value if value >= 0.95 else "%.2gx" % value


def ratio(measured, other):
    """Of two figures of the same unit; None where one is missing."""
    return measured / other if measured is not None and other else None


class Row:
    """One row of the table of targets."""

    def __init__(self, what, target):
        self.what, self.target, self.result, self.floor, self.reference, self.met, self.note = what, target, "", None, None, None, ""

    def judge(self, met):
        self.met = bool(met) if self.met is None else self.met and bool(met)
        return self

    def verdict(self):
        return {None: "not judged", True: "met", False: "missed"}[self.met]

    def cells(self):
        """`to the reference` below 1 is faster than it; written as such."""
        def shown(value):
            return "-" if value is None else value if isinstance(value, str) else times(value)
        return [self.what, self.target, self.result or "-", shown(self.floor), shown(self.reference),
                self.verdict() + (": " + self.note if self.note else "")]

    def plain(self):
        return {"what": self.what, "target": self.target, "result": self.result, "to_floor": self.floor, "to_reference": self.reference,
                "verdict": self.verdict(), "note": self.note}


HEAD = ["what", "target", "measured", "to the floor", "to the reference", "verdict"]


def markdown(rows):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    return "\n".join(lines + ["| " + " | ".join(row.cells()) + " |" for row in rows])
