"""Frames of a terminal's screen as one SVG that plays them over and over."""
from xml.sax.saxutils import escape

CELL, LINE, SIZE, MARGIN = 8.4, 19, 14, 16
TOP = 34
GROUND, EDGE = "#0d1117", "#30363d"
COLOURS = {"default": "#c9d1d9", "cyan": "#39c5cf", "green": "#3fb950", "brown": "#e3b341", "red": "#ff7b72",
           "black": "#7d8590"}
EIGHTHS = "▏▎▍▌▋▊▉█"
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"


def kind(cell):
    """Neighbours of one kind are drawn together: of a bar its full or its empty cells, or letters."""
    return "full" if cell in EIGHTHS else "empty" if cell == "░" else "letters"


def runs(line):
    """(column, text, colour, is bold, kind) of neighbours that look alike, without spaces around them. Behind
    more than one space a new run begins, since viewers do not agree on how wide several are."""
    found = []
    for column, (text, colour, bold) in enumerate(line):
        # The emulator makes grey letters bold.
        look = [colour, bold and colour != "black", kind(text)]
        if found and found[-1][2:] == look and not (text != " " and found[-1][1].endswith("  ")):
            found[-1][1] += text
        else:
            found.append([column, text, *look])
    for column, text, *look in found:
        begin = len(text) - len(text.lstrip())
        if text.strip():
            yield column + begin, text.strip(), *look


def drawn(line, y):
    """The SVG of one line of cells."""
    parts = []
    for column, text, colour, bold, of in runs(line):
        x, fill = f"{MARGIN + column * CELL:.1f}", COLOURS[colour]
        if of == "letters":
            weight = ' font-weight="700"' if bold else ""
            parts.append(f'<text x="{x}" y="{y}" textLength="{len(text) * CELL:.1f}" fill="{fill}"{weight}>'
                         f'{escape(text)}</text>')
            continue
        width = sum((EIGHTHS.index(cell) + 1) / 8 if of == "full" else 1 for cell in text) * CELL
        opacity = "" if of == "full" else ' opacity=".3"'
        parts.append(f'<rect x="{x}" y="{y - 11}" width="{width:.1f}" height="12" fill="{fill}"{opacity}/>')
    return "".join(parts)


def animated(times, end):
    """What shows a group during `times`, pairs of seconds, of a film that is `end` seconds long."""
    points = {0.0: 0}
    for begin, until in times:
        points[begin] = 1
        if until < end:
            points[until] = points.get(until, 0)
    points = sorted(points.items())
    keys = ";".join(f"{at / end:.4f}".rstrip("0").rstrip(".") for at, _ in points)
    values = ";".join("inline" if shown else "none" for _, shown in points)
    return (f'<animate attributeName="display" calcMode="discrete" dur="{end:g}s" repeatCount="indefinite" '
            f'keyTimes="{keys}" values="{values}"/>')


def film(frames, end, title, still):
    """The SVG of `frames`, pairs of a time in seconds and the cells of the screen. Where nothing plays it,
    the frame of the time `still` is seen."""
    columns, rows = len(frames[0][1][0]), len(frames[0][1])
    width, height = 2 * MARGIN + columns * CELL, TOP + rows * LINE + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img" aria-label="{escape(title)}" font-family="{FONTS}" '
        f'font-size="{SIZE}">',
        f'<rect x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1}" rx="8" fill="{GROUND}" '
        f'stroke="{EDGE}"/>',
        *(f'<circle cx="{20 + 18 * at}" cy="17" r="5.5" fill="{EDGE}"/>' for at in range(3)),
        f'<text x="{width / 2:.0f}" y="21" text-anchor="middle" font-size="12" fill="#7d8590">'
        f'{escape(title)}</text>']
    for row in range(rows):
        y = TOP + row * LINE + 14
        shown = {}
        for at, (begin, lines) in enumerate(frames):
            until = frames[at + 1][0] if at + 1 < len(frames) else end
            times = shown.setdefault(drawn(lines[row], y), [])
            if times and times[-1][1] == begin:
                times[-1] = (times[-1][0], until)
            else:
                times.append((begin, until))
        for svg, times in shown.items():
            if not svg:
                continue
            if times == [(frames[0][0], end)]:
                parts.append(f"<g>{svg}</g>")
                continue
            is_seen = any(begin <= still < until for begin, until in times)
            hidden = "" if is_seen else ' display="none"'
            parts.append(f"<g{hidden}>{svg}{animated(times, end)}</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"
