"""Keywords of a class statement: ``class WebApp(Resource[...], group="example.com", version="v1")``.

Python answers an unknown keyword with "takes no keyword arguments", which names neither the keyword
nor the known ones.
"""

from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from typing import Any

from myrmidon.api.typed.definitions import mistake
from myrmidon.api.values.texts import nearest

_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_MEANT = {
    "scope": "write namespaced=False for a kind without namespaces; namespaced=True is the default",
    "options": "write options = ControllerOptions(...) in the body of the class",
}


def pass_on(cls: type, parent: Callable[..., None], keywords: dict[str, Any]) -> None:
    """Call ``parent``, the inherited ``__init_subclass__``, with the keywords that are left.

    Raises ``DefinitionError`` for a keyword that no class in the hierarchy takes.
    """
    known = sorted(_known(cls)) if keywords else []
    for name in keywords.keys() - known:
        close = nearest(name, known)
        fix = _MEANT.get(name) or (
            f"did you mean {close}?" if close else f"known are {', '.join(known)}"
        )
        raise mistake(f"class {cls.__name__} has the keyword {name}=, which is not known", fix)
    parent(**keywords)


def _known(cls: type) -> Iterator[str]:
    """Yield the keywords that the classes from which this one is derived take."""
    for base in cls.__mro__[1:]:
        method = vars(base).get("__init_subclass__")
        if isinstance(method, classmethod):
            parameters = list(signature(method.__func__).parameters.values())[1:]
            yield from (each.name for each in parameters if each.kind not in _VARIABLE)
