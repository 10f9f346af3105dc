"""The text and the Status of a refusal, worded as the API server words its own.

    WebApp.demo.myrmidon.dev "shop" is invalid: spec.image: Invalid value: "shop:latest": must ...
    webapps.demo.myrmidon.dev "shop" is forbidden: only an administrator may delete it

A refusal that names a field is ``Invalid`` (422) with a cause for each field, so that kubectl and
other clients show where the problem is.  One without a field is ``Forbidden`` (403).  Values of
Secrets are never repeated.
"""

import re
from collections.abc import Sequence
from typing import Any

import orjson

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.webhooks.admission.requests import InvalidField

_VALUE_LENGTH_MAX = 100
_STEP = re.compile(r"[^.\[\]]+")
_ABSENT = object()


def refusal_status(
    kind: Kind, name: str, problems: Sequence[InvalidField], obj: Json | None
) -> Json:
    """Return the Status of a refused write; ``obj`` is where the values of fields are looked up."""
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    if not any(problem.field for problem in problems):
        resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        said = ", ".join(problem.message for problem in problems)
        return _status(403, "Forbidden", f'{resource} "{name}" is forbidden: {said}')
    shown = None if kind == kinds.SECRET else obj
    causes = [_cause(problem, shown) for problem in problems]
    lines = [f"{each['field']}: {each['message']}".removeprefix(": ") for each in causes]
    said = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    status = _status(422, "Invalid", f'{qualified} "{name}" is invalid: {said}')
    status["details"] = {
        "name": name,
        "group": kind.group,
        "kind": kind.kind,
        "causes": [
            {key: value for key, value in cause.items() if value or key != "field"}
            for cause in causes
        ],
    }
    return status


def timeout_status(webhook: str, seconds: float) -> Json:
    """Return the Status for validators that did not answer within their budget."""
    return _status(504, "Timeout", f"{webhook} did not answer within {seconds:g} s")


def problem_of(line: str) -> InvalidField:
    """Return a problem that a model reports as ``path: message``."""
    path, _, message = line.partition(": ")
    return InvalidField(path, message)


def _status(code: int, reason: str, message: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


def _cause(problem: InvalidField, obj: Json | None) -> Json:
    if not problem.field:
        return {"reason": "FieldValueInvalid", "message": problem.message, "field": ""}
    value = _ABSENT if obj is None else _at(obj, problem.field)
    if obj is not None and value is _ABSENT:
        said = f"Required value: {problem.message}"
        return {"reason": "FieldValueRequired", "message": said, "field": problem.field}
    shown = "" if value is _ABSENT else f"{_shown(value)}: "
    said = f"Invalid value: {shown}{problem.message}"
    return {"reason": "FieldValueInvalid", "message": said, "field": problem.field}


def _at(obj: Any, path: str) -> Any:
    """Return the value at ``spec.hosts[0]``; ``_ABSENT`` if there is none."""
    for step in _STEP.findall(path):
        if isinstance(obj, dict) and step in obj:
            obj = obj[step]
        elif isinstance(obj, list) and step.isdigit() and int(step) < len(obj):
            obj = obj[int(step)]
        else:
            return _ABSENT
    return obj


def _shown(value: Any) -> str:
    text = orjson.dumps(value, default=str).decode()
    return text if len(text) <= _VALUE_LENGTH_MAX else f"{text[:_VALUE_LENGTH_MAX]}..."
