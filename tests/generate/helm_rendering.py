"""The part of Helm's template language that our charts use, for tests without the program helm.

``tests/cluster/test_helm.py`` renders the same charts with the real one.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

_ACTION = re.compile(r"(\s*)\{\{(-?) (.*?) \}\}", re.DOTALL)


def rendered(template: str, values: dict[str, Any], namespace: str) -> str:
    """Render one template."""
    scope = {"Values": values, "Release": {"Namespace": namespace}}
    return "".join(_block(list(_parts(template)), scope, scope))


def merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Put the user's values over the defaults, as Helm does: maps are merged."""
    both = {key: value for key, value in values.items() if isinstance(value, dict)}
    deep = {key: merged(both[key], value) for key, value in changes.items() if key in both}
    return {**values, **changes, **deep}


def _parts(template: str) -> Iterator[tuple[str, str]]:
    """Split a template into ("text", ...) and ("action", ...)."""
    end = 0
    for found in _ACTION.finditer(template):
        yield "text", template[end : found.start()] + ("" if found[2] else found[1])
        yield "action", found[3]
        end = found.end()
    yield "text", template[end:]


def _block(parts: list[tuple[str, str]], scope: Any, dot: Any) -> Iterator[str]:
    while parts:
        sort, text = parts.pop(0)
        word, _, rest = text.partition(" ")
        if sort == "text":
            yield text
        elif text in ("end", "else"):
            parts.insert(0, (sort, text))  # for the caller
            return
        elif word in ("if", "with"):
            value = _value(rest, scope, dot)
            inner = list(_block(parts, scope, value if word == "with" else dot))
            otherwise: list[str] = []
            if parts.pop(0)[1] == "else":
                otherwise = list(_block(parts, scope, dot))
                parts.pop(0)
            yield from inner if value else otherwise
        else:
            yield _text(text, scope, dot)


def _text(expression: str, scope: Any, dot: Any) -> str:
    if expression == '"{{"':
        return "{{"
    source, _, pipe = expression.partition(" | ")
    value = _value(source.removeprefix("toYaml "), scope, dot)
    if source.startswith("toYaml "):
        indent = " " * int(pipe.removeprefix("nindent "))
        lines = yaml.safe_dump(value, default_flow_style=False).splitlines()
        return "".join(f"\n{indent}{line}" for line in lines)
    assert pipe in ("", "quote"), expression
    return f'"{value}"' if pipe else str(value)


def _value(path: str, scope: Any, dot: Any) -> Any:
    if path.startswith("and "):
        return all(_value(each, scope, dot) for each in path.split()[1:])
    value = dot if path == "." else scope
    for step in path.split(".")[1:] if path != "." else ():
        value = value[step]
    return value
