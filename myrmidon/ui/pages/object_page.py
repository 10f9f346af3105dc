"""The page of one object: where it is in its graph, why, and how it came there."""

from collections.abc import Sequence

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.ui.pages.drawings import drawing_of, walked_edges
from myrmidon.ui.pages.markup import Markup, joined, moment, phase_chip, tag, text
from myrmidon.ui.pages.object_cards import (
    actions_card,
    children_card,
    conditions_card,
    explain_card,
    wakes_card,
    writers_card,
)
from myrmidon.ui.recording.stories import graph_of


def object_page(story: Json, machine: Json, *, number: int | None, form_value: str) -> Markup:
    """Return the content of the page.

    ``number`` is that of the pass to show, None for the last.  ``form_value`` goes into forms that
    change the object; "" for a page that only reads.
    """
    row, passes = story["row"], story["passes"]
    index = _index(passes, number)
    shown = passes[index] if passes else None
    name = "/".join(filter(None, (row["namespace"], row["name"])))
    return joined(
        [
            tag("nav", tag("a", "Overview", href="/"), " / ", row["controller"], class_="crumbs"),
            tag(
                "div",
                tag("h1", tag("span", row["kind"], class_="soft"), " ", name),
                phase_chip(row["phase"]),
                tag("span", f"generation {story.get('generation', '')}", class_="soft"),
                class_="title",
            ),
            _waits(row),
            tag("p", story["problem"], class_="notice bad") if story.get("problem") else "",
            _graph(machine, shown),
            _slider(passes, index),
            tag(
                "div",
                tag("div", _history(passes, index, row), class_="main-column"),
                tag(
                    "div",
                    conditions_card(story["conditions"]),
                    children_card(row, story["children"]),
                    wakes_card(story["reads"]),
                    writers_card(story["writers"]),
                    explain_card(row),
                    actions_card(story, form_value)
                    if form_value and row["phase"] != "gone"
                    else "",
                    class_="side-column",
                ),
                class_="columns",
            ),
        ]
    )


def _index(passes: Sequence[Json], number: int | None) -> int:
    """Return which pass is shown: the last that is not newer than ``number``."""
    if number is None:
        return len(passes) - 1
    older = [place for place, one in enumerate(passes) if one["number"] <= number]
    return older[-1] if older else 0


def _waits(row: Json) -> Markup:
    if row["phase"] == "ready":
        again = (
            joined(["It looks again in ", moment(row["againAt"], until=True), _for(row), "."])
            if row["againAt"]
            else "Nothing is left to do until something changes."
        )
        return tag("p", again, class_="notice")
    if not row["reason"]:
        return Markup("")
    parts: list[object] = [
        tag("b", row["reason"]),
        tag("span", row["message"], class_="message") if row["message"] else "",
        tag("span", "for ", moment(row["since"]), class_="soft") if row["since"] else "",
    ]
    if row["againAt"]:
        next_in = tag("span", "next pass in ", moment(row["againAt"], until=True), class_="soft")
        parts.append(joined([next_in, _for(row)]))
    return tag("p", *parts, class_=f"notice {'bad' if row['phase'] == 'failing' else 'wait'}")


def _for(row: Json) -> str:
    return f", because state {row['againFor']} asked for it" if row.get("againFor") else ""


def _graph(machine: Json, shown: Json | None) -> Markup:
    drawing = drawing_of(machine, "g-")
    steps = shown["steps"] if shown else []
    edges = walked_edges(graph_of(machine), [step["state"] for step in steps])
    reasons = [
        tag(
            "li",
            tag("b", step["state"]),
            tag("span", step["reason"], class_=f"status {step['status'].lower()}"),
            tag("span", step["message"], class_="message") if step["message"] else "",
            tag("span", _duration(step["seconds"]), class_="soft"),
        )
        for step in steps
    ]
    on_way = orjson.dumps({step["state"]: step["status"] for step in steps}).decode()
    return tag(
        "section",
        tag(
            "div",
            Markup(drawing),
            class_="graph",
            data_edges=orjson.dumps(edges).decode(),
            data_states=on_way,
            tabindex="0",
            role="region",
            aria_label="Graph with the path of the pass",
        ),
        tag("ol", *reasons, class_="steps")
        if reasons
        else tag("p", "No state ran.", class_="soft"),
        class_="card",
        aria_label="Path of the pass",
    )


def _slider(passes: Sequence[Json], index: int) -> Markup:
    if len(passes) < 2:
        return Markup("")
    return tag(
        "div",
        tag("label", "Pass", for_="pass"),
        tag(
            "input",
            id="pass",
            type="range",
            min="0",
            max=len(passes) - 1,
            value=index,
            data_numbers=orjson.dumps([one["number"] for one in passes]).decode(),
        ),
        tag("output", f"{index + 1} of {len(passes)}, ", moment(passes[index]["at"]), for_="pass"),
        class_="travel",
    )


def _history(passes: Sequence[Json], index: int, row: Json) -> Markup:
    items = [
        _pass(one, row, is_shown=place == index) for place, one in reversed([*enumerate(passes)])
    ]
    return tag(
        "section",
        tag("h2", "History"),
        tag("ol", *items, class_="history")
        if items
        else tag("p", "No pass is recorded.", class_="soft"),
        class_="card",
        aria_label="History of passes",
    )


def _pass(one: Json, row: Json, *, is_shown: bool) -> Markup:
    path = " → ".join(step["state"] for step in one["steps"])
    result = one["failure"] or (path or ("skipped" if one["skipped"] else "no state"))
    kind = "bad" if one["failure"] else "quiet" if not one["writes"] else "wrote"
    return tag(
        "li",
        tag(
            "div",
            tag("a", moment(one["at"]), href=f"/objects/{row['id']}?pass={one['number']}"),
            tag("span", result, class_="path"),
            tag("span", f"{one['repeats'] + 1} times", class_="pill") if one["repeats"] else "",
            tag("span", _duration(one["seconds"]), class_="soft"),
            class_="pass-head",
        ),
        tag("ul", *(tag("li", cause) for cause in one["causes"]), class_="causes")
        if one["causes"]
        else "",
        tag("ul", *map(_write, one["writes"]), class_="writes") if one["writes"] else "",
        _next(one),
        class_=f"pass {kind}",
        aria_current="step" if is_shown else None,
    )


def _write(one: Json) -> Markup:
    target = one["external"] or f"{one['kind']} {one['name']}"
    fields = [
        tag(
            "li",
            tag("code", field["path"]),
            tag("span", "not shown", class_="soft") if field.get("hidden") else _change(field),
        )
        for field in one["fields"]
    ]
    head = [
        tag("b", one["verb"]),
        f" {target}",
        tag("span", f" {one['part']}", class_="soft") if one["part"] else "",
        tag("span", f" by state {one['state']}", class_="soft") if one["state"] else "",
    ]
    if one["error"]:
        word = "unknown outcome: " if one["unknown"] else "refused: "
        head.append(tag("span", word, one["error"], class_="refused"))
    if not fields:
        return tag("li", *head)
    summary = tag(
        "summary",
        *head,
        tag("span", f" {len(fields)} field{'s' * (len(fields) != 1)}", class_="soft"),
    )
    return tag("li", tag("details", summary, tag("ul", *fields, class_="fields")))


def _change(field: Json) -> Markup:
    before = tag("del", field["before"]) if field["before"] is not None else ""
    after = tag("ins", field["after"]) if field["after"] is not None else ""
    return joined([before, " → " if before and after else "", after])


def _next(one: Json) -> Markup:
    after = one["next"]
    if after["at"]:
        said: object = joined(["next pass in ", moment(after["at"], until=True)])
    elif after["seconds"] is not None:
        said = f"next pass after {_duration(after['seconds'])}{' (backoff)' if after['backoff'] else ''}"
    elif after["backoff"]:
        said = "next pass with a growing delay"
    else:
        return Markup("")
    return tag("p", said, class_="soft next")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:g} s"


def missing(of: str) -> Markup:
    """Return the content for an object that is not known."""
    said = (
        "It does not exist, was deleted more than a minute ago, or no pass over it has ended yet."
    )
    return joined(
        [
            tag("h1", "Not found"),
            tag("p", tag("b", text(of)), ": ", said),
            tag("p", tag("a", "Overview", href="/")),
        ]
    )
