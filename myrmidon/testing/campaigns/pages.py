"""HTML pages that work without a network: one style for light and dark, no script, no request."""

from collections.abc import Iterable
from html import escape

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5c6770; --line: #c3cad1; --paper: #ffffff;
  --band: #f3f5f7; --fault: #b45309; --wrong: #b91c1c; --good: #15803d; --call: #1d4ed8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #9aa5af; --line: #444d56; --paper: #14181c; --band: #1d2328;
    --fault: #fbbf24; --wrong: #f87171; --good: #4ade80; --call: #93c5fd; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  margin: 2rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
pre { background: var(--band); padding: .7rem 1rem; overflow-x: auto; border-radius: 4px; }
.soft { color: var(--soft); } .scroll { overflow-x: auto; }
table { border-collapse: collapse; } td, th { padding: .2rem .6rem; border: 1px solid var(--line);
  text-align: right; } th { font-weight: 600; background: var(--band); }
td:first-child, th:first-child { text-align: left; }
td.none { color: var(--soft); } td.failed { color: var(--wrong); font-weight: 600; }
svg text { fill: var(--ink); font: 13px ui-monospace, monospace; }
svg .lane { stroke: var(--line); stroke-width: 2; } svg .down { stroke-dasharray: 2 5; }
svg .head { font-weight: 600; } svg .time, svg .belief { fill: var(--soft); }
svg .band { fill: var(--band); } svg .fault { fill: var(--fault); }
svg .dot { fill: var(--ink); } svg .dot.error { fill: var(--wrong); }
svg .call { stroke: var(--call); stroke-width: 1.5; fill: none; }
svg .call.error { stroke: var(--wrong); stroke-dasharray: 5 3; }
svg .tip { fill: var(--call); } svg .tip.error { fill: var(--wrong); }
svg text.fault { fill: var(--fault); font-weight: 600; } svg text.error { fill: var(--wrong); }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a page of parts that are HTML already."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def section(title: str, lines: Iterable[str]) -> str:
    """Return a heading and preformatted lines."""
    return f"<h2>{escape(title)}</h2>\n<pre>{escape(chr(10).join(lines))}</pre>"


def table(head: Iterable[str], rows: Iterable[Iterable[tuple[str, str]]]) -> str:
    """Return a table; a cell is its text and its class."""
    header = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "\n".join(
        "<tr>"
        + "".join(f'<td class="{escape(kind)}">{escape(text)}</td>' for text, kind in row)
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table>\n<tr>{header}</tr>\n{body}\n</table></div>'
