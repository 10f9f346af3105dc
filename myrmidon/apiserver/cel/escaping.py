"""The name of a field for its name in a rule (``api.values.cel_names`` has the way there)."""

import re

from myrmidon.api.values.cel_names import ESCAPES, KEYWORDS

_ESCAPED = re.compile(r"__([^_]+)__")


def unescape(name: str) -> str | None:
    """Return the field name for a name in a rule, None if that is not a valid escaped name."""
    if "__" not in name:
        return name
    characters = {word: char for char, word in ESCAPES.items()}
    wrong = False

    def replaced(found: re.Match[str]) -> str:
        nonlocal wrong
        word = found.group(1)
        if word in characters:
            return characters[word]
        wrong = wrong or word not in KEYWORDS or found.group() != name
        return word

    text = _ESCAPED.sub(replaced, name)
    return None if wrong else text
