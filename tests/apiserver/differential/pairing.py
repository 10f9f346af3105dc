"""Compares the responses of two servers to the same requests.

Values that each server chooses (uids, versions, addresses) cannot be equal.  A pair of such values
is bound when it first appears; from then on they must always appear together, and the versions of
both servers must be in the same order.
"""

import json
import re
from typing import Any

from myrmidon.api.requests.transport import HttpResponse
from tests.apiserver.conformance.comparing import (
    EXACT_REASONS,
    arrange_managed_fields,
    short,
    status_compared,
)
from tests.apiserver.conformance.places import ABSENT
from tests.apiserver.conformance.scenarios import read_yaml

_FREE = {
    "creationTimestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "deletionTimestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "lastTransitionTime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "continue": r".+",
}
_BOUND = frozenset({"uid", "resourceVersion", "clusterIP", "nodePort", "healthCheckNodePort"})
_NO_ADDRESS = "10.0.0.0"  # what a dry run returns
_DISTINCT = frozenset({"uid", "resourceVersion"})
_SUFFIX_LENGTH = 5  # of a generated name
_FREE_TEXTS = (
    re.compile(r"(?:\d+[smhdy])+$"),
    re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"),
    re.compile(r"RBAC: allowed by "),
)


class Pairing:
    """Two servers, with the values of one bound to those of the other."""

    def __init__(self, *, exact: bool = False) -> None:
        self._exact = exact  # all texts of failures count, not only those that are a contract
        self._bound: dict[str, dict[Any, Any]] = {}
        self._versions: list[tuple[int, int]] = []
        self._found: list[str] = []

    def differences(
        self, real: HttpResponse, own: HttpResponse, *, managed_fields: bool = True
    ) -> list[str]:
        """Return the differences in the response of our server."""
        self._found = []
        if real.status != own.status:
            self._differ("status", real.status, own.status)
        for name in ("content-type", "warning", "retry-after"):
            one, other = _header(real, name), _header(own, name)
            self._compare(one, other, name, name)
        self._whole(_document(real), _document(own), "body", keep=managed_fields)
        return self._found

    def event_differences(self, real: list[Any], own: list[Any]) -> list[str]:
        """Return the differences in the events of a watch."""
        self._found = []
        types = ([_event(each) for each in real], [_event(each) for each in own])
        if types[0] != types[1]:
            self._differ("events", *types)
        for index, (one, other) in enumerate(zip(real, own, strict=False)):
            if one["type"] != other["type"]:
                break
            self._whole(one["object"], other["object"], f"events[{index}]", keep=True)
        return self._found

    def _whole(self, real: Any, own: Any, path: str, *, keep: bool) -> None:
        for document in (real, own):
            arrange_managed_fields(document, keep=keep)
        if isinstance(real, dict) and real.get("kind") == "Status" and isinstance(own, dict):
            success = real.get("status") == "Success"
            exact = self._exact or success or real.get("reason") in EXACT_REASONS
            real, own = status_compared(real, exact=exact), status_compared(own, exact=exact)
        if isinstance(real, dict) and isinstance(real.get("metadata"), dict) and _is_list(real):
            self._list_version(real, own, path)
        self._compare(real, own, path, "")

    def _list_version(self, real: Any, own: Any, path: str) -> None:
        """Check and drop the version of a list, which may be any not below those of its items."""
        for document in (real, own):
            if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
                return
            version = document["metadata"].pop("resourceVersion", None)
            if not isinstance(version, str) or not version.isdigit():
                self._found.append(f"{path}: a list without a version: {short(document)}")

    def _differ(self, path: str, real: Any, own: Any) -> None:
        self._found.append(f"{path}: the real server has {short(real)}, ours {short(own)}")

    def _compare(self, real: Any, own: Any, path: str, key: str) -> None:
        match real, own:
            case dict(), dict():
                self._bind_generated(real, own)
                real = {self._in_our_words(name): value for name, value in real.items()}
                for name in [*real, *(each for each in own if each not in real)]:
                    nested = f"{path}.{name}"
                    self._compare(real.get(name, ABSENT), own.get(name, ABSENT), nested, name)
            case list(), list():
                if len(real) != len(own):
                    self._differ(path, real, own)
                    return
                inner = "clusterIP" if key == "clusterIPs" else ""
                for index, (one, other) in enumerate(zip(real, own, strict=True)):
                    self._compare(one, other, f"{path}[{index}]", inner)
            case _:
                self._leaves(real, own, path, key)

    def _leaves(self, real: Any, own: Any, path: str, key: str) -> None:
        if key in _FREE and isinstance(real, str) and isinstance(own, str) and real and own:
            if not re.fullmatch(_FREE[key], own):
                self._differ(path, real, own)
        elif key in _BOUND and type(real) is type(own) and real not in {"", "None"}:
            if real != _NO_ADDRESS:
                self._bind(key, real, own, path)
        elif isinstance(real, str) and isinstance(own, str):
            if real != own and self._in_our_words(real) != own and not _are_free(real, own):
                self._differ(path, real, own)
        elif type(real) is not type(own) or real != own:
            self._differ(path, real, own)

    def _bind(self, key: str, real: Any, own: Any, path: str) -> None:
        known = self._bound.setdefault(key, {})
        taken = key in _DISTINCT and real not in known and own in known.values()
        if known.get(real, own) != own or taken:
            self._differ(path, f"{real} (ours: {known.get(real)})", own)
        elif key == "resourceVersion" and real not in known and real.isdigit() and own.isdigit():
            pair = int(real), int(own)
            if any((one < pair[0]) != (other < pair[1]) for one, other in self._versions):
                self._differ(f"{path} (in the wrong order)", real, own)
            self._versions.append(pair)
        known[real] = own

    def _in_our_words(self, text: str) -> str:
        """Return a text of the real server with our uids and names in it."""
        for key in ("name", "uid", "resourceVersion", "clusterIP"):
            for real, own in self._bound.get(key, {}).items():
                text = re.sub(rf"(?<![\w.]){re.escape(real)}(?![\w.])", own, text)
        return text

    def _bind_generated(self, real: Any, own: Any) -> None:
        """Bind the names that the two servers generated for the same object."""
        names = real.get("name"), own.get("name")
        if "generateName" in real and all(isinstance(name, str) for name in names):
            begins = [str(name)[:-_SUFFIX_LENGTH] for name in names]
            if begins[0] == begins[1]:
                self._bound.setdefault("name", {}).setdefault(*names)


def _header(response: HttpResponse, name: str) -> list[str]:
    found = [value for key, value in response.headers if key == name]
    return sorted(value.replace("; ", ";").replace(";charset=utf-8", "") for value in found)


def _document(response: HttpResponse) -> Any:
    text = response.body.decode(errors="replace")
    if (response.header("content-type") or "").startswith("application/yaml"):
        return read_yaml(text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _event(event: Any) -> str:
    name = (event["object"].get("metadata") or {}).get("name", "")
    return f"{event['type']} {name}"


def _is_list(document: dict[str, Any]) -> bool:
    return "items" in document or document.get("kind") == "Table"


def _are_free(real: str, own: str) -> bool:
    """Whether the texts differ only in times or in which of several bindings was found first."""
    return any(pattern.match(real) and pattern.match(own) for pattern in _FREE_TEXTS)
