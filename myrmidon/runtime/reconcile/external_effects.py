"""ExternalEffect: one call that changed a resource outside the cluster, or may have."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ExternalVerb: TypeAlias = Literal["create", "update", "delete"]


@dataclass(slots=True)
class ExternalEffect:
    """A create, update or delete of an ``External``; a call that was refused has no effect."""

    by: str
    """The author of the pass, as for writes to the API server (``io.own_writes.author``)."""
    external: str
    """The name of the ``External``."""
    verb: ExternalVerb
    id: str = ""
    """The id of the resource; empty if the call that creates it got no clear answer."""
    unknown: bool = False
    """True if no clear answer came: the call may have taken effect."""
