"""Two plots as SVG, written by hand: how latencies are distributed, and what one message costs behind how much history."""

import html
import math

from figures import percentile

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 800, 400, 66, 190, 44, 52
COLORS = {"floor": "#6b7280", "plain read": "#6b7280", "reference": "#b45309", "watch on": "#1d4ed8", "watch off": "#7c9ae6"}


def color(name):
    return next((value for key, value in COLORS.items() if name.startswith(key) and not name.endswith("compaction on")), "#0f766e")


class Plot:
    def __init__(self, title, x_label, y_label, x_range, y_range, x_log=True, y_log=True):
        self.parts, self.x_range, self.y_range, self.x_log, self.y_log = [], x_range, y_range, x_log, y_log
        self.text(LEFT, 22, title, size=15, weight="600")
        self.text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 12, x_label, anchor="middle")
        self.parts.append('<text x="16" y="%g" transform="rotate(-90 16 %g)" text-anchor="middle">%s</text>' % (
            TOP + (HEIGHT - TOP - BOTTOM) / 2, TOP + (HEIGHT - TOP - BOTTOM) / 2, html.escape(y_label)))

    @staticmethod
    def share(value, limits, log):
        low, high = (math.log10(v) for v in limits) if log else limits
        value = math.log10(max(value, 1e-9)) if log else value
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def x(self, value):
        return LEFT + self.share(value, self.x_range, self.x_log) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return HEIGHT - BOTTOM - self.share(value, self.y_range, self.y_log) * (HEIGHT - TOP - BOTTOM)

    def text(self, x, y, words, anchor="start", size=12, weight="400", fill="#374151"):
        self.parts.append('<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" font-weight="%s" fill="%s">%s</text>' % (
            x, y, anchor, size, weight, fill, html.escape(words)))

    def line(self, points, stroke, width=1.0, dash=""):
        self.parts.append('<polyline fill="none" stroke="%s" stroke-width="%g"%s points="%s"/>' % (
            stroke, width, ' stroke-dasharray="%s"' % dash if dash else "", " ".join("%.1f,%.1f" % point for point in points)))

    def x_tick(self, value, label):
        self.line([(self.x(value), TOP), (self.x(value), HEIGHT - BOTTOM)], "#e5e7eb")
        self.text(self.x(value), HEIGHT - BOTTOM + 17, label, anchor="middle")

    def y_tick(self, value, label):
        self.line([(LEFT, self.y(value)), (WIDTH - RIGHT, self.y(value))], "#e5e7eb")
        self.text(LEFT - 8, self.y(value) + 4, label, anchor="end")

    def curve(self, points, stroke):
        self.line([(self.x(a), self.y(b)) for a, b in points], stroke, 2)

    def names(self, ends):
        """Each curve's name at its right end; moved apart where they would lie on each other."""
        taken = TOP - 14
        for wanted, name, stroke in sorted((self.y(value), name, stroke) for value, name, stroke in ends):
            taken = max(wanted, taken + 15)
            self.text(WIDTH - RIGHT + 8, taken + 4, name, weight="600", fill=stroke)

    def svg(self):
        return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" fill="#374151">\n'
                '<rect width="100%%" height="100%%" fill="#ffffff"/>\n%s\n</svg>\n' % (WIDTH, HEIGHT, "\n".join(self.parts)))


def decades(low, high):
    return [10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def shown(value):
    return "{:,g}".format(value)


def latency_plot(found, title):
    """Percentiles from the left, the last ones stretched: each step to the right leaves out nine tenths of what was left."""
    every = {name: [max(sample, 1000) / 1e6 for sample in one["samples"]] for name, one in found.items()}
    ticks = decades(min(map(min, every.values())), max(map(max, every.values())))
    plot = Plot(title, "percentile", "ms", (1.0, 1000.0), (ticks[0], ticks[-1]))
    for rank, label in ((0, "0"), (50, "50"), (90, "90"), (99, "99"), (99.9, "99.9")):
        plot.x_tick(1 / (1 - rank / 100), label)
    for tick in ticks:
        plot.y_tick(tick, shown(tick))
    ends = []
    for name, samples in every.items():
        ranks = sorted({min(100.0, 100 * (1 - 10 ** (-step / 40))) for step in range(121)} | {100.0})
        ranks = [rank for rank in ranks if rank == 100 or (1 - rank / 100) * len(samples) >= 1]
        points = [(min(1000.0, 1 / (1 - min(rank, 99.99) / 100)), percentile(samples, rank)) for rank in ranks if rank < 100]
        points.append((min(1000.0, max(1.0, float(len(samples)))), max(samples)))
        plot.curve(points, color(name))
        ends.append((points[-1][1], name, color(name)))
    plot.names(ends)
    return plot.svg()


def history_plot(found, title):
    """Sizes on a log axis; no history at all stands at its left end."""
    sizes = sorted(next(iter(found.values())))
    left = 100.0
    every = {name: [(max(size, left), max(one[size].get("busy", one[size]["cpu"]), 1000) / 1e6) for size in sizes] for name, one in found.items()}
    values = [value for points in every.values() for _, value in points]
    ticks = decades(min(values), max(values))
    plot = Plot(title, "read entries already in the file", "CPU ms for one new message", (left, max(sizes) * 1.0), (ticks[0], ticks[-1]))
    for size in sizes:
        plot.x_tick(max(size, left), "{:,}".format(size))
    for tick in ticks:
        plot.y_tick(tick, shown(tick))
    for name, points in every.items():
        plot.curve(points, color(name))
    plot.names([(points[-1][1], name, color(name)) for name, points in every.items()])
    return plot.svg()
