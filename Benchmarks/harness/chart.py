"""Horizontal bars as SVG: a panel for each question, a bar for each answer, each panel to its own scale, or all of them
to one that grows tenfold from line to line.

Readable on light and dark pages: the picture brings its own ground, and follows the reader's preference.
"""

from dataclasses import dataclass
from math import log
from xml.sax.saxutils import escape

WIDTH, NAMES, FIGURES = 860, 190, 92  # of the picture, of the column of names, right of the longest bar
BAR, GAP, HEAD, AFTER, MARGIN = 16, 5, 26, 18, 20
STYLE = """\
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .ground { fill: #ffffff }  .head { font-weight: 600 }  .note { font-size: 12px; fill: #59636e }
  .ours { fill: #0969da }  .peer { fill: #8c959f }  .weak { fill-opacity: .45 }
  .tick { stroke: #8c959f; stroke-opacity: .35 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }  .note { fill: #9198a1 }
    .ground { fill: #0d1117 }  .ours { fill: #58a6ff }  .peer { fill: #6e7681 }
  }
"""


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    figure: str  # the value as it is written
    ours: bool
    weak: bool = False  # drawn paler: a lesser promise


@dataclass(frozen=True)
class Panel:
    title: str
    bars: list[Bar]
    ticks: tuple[tuple[float, str], ...] = ()  # values, with a line each that has a name;
    # bars grow by the logarithm from the first to the last

    def share(self, value: float) -> float:
        """Of the longest bar, from 0 to 1."""
        if not self.ticks:
            return value / (max(bar.value for bar in self.bars) or 1)
        least, most = self.ticks[0][0], self.ticks[-1][0]
        return log(max(value, least) / least) / log(most / least)


def draw(title: str, description: str, panels: list[Panel], note: str) -> str:
    panels = [panel for panel in panels if panel.bars]
    rows, y = [], MARGIN
    longest = WIDTH - 2 * MARGIN - NAMES - FIGURES
    for panel in panels:
        rows.append(_text(MARGIN, y + 14, panel.title, "head"))
        y += HEAD
        labelled = any(label for _, label in panel.ticks)
        y += GAP + BAR if labelled else 0
        for value, label in panel.ticks:
            x = MARGIN + NAMES + longest * panel.share(value)
            if label:
                rows.append(f'<path class="tick" d="M{x:.1f} {y - 4}v{len(panel.bars) * (BAR + GAP) + 3}"/>')
            if label and labelled:
                rows.append(_text(x, y - 8, label, "note"))
        for bar in panel.bars:
            length = max(1.0, longest * panel.share(bar.value))
            kinds = ("ours" if bar.ours else "peer") + (" weak" if bar.weak else "")
            rows.append(_text(MARGIN + NAMES - 10, y + 13, bar.name, end=True))
            rows.append(f'<rect class="{kinds}" x="{MARGIN + NAMES}" y="{y}" width="{length:.1f}" height="{BAR}" '
                        f'rx="2"/>')
            rows.append(_text(MARGIN + NAMES + length + 8, y + 13, bar.figure))
            y += BAR + GAP
        y += AFTER
    rows.append(_text(MARGIN, y + 4, note, "note"))
    height = y + MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>', f'<desc id="desc">{escape(description)}</desc>',
        f"<style>\n{STYLE}</style>", f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>',
        *rows, "</svg>", ""])


def _text(x: float, y: float, text: str, kind: str = "", end: bool = False) -> str:
    attributes = (f' class="{kind}"' if kind else "") + (' text-anchor="end"' if end else "")
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(text)}</text>'
