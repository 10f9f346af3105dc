"""HTML from text.  Everything that is not ``Markup`` is escaped, here and nowhere else."""

from collections.abc import Iterable
from html import escape

from myrmidon.api.objects.accessors import Json


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return a value as HTML: escaped, unless it is HTML already."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element.  ``class_`` and ``data_x`` become ``class`` and ``data-x``; None is left out."""
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        named = key.rstrip("_").replace("_", "-")
        parts.append(named if value is True else f'{named}="{escape(str(value))}"')
    opening = f"<{' '.join(parts)}>"
    if name in _VOID:
        return Markup(opening)
    return Markup(f"{opening}{''.join(map(text, children))}</{name}>")


_VOID = {"input", "meta", "link", "br", "hr"}


def joined(parts: Iterable[object]) -> Markup:
    """Return parts one after the other."""
    return Markup("".join(map(text, parts)))


def moment(iso: str, *, until: bool = False) -> Markup:
    """Return a time, which the script shows as an age, or as the time that is left."""
    clock = iso[11:19] if len(iso) > 19 else iso
    kind = "until" if until else "ago"
    return tag("time", clock, datetime=iso, data_time=kind, title=iso) if iso else Markup("")


PHASES = {
    "ready": ("✓", "Ready"),
    "waiting": ("…", "Waiting"),
    "failing": ("✗", "Failing"),
    "deleting": ("⌫", "Deleting"),
    "suspended": ("‖", "Suspended"),
    "new": ("·", "New"),
    "gone": ("∅", "Gone"),
}


def phase_chip(phase: str) -> Markup:
    """Return a phase as a sign and a word; colour only repeats them."""
    sign, word = PHASES.get(phase, ("?", phase))
    return tag("span", tag("i", sign, aria_hidden="true"), word, class_=f"chip {phase}")


def page(title: str, main: object, *, source: Json, data: Json | None = None) -> str:
    """Return a whole page; ``data`` are attributes of its body that the script reads."""
    attributes = {f"data_{key}": value for key, value in (data or {}).items()}
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · myrmidon"),
        tag("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        tag("link", rel="stylesheet", href="/static/live.css"),
        tag("script", src="/static/live.js", defer=True),
    )
    header = tag(
        "header",
        tag("a", "Skip to content", class_="skip", href="#main"),
        tag("a", tag("b", "myrmidon"), href="/", class_="brand", aria_label="myrmidon, overview"),
        tag("span", source["title"], class_="where"),
        tag("span", source["mode"], id="connection", class_="connection", role="status"),
        tag("a", "Export", href="/export.json", class_="button quiet", download="recording.json")
        if source.get("exports")
        else "",
        class_="top",
    )
    body = tag("body", header, tag("main", text(main), id="main", tabindex="-1"), **attributes)
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
