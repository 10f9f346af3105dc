"""Warnings of the API server: ``Warning`` headers of its answers, each reported once.

The server may accept a request and warn about it: a deprecated apiVersion, an unknown field that it
dropped, a Pod that violates a security standard, or a warning from an admission webhook.  kubectl
prints these lines; a controller that ignores them hides them from its users.

``Applicator.send`` passes each warning to ``Warnings.hear``, with the signature of the pass that
sent the request.  After the pass, the reconciler takes them and reports them in the log and as an
Event ``ApiWarning`` on the object.  The same text for the same object is reported only once.  The
last ``told_max`` reported warnings are remembered, so memory is bounded; after a restart each
warning is reported again.
"""

import re
from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import NamedTuple

from myrmidon.api.objects.refs import ObjectRef

_HEADER = re.compile(r'299 \S{1,200} "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_CHARACTERS_MAX = 1000
_NAME_OF = itemgetter(0)


class ApiWarning(NamedTuple):
    """One warning about a request for an object."""

    ref: ObjectRef
    text: str


class Warnings:
    """Collects the new warnings of each pass."""

    def __init__(self, *, told_max: int = 4096) -> None:
        self._told_max = told_max
        self._told: dict[ApiWarning, None] = {}
        self.heard: dict[str, list[ApiWarning]] = {}
        """Warnings that have not been taken yet, by the signature of the pass."""

    def hear(self, by: str, ref: ObjectRef, texts: Iterable[str]) -> None:
        """Keep warnings for the pass with signature ``by``; drop those reported before."""
        for text in texts:
            warning = ApiWarning(ref, text)
            if warning not in self._told:
                self._told[warning] = None
                self.heard.setdefault(by, []).append(warning)
        while len(self._told) > self._told_max:
            del self._told[next(iter(self._told))]

    def take(self, by: str) -> list[ApiWarning]:
        """Return and remove the warnings of a pass."""
        return self.heard.pop(by, [])


def warning_texts(headers: Collection[tuple[str, str]]) -> list[str]:
    """Return the texts of all ``Warning: 299 - "..."`` headers.  Header names are in lower case."""
    if "warning" not in map(_NAME_OF, headers):
        return []  # nearly always
    return [
        _ESCAPED.sub(r"\1", text)[:_CHARACTERS_MAX]
        for name, value in headers
        if name == "warning"
        for text in _HEADER.findall(value)
    ]
