"""Compares the responses of a run with the recorded ones.

Values that differ from run to run are variables in the record.  A variable is bound to the first
value that it meets; from then on it must have that value, and other variables must have others.
"""

import copy
import json
import re
from typing import Any

from tests.apiserver.conformance import places
from tests.apiserver.conformance.running import Answer
from tests.apiserver.conformance.scenarios import Scenario, Step

_VARIABLE = re.compile(r"\$\{(?P<kind>[a-z]+)(?::(?P<number>\d+))?\}")
_FORMATS = {
    "uid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "rv": r"[1-9]\d*",
    "listrv": r"[1-9]\d*",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "microtime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
    "gen": r"[a-z0-9]{5}",
    "continue": r".+",
    "hash": r".+",
    "age": r"(?:\d+[smhdy])+",
    "ip": r"\d{1,3}(?:\.\d{1,3}){3}",
    "nodeport": r"\d{4,5}",
    "any": r".*",
}
_DISTINCT = frozenset({"uid", "rv", "gen", "ip", "nodeport"})
# Failures whose texts people read and programs parse.
EXACT_REASONS = frozenset(
    {
        "NotFound", "AlreadyExists", "Conflict", "Forbidden", "Unauthorized", "Expired",
        "MethodNotAllowed",
    }
)  # fmt: skip


class Comparison:
    """Compares one run with its record."""

    def __init__(self, scenario: Scenario, run_id: str) -> None:
        self._recorded = {step["name"]: step for step in scenario.answers.get("steps", [])}
        versions = scenario.answers.get("resourceVersions", [])
        self._ranks = {name: rank for rank, name in enumerate(versions)}
        self._run_id = run_id
        self._values: dict[str, str] = {}
        self._differences: list[str] = []

    def differences(self, answer: Answer) -> list[str]:
        """Return the differences of one step; steps must come in order."""
        self._differences = list(answer.problems)
        wanted = self._recorded.get(answer.step.name)
        if wanted is None:
            return ["there is no record of this step"]
        if answer.status != wanted["status"]:
            self._differ("status", wanted["status"], answer.status)
        if answer.step.expect == "status-only" or answer.status is None:
            return self._differences
        self._unify(wanted.get("contentType", ""), _media_type(answer.content_type), "content type")
        self._unify(sorted(wanted.get("warnings", [])), sorted(answer.warnings), "warnings")
        if wanted.get("closed") and not answer.closed:
            self._differences.append("the server should have closed the watch")
        document = projected(answer)
        if "events" in wanted:
            self._events(wanted["events"], document if answer.events is not None else None, answer)
        elif "body" in wanted:
            self._whole(wanted["body"], document, answer)
        return self._differences

    def _whole(self, wanted: Any, document: Any, answer: Answer) -> None:
        if answer.step.expect == "subset" and isinstance(document, dict):
            for path in answer.step.select:
                self._unify(wanted.get(path), document[path], path)
        else:
            self._body(wanted, document, answer.step, "body")

    def _events(self, wanted: list[Any], got: list[Any] | None, answer: Answer) -> None:
        if got is None:
            self._differences.append(f"wanted a watch, got {short(answer.body)}")
            return
        types = [each["type"] for each in wanted], [each["type"] for each in got]
        if types[0] != types[1]:
            self._differences.append(f"events: wanted {types[0]}, got {types[1]}")
        for index, (one, other) in enumerate(zip(wanted, got, strict=False)):
            if one["type"] != other["type"]:
                break
            self._body(one.get("object"), other.get("object"), answer.step, f"events[{index}]")

    def _body(self, wanted: Any, got: Any, step: Step, path: str) -> None:
        if isinstance(wanted, dict) and wanted.get("kind") == "Status" and isinstance(got, dict):
            exact = step.message == "exact" or (
                step.message is None
                and (wanted.get("status") == "Success" or wanted.get("reason") in EXACT_REASONS)
            )
            wanted, got = status_compared(wanted, exact=exact), status_compared(got, exact=exact)
        self._unify(wanted, got, path)

    def _differ(self, path: str, wanted: Any, got: Any) -> None:
        self._differences.append(f"{path}: wanted {short(wanted)}, got {short(got)}")

    def _unify(self, wanted: Any, got: Any, path: str) -> None:
        if isinstance(wanted, dict) and isinstance(got, dict):
            self._unify_objects(wanted, got, path)
        elif isinstance(wanted, list) and isinstance(got, list):
            if len(wanted) != len(got):
                self._differ(path, wanted, got)
            for index, (one, other) in enumerate(zip(wanted, got, strict=False)):
                self._unify(one, other, f"{path}[{index}]")
        elif isinstance(wanted, str) and "${" in wanted:
            self._unify_text(wanted.replace("${id}", self._run_id), got, path)
        elif type(wanted) is not type(got) or wanted != got:
            self._differ(path, wanted, got)

    def _unify_objects(self, wanted: dict[str, Any], got: dict[str, Any], path: str) -> None:
        left = dict(got)
        for key in sorted(wanted):
            actual = self._key(key.replace("${id}", self._run_id), left)
            if actual is None:
                self._differ(f"{path}.{key}", wanted[key], places.ABSENT)
            else:
                self._unify(wanted[key], left.pop(actual), f"{path}.{actual}")
        for key in sorted(left):
            self._differ(f"{path}.{key}", places.ABSENT, left[key])

    def _key(self, key: str, candidates: dict[str, Any]) -> str | None:
        """Return the key that a recorded key stands for, as it may contain variables."""
        known = _VARIABLE.sub(lambda found: self._values.get(found[0][2:-1], found[0]), key)
        if known in candidates:
            return known
        if "${" not in known:
            return None
        pattern = _pattern(known)
        return next((each for each in candidates if pattern.fullmatch(each)), None)

    def _unify_text(self, wanted: str, got: Any, path: str) -> None:
        variables = list(_VARIABLE.finditer(wanted))
        if not variables:
            if wanted != got:
                self._differ(path, wanted, got)
            return
        is_number = variables[0]["kind"] == "nodeport"
        match = _pattern(wanted).fullmatch(str(got))
        if match is None or isinstance(got, bool) or not isinstance(got, int if is_number else str):
            self._differ(path, wanted, got)
            return
        for variable, value in zip(variables, match.groups(), strict=True):
            if variable["number"]:
                self._bind(variable["kind"], variable[0][2:-1], value, path)

    def _bind(self, kind: str, name: str, value: str, path: str) -> None:
        known = self._values.get(name)
        if known is None:
            taken = {each: found for each, found in self._values.items() if found == value}
            if kind in _DISTINCT and any(each.split(":")[0] == kind for each in taken):
                self._differences.append(f"{path}: wanted a new {kind}, got {value} again")
            if kind == "rv":
                self._check_order(name, value, path)
        elif known != value:
            self._differences.append(f"{path}: wanted {known} (${{{name}}}), got {value}")
        self._values[name] = value  # a mismatch is reported once

    def _check_order(self, name: str, value: str, path: str) -> None:
        rank = self._ranks.get(name)
        for other, taken in self._values.items():
            other_rank = self._ranks.get(other)
            if rank is None or other_rank is None or other_rank == rank:
                continue
            if (other_rank < rank) != (int(taken) < int(value)):
                self._differences.append(f"{path}: {value} and {taken} are in the wrong order")
                return


def projected(answer: Answer) -> Any:
    """Return the part of a response that its step compares."""
    step, actual = answer.step, answer.actual
    document = copy.deepcopy(answer.document)
    arrange_managed_fields(document, keep=step.managed_fields)
    for path in actual.ignore:
        places.remove(document, path)
    for path in actual.unordered:
        for found in places.find(document, path):
            if isinstance(found, list):
                found.sort(key=_sort_key)
    if step.expect == "subset":
        return {
            written: places.find(document, path)
            for written, path in zip(step.select, actual.select, strict=True)
        }
    return document


def arrange_managed_fields(node: Any, *, keep: bool) -> None:
    """Drop managedFields, or put the entries into an order that does not depend on timing."""
    if isinstance(node, list):
        for item in node:
            arrange_managed_fields(item, keep=keep)
    elif isinstance(node, dict):
        meta = node.get("metadata")
        if isinstance(meta, dict) and isinstance(meta.get("managedFields"), list):
            if keep:
                meta["managedFields"].sort(key=_entry_key)
            else:
                del meta["managedFields"]
        for item in node.values():
            arrange_managed_fields(item, keep=keep)


def _entry_key(entry: Any) -> tuple[str, ...]:
    names = ("operation", "manager", "apiVersion", "subresource")
    return tuple(str(entry.get(name, "")) for name in names)


def _sort_key(item: Any) -> str:
    name = ""
    if isinstance(item, dict):
        name = str(item.get("name") or (item.get("metadata") or {}).get("name") or "")
    return f"{name}\0{json.dumps(item, sort_keys=True)}"


def _media_type(content_type: str) -> str:
    parts = [part.strip() for part in content_type.split(";")]
    return ";".join(part for part in parts if not part.startswith("charset="))


def status_compared(body: dict[str, Any], *, exact: bool) -> dict[str, Any]:
    """Return a Status with its causes as a set, and without texts that do not count."""
    body = copy.deepcopy(body)
    if not exact:
        body.pop("message", None)
    details = body.get("details")
    if isinstance(details, dict) and isinstance(details.get("causes"), list):
        keys = ("field", "reason", "message") if exact else ("field", "reason")
        causes = {
            tuple((key, str(cause[key])) for key in keys if key in cause)
            for cause in details["causes"]
        }
        details["causes"] = [dict(cause) for cause in sorted(causes)]
    return body


def _pattern(wanted: str) -> re.Pattern[str]:
    """Return a regular expression for a recorded text, with a group for every variable."""
    parts, position = [], 0
    for variable in _VARIABLE.finditer(wanted):
        parts.append(re.escape(wanted[position : variable.start()]))
        parts.append(f"({_FORMATS[variable['kind']]})")
        position = variable.end()
    return re.compile("".join(parts) + re.escape(wanted[position:]), re.DOTALL)


def short(value: Any) -> str:
    """Return a value in short, for a difference."""
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"
