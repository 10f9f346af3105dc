"""What the page of an object shows beside its history: conditions, children, writers, actions."""

from collections.abc import Iterable, Sequence

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.ui.pages.markup import Markup, moment, tag

_READINESS = {"ready": "✓", "waiting": "…", "gone": "∅", "deleting": "⌫", "unknown": "?"}


def _card(title: str, content: Iterable[object], empty: str) -> Markup:
    parts = [*content]
    return tag(
        "section",
        tag("h2", title),
        *(parts or [tag("p", empty, class_="soft")]),
        class_="card",
        aria_label=title,
    )


def conditions_card(conditions: Sequence[Json]) -> Markup:
    """Return the conditions, each with its reason and since when."""
    items = [
        tag(
            "li",
            tag("b", one["type"]),
            tag("span", one["reason"] or one["status"], class_=f"status {one['status'].lower()}"),
            tag("span", "for ", moment(one["lastTransitionTime"]), class_="soft"),
            tag("span", "older generation", class_="pill") if one["old"] else "",
            tag("span", one["message"], class_="message") if one["message"] else "",
        )
        for one in conditions
    ]
    listed = [tag("ul", *items, class_="plain")] if items else []
    return _card("Conditions", listed, "The status has no conditions.")


def children_card(row: Json, children: Sequence[Json]) -> Markup:
    """Return the tree of the children; those that have a page are links."""
    root = tag("b", f"{row['kind']} {row['name']}")
    return _card("Children", [root, _branch(children)] if children else [], "It has none.")


def _branch(children: Sequence[Json]) -> Markup:
    items = []
    for one in children:
        named, readiness = f"{one['kind']} {one['name']}", one["readiness"]
        sign = tag("i", _READINESS[readiness], class_=f"mark {readiness}", aria_hidden="true")
        name = tag("a", named, href=f"/objects/{one['id']}") if one.get("id") else named
        below = _branch(one["children"]) if one.get("children") else ""
        items.append(tag("li", sign, name, " ", tag("span", readiness, class_="soft"), below))
    return tag("ul", *items, class_="tree")


def wakes_card(reads: Sequence[Json]) -> Markup:
    """Return what would cause the next pass."""
    items = [
        tag(
            "li",
            one["what"],
            tag("span", f" read in {one['state']}", class_="soft") if one["state"] else "",
        )
        for one in reads
    ]
    return _card(
        "What would wake it", [tag("ul", *items, class_="plain")] if items else [], "Nothing."
    )


def writers_card(writers: Sequence[Json]) -> Markup:
    """Return who wrote which fields."""
    items = [
        tag(
            "li",
            tag("b", one["manager"]),
            tag("span", f" {one['operation']} of {one['part']} ", class_="soft"),
            moment(one["time"]),
            tag("div", *(tag("code", field) for field in one["fields"]), class_="owned"),
        )
        for one in writers
    ]
    return _card(
        "Who writes it", [tag("ul", *items, class_="plain")] if items else [], "Not known."
    )


def explain_card(row: Json) -> Markup:
    """Return the command that tells the same in a terminal."""
    where = f" -n {row['namespace']}" if row["namespace"] else ""
    command = f"myrmidon explain {row['kind'].lower()} {row['name']}{where}"
    copy = tag("button", "Copy", type="button", class_="button quiet", data_copy=command)
    return _card("In a terminal", [tag("pre", command), copy], "")


def actions_card(story: Json, form_value: str) -> Markup:
    """Return the buttons that change the object."""
    row = story["row"]
    suspended = row["phase"] == "suspended"
    resume = "resume" if suspended else "suspend"

    def form(action: str, *content: object) -> Markup:
        hidden = tag("input", type="hidden", name="form", value=form_value)
        return tag("form", hidden, *content, method="post", action=f"/act/{action}/{row['id']}")

    def button(word: str, kind: str = "") -> Markup:
        return tag("button", word, type="submit", class_=f"button {kind}".strip())

    spec = orjson.dumps(story.get("spec") or {}, option=orjson.OPT_INDENT_2).decode()
    edit = form(
        "patch",
        tag("textarea", spec, name="text", rows="8", aria_label="spec", spellcheck="false"),
        button("Apply"),
    )
    confirm = tag(
        "details", tag("summary", "Delete"), form("delete", button("Really delete", "danger"))
    )
    return tag(
        "section",
        tag("h2", "Actions"),
        tag(
            "div",
            form("requeue", button("Reconcile now")),
            form(resume, button(resume.capitalize())),
            class_="buttons",
        ),
        tag("details", tag("summary", "Edit the spec"), edit)
        if story.get("spec") is not None
        else "",
        confirm,
        class_="card",
        aria_label="Actions",
    )
