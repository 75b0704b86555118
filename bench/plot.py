"""Small panels side by side as SVG: the quantity against a logarithmic size. What is flat is flat there,
and what grows with the logarithm is a straight line."""
import math
import xml.sax.saxutils

import measure

ACROSS = 4
WIDTH, HEIGHT = 210, 150
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 26, 30
STYLE = """
svg { font: 11px system-ui, sans-serif; background: #fff; --ink: #222; --soft: #767676; --line: #2a6fdb; }
@media (prefers-color-scheme: dark) {
  svg { background: #16181c; --ink: #e6e6e6; --soft: #9a9a9a; --line: #7fb0ff; }
}
text { fill: var(--soft); } .title { fill: var(--ink); font-weight: 600; }
.axis { stroke: var(--soft); stroke-width: 1; }
.spread { stroke: var(--line); stroke-width: 1; opacity: .55; }
.median { fill: none; stroke: var(--line); stroke-width: 2; } circle { fill: var(--line); }
"""


def panels(series, unit, sizes_of):
    """`series` maps titles to [(size, Spread)]."""
    down = math.ceil(len(series) / ACROSS)
    drawn = [panel(title, points, unit, index % ACROSS * WIDTH, index // ACROSS * HEIGHT)
             for index, (title, points) in enumerate(series.items())]
    width, height = ACROSS * WIDTH, down * HEIGHT + 20
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">'
            f"<style>{STYLE}</style>" + "".join(drawn)
            + f'<text x="{LEFT}" y="{height - 8}">across: {sizes_of}; down: {unit}, median with least and '
            "most</text></svg>\n")


def panel(title, points, unit, left, top):
    sizes = [size for size, _ in points]
    # Above what is drawn of the spread, so that one slow round does not press all else flat.
    most = max(spread.median for _, spread in points) * 1.6
    inner, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(size):
        return left + LEFT + inner * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])

    def down(value):
        return top + TOP + tall * (1 - min(value, most) / most)

    bottom = top + TOP + tall
    parts = [f'<text class="title" x="{left + LEFT}" y="{top + 16}">{xml.sax.saxutils.escape(title)}</text>',
             f'<path class="axis" d="M{left + LEFT} {bottom}h{inner}"/>']
    for value in (0, most):
        parts.append(f'<text text-anchor="end" x="{left + LEFT - 5}" y="{down(value) + 4:.1f}">'
                     f"{measure.short(value)}</text>")
    for size, spread in points:
        x = across(size)
        parts.append(f'<text text-anchor="middle" x="{x:.1f}" y="{bottom + 14}">'
                     f'10<tspan dy="-4" font-size="8">{round(math.log10(size))}</tspan></text>')
        parts.append(f'<line class="spread" x1="{x:.1f}" x2="{x:.1f}" y1="{down(spread.least):.1f}" '
                     f'y2="{down(spread.most):.1f}"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{down(spread.median):.1f}" r="2.5"/>')
    way = " ".join(f"{across(size):.1f},{down(spread.median):.1f}" for size, spread in points)
    return "".join([*parts, f'<polyline class="median" points="{way}"/>'])
