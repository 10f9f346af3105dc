"""The page of all controllers and objects."""

from collections.abc import Iterable

from myrmidon.api.objects.accessors import Json
from myrmidon.ui.pages.drawings import drawing_of
from myrmidon.ui.pages.markup import PHASES, Markup, joined, phase_chip, tag

_ROWS_WITHOUT_SCRIPT = 200
_VITALS = (
    ("leader", "Process"),
    ("objects", "Objects"),
    ("passes", "Passes / s"),
    ("writes", "Writes / s"),
    ("errors", "Errors"),
    ("queue", "Queue"),
    ("lag", "Loop lag"),
    ("caches", "Caches"),
)


def overview(machines: list[Json], rows: Iterable[Json], *, is_live: bool) -> Markup:
    """Return the content of the page; the script fills in the numbers and the list of objects."""
    rows = list(rows)
    vitals = [
        tag(
            "div",
            tag("dt", title),
            tag("dd", "-", data_vital=name),
            tag("dd", "", data_vital=f"{name}-name", class_="soft") if name == "leader" else "",
        )
        for name, title in _VITALS
    ]
    return joined(
        [
            tag("h1", "Overview"),
            tag("div", id="problems", role="alert"),
            tag("dl", *vitals, class_="vitals") if is_live else "",
            _time_travel("live" if is_live else "the end of the recording"),
            tag(
                "section",
                tag("h2", "Controllers"),
                *(_machine(machine, number) for number, machine in enumerate(machines)),
                aria_label="Controllers",
            ),
            _objects(machines, rows),
        ]
    )


def _time_travel(end: str) -> Markup:
    return tag(
        "div",
        tag("label", "Time", for_="travel"),
        tag("input", id="travel", type="range", min="0", max="0", value="0", step="1"),
        tag("output", end, id="travel-at", for_="travel", data_end=end),
        tag(
            "button",
            f"Back to {end}",
            id="travel-live",
            type="button",
            class_="button",
            hidden=True,
        ),
        class_="travel",
    )


def _machine(machine: Json, number: int) -> Markup:
    name = machine["controller"]
    stats = [
        tag("span", tag("b", "-", data_stat=key), f" {word}")
        for key, word in (
            ("queued", "queued"),
            ("inWork", "in work"),
            ("passes", "passes"),
            ("writes", "writes"),
            ("errors", "errors"),
        )
    ]
    return tag(
        "article",
        tag(
            "div",
            tag("h3", name),
            tag("span", f"{machine['kind']} · {machine['apiVersion']}", class_="soft"),
            tag("div", class_="phases"),
            class_="machine-head",
        ),
        tag("p", machine.get("summary") or "", class_="soft"),
        tag(
            "div",
            Markup(drawing_of(machine, f"m{number}-")),
            class_="graph",
            tabindex="0",
            role="region",
            aria_label=f"Graph of {name}",
        ),
        tag("div", *stats, class_="stats"),
        class_="machine card",
        data_controller=name,
    )


def _objects(machines: list[Json], rows: list[Json]) -> Markup:
    states = [state["name"] for machine in machines for state in machine["states"]]
    filters = tag(
        "form",
        _field(
            "Search", tag("input", id="f-text", type="search", placeholder="name, reason, message")
        ),
        _field("Namespace", tag("select", tag("option", "all", value=""), id="f-namespace")),
        _field("Labels", tag("input", id="f-labels", type="search", placeholder="app=shop,tier")),
        _field(
            "State",
            tag(
                "select",
                tag("option", "all", value=""),
                *(tag("option", name, value=name) for name in dict.fromkeys(states)),
                id="f-state",
            ),
        ),
        tag("label", tag("input", id="f-unready", type="checkbox"), "Not ready", class_="check"),
        tag("output", "", id="shown", class_="soft", role="status"),
        class_="filters",
        id="filters",
    )
    head = tag(
        "div",
        *(
            tag("span", title, role="columnheader")
            for title in ("Object", "Phase", "State", "Waits for", "Last pass")
        ),
        class_="row head",
        role="row",
    )
    listed = [_row(row) for row in rows[:_ROWS_WITHOUT_SCRIPT]]
    return tag(
        "section",
        tag("h2", "Objects"),
        filters,
        tag(
            "div",
            tag("div", head, role="rowgroup"),
            tag(
                "div",
                tag("div", *listed, id="rows", role="presentation"),
                id="list",
                class_="list",
                tabindex="0",
                role="rowgroup",
            ),
            class_="objects card",
            role="table",
            aria_label="Objects",
            id="objects",
        ),
        aria_label="Objects",
    )


def _field(title: str, control: Markup) -> Markup:
    return tag("label", tag("span", title), control, class_="field")


def _row(row: Json) -> Markup:
    name = "/".join(filter(None, (row["namespace"], row["name"])))
    return tag(
        "div",
        tag("span", tag("a", name, href=f"/objects/{row['id']}"), role="cell"),
        tag("span", phase_chip(row["phase"]), role="cell"),
        tag("span", row["state"], role="cell"),
        tag("span", f"{row['reason']} {row['message']}".strip(), role="cell"),
        tag("span", "", role="cell"),
        class_="row",
        role="row",
    )


def phase_words() -> dict[str, list[str]]:
    """Return the sign and the word of each phase, for the script."""
    return {phase: [sign, word] for phase, (sign, word) in PHASES.items()}
