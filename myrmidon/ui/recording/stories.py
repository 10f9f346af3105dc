"""Recorded passes, objects and machines as JSON: what pages show and exports contain.

Everything here is text that a person may read: no value of a Secret, and long values are cut.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.machine.forks import shapes_of
from myrmidon.fsm.machine.graph import Graph
from myrmidon.fsm.machine.states import State
from myrmidon.runtime.observability.kept_writes import Bodies
from myrmidon.runtime.observability.pass_record import NextPass, PassRecord
from myrmidon.runtime.observability.snapshot import ObjectView, Wrote
from myrmidon.sets.stalls.contested_fields import changed_fields, field_text
from myrmidon.ui.recording.cause_texts import cause_text

VALUE_MAX = 120
FIELDS_MAX = 40


def machine_of(controller: Controller[Any]) -> Json:
    """Return the declaration of a controller: its kind and its graph."""
    graph, kind = controller.graph, controller.kind()
    return {
        "controller": controller.name,
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "summary": (type(controller).__doc__ or "").partition("\n")[0],
        "initial": graph.initial,
        "finalizer": graph.finalizer,
        "states": [
            {
                "name": one.name,
                "condition": one.condition,
                "then": list(one.then),
                "summary": one.summary,
                "fork": one.fork,
            }
            for one in graph.states.values()
        ],
    }


def graph_of(machine: Json) -> Graph:
    """Return the graph that a machine describes."""
    states = {
        str(one["name"]): State(
            str(one["name"]),
            str(one["condition"]),
            tuple(map(str, one["then"])),
            summary=str(one.get("summary") or ""),
            fork=bool(one.get("fork")),
        )
        for one in machine["states"]
    }
    forks = shapes_of(str(machine["controller"]), states)
    return Graph(states, str(machine["initial"]), machine.get("finalizer"), forks)


def row_of(view: ObjectView, labels: Mapping[str, str]) -> Json:
    """Return one object as the list of objects shows it."""
    waiting = view.waiting if view.phase not in ("ready", "gone") else None
    return {
        "id": row_id(view.controller, view.ref),
        "controller": view.controller,
        "kind": view.ref.kind.kind,
        "namespace": view.ref.namespace,
        "name": view.ref.name,
        "labels": dict(labels),
        "phase": view.phase,
        "state": state_of(view),
        "reason": waiting.reason if waiting else "",
        "message": waiting.message if waiting else "",
        "since": waiting.since.isoformat() if waiting else "",
        "againAt": view.again_at.isoformat() if view.again_at else "",
        "againFor": view.again_for,
        "endedAt": view.ended_at.isoformat() if view.ended_at else "",
        "passes": view.passes,
    }


def row_id(controller: str, ref: ObjectRef) -> str:
    """Return the address of an object on the page: ``controller/namespace/name``."""
    return f"{controller}/{ref.namespace}/{ref.name}"


def state_of(view: ObjectView) -> str:
    """Return the state in which an object is: the first that does not hold, or the last."""
    open_steps = (step.state for step in view.path if step.status != "True")
    return next(open_steps, view.path[-1].state if view.path else "")


def pass_of(record: PassRecord) -> Json:
    """Return a recorded pass."""
    steps = [
        {
            "state": step.state,
            "condition": step.condition,
            "status": step.status,
            "reason": step.reason,
            "message": step.message,
            "branch": step.branch,
            "seconds": record.state_seconds[index] if index < len(record.state_seconds) else None,
        }
        for index, step in enumerate(record.steps)
    ]
    return {
        "number": record.number,
        "at": record.at.isoformat(),
        "seconds": record.seconds,
        "causes": [*map(cause_text, record.causes)],
        "steps": steps,
        "writes": [*map(write_of, record.writes, record.bodies)],
        "failure": record.failure,
        "skipped": record.skipped,
        "released": record.released,
        "repeats": record.repeats,
        "next": next_of(record.next_pass),
    }


def next_of(following: NextPass) -> Json:
    """Return when the next pass follows."""
    return {
        "seconds": following.seconds,
        "at": following.at.isoformat() if following.at else None,
        "backoff": following.backoff,
        "state": following.state,
    }


def write_of(wrote: Wrote, bodies: Bodies) -> Json:
    """Return a recorded write, with the fields that it changed."""
    return {
        "at": wrote.at.isoformat(),
        "verb": wrote.verb,
        "kind": wrote.ref.kind.kind,
        "namespace": wrote.ref.namespace,
        "name": wrote.ref.name,
        "part": wrote.part,
        "state": wrote.state,
        "external": wrote.external,
        "unknown": wrote.unknown,
        "error": wrote.error,
        "fields": [*differences(wrote, *bodies)],
    }


def differences(wrote: Wrote, before: Json | None, after: Json | None) -> Iterator[Json]:
    """Yield the fields that a write changed, each with the values before and after it.

    Of a create no fields are named, and of a Secret only their names.
    """
    for hidden in wrote.fields:
        yield {"path": hidden, "before": None, "after": None, "hidden": True}
    if before is None or after is None or wrote.verb == "delete":
        return
    declared = {"status": None} if wrote.part == "status" else None
    for number, (name, old) in enumerate(changed_fields(before, after, declared)):
        if number == FIELDS_MAX:
            yield {"path": "…", "before": None, "after": None}
            return
        if name == ("status", "conditions"):
            yield from _condition_changes(old, _at(after, name))
        else:
            new = _at(after, name)
            yield {"path": field_text(name), "before": _short(old), "after": _short(new)}


def _condition_changes(before: Any, after: Any) -> Iterator[Json]:
    """Yield the conditions that changed, each as its status and reason."""
    old, new = _by_type(before), _by_type(after)
    for name in {**old, **new}:
        was, became = old.get(name), new.get(name)
        if was != became:
            yield {"path": f"status.conditions[{name}]", "before": was, "after": became}


def _by_type(conditions: Any) -> dict[str, str]:
    listed = conditions if isinstance(conditions, list) else ()
    return {
        str(one.get("type")): _short(
            f"{one.get('status')} {one.get('reason')}: {one.get('message')}".rstrip(": ")
        )
        or ""
        for one in listed
        if isinstance(one, dict)
    }


def _at(obj: Any, name: tuple[str, ...]) -> Any:
    for part in name:
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def _short(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}…"
