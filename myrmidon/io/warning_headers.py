"""Warnings of the API server: ``Warning`` headers of its answers, each told once.

The server accepts a request and warns about it: a deprecated version, an unknown field that it
dropped, a Pod that violates a security standard, whatever an admission webhook has to say.  kubectl
prints these lines; a controller that ignores them hides them from its users.

``Applicator.send`` passes each warning to ``Warnings.hear`` with the signature of the pass that
sent the request; when the pass is over, the reconciler takes them out and tells them in the log and
as an Event ``ApiWarning`` on the object.  A warning that was told is not told again for the same
object and text.  What was told is remembered for the last ``told_max`` warnings, so memory is
bounded; after a restart each warning is told once more.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from myrmidon.api.refs import ObjectRef

_HEADER = re.compile(r'299 \S{1,200} "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_CHARACTERS_MAX = 1000


class ApiWarning(NamedTuple):
    """What the server said about a request for an object."""

    ref: ObjectRef
    text: str


class Warnings:
    """Warnings that were heard in a pass and not told before."""

    def __init__(self, *, told_max: int = 4096) -> None:
        self._told_max = told_max
        self._told: dict[ApiWarning, None] = {}
        self.heard: dict[str, list[ApiWarning]] = {}
        """What was not taken yet, by the signature of the pass."""

    def hear(self, by: str, ref: ObjectRef, texts: Iterable[str]) -> None:
        """Keep warnings for the pass that signs as ``by``; those that were told before are dropped."""
        for text in texts:
            warning = ApiWarning(ref, text)
            if warning not in self._told:
                self._told[warning] = None
                self.heard.setdefault(by, []).append(warning)
        while len(self._told) > self._told_max:
            del self._told[next(iter(self._told))]

    def take(self, by: str) -> list[ApiWarning]:
        """Return what was heard for the pass since the last call."""
        return self.heard.pop(by, [])


def warning_texts(headers: Iterable[tuple[str, str]]) -> list[str]:
    """Return the texts of all ``Warning: 299 - "..."`` headers; names are in lower case."""
    return [
        _ESCAPED.sub(r"\1", text)[:_CHARACTERS_MAX]
        for name, value in headers
        if name == "warning"
        for text in _HEADER.findall(value)
    ]
