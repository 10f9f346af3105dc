"""Types without a structural form: why, and what to write instead."""

import datetime as dt
from decimal import Decimal
from pathlib import PurePath
from typing import Any, get_origin
from uuid import UUID

from pydantic import BaseModel

_INSTEAD: tuple[tuple[type, str], ...] = (
    (dt.timedelta, "use myrmidon.api.Duration, which is written 1h30m"),
    (dt.time, "use str with a pattern"),
    (bytes, "use myrmidon.api.Base64, which is text on the wire"),
    (set, "use Annotated[list[...], ListSet()], which keeps its order"),
    (frozenset, "use Annotated[list[...], ListSet()], which keeps its order"),
    (Decimal, "use myrmidon.api.Quantity, or float"),
    (UUID, "use str with a pattern"),
    (PurePath, "use str"),
    (complex, "use two numbers"),
    (tuple, "use list[X] or tuple[X, ...]; elements of a list share one type"),
    (BaseModel, "derive it from myrmidon.Model instead of pydantic.BaseModel"),
    (dict, "use dict[str, X]"),
)


def fix_for(annotation: Any) -> tuple[str, str]:
    """What is wrong with the type and what to use instead."""
    origin = get_origin(annotation) or annotation
    name = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    problem = f"has the type {name.replace('typing.', '')}, which has no structural schema"
    if isinstance(origin, type):
        for refused, fix in _INSTEAD:
            if issubclass(origin, refused):
                return problem, fix
    return problem, (
        "use str, int, float, bool, datetime, date, Quantity, Duration, IntOrString, Enum, Literal, "
        "a Model, list[X], dict[str, X] or Any; or say the schema yourself: Annotated[..., OpenApi({...})]"
    )
