"""The Warning headers of a response: each text once, and not too long in all.

As on the real server, a text with control characters is dropped.  If all texts together exceed 4,096
characters, each is cut to 256, and those beyond the limit are dropped.
"""

from collections.abc import Iterable, Iterator

Headers = tuple[tuple[str, str], ...]
_ALL_MAX, _EACH_MAX = 4096, 256


def warning_headers(texts: Iterable[str]) -> Headers:
    """Return a header for each text."""
    if not texts:
        return ()
    once = [text for text in dict.fromkeys(texts) if text and not _has_control(text)]
    is_short = sum(map(len, once)) <= _ALL_MAX
    return tuple(map(_header, once if is_short else _cut(once)))


def _cut(texts: Iterable[str]) -> Iterator[str]:
    written = 0
    for text in texts:
        if written >= _ALL_MAX:
            return
        yield text[:_EACH_MAX]
        written += len(text[:_EACH_MAX])


def _has_control(text: str) -> bool:
    return any(char < " " or "\x7f" <= char < "\xa0" for char in text)


def _header(text: str) -> tuple[str, str]:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return "warning", f'299 - "{escaped}"'
