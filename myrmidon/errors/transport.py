"""Errors for requests that got no answer."""

from myrmidon.errors.root import MyrmidonError


class TransportError(MyrmidonError):
    """The request got no answer."""


class UnreachableError(TransportError):
    """The request was not sent."""


class AmbiguousError(TransportError):
    """The request was sent and no answer came; whether it took effect is unknown."""
