"""The functions of the strings extension.  Positions count characters, not bytes."""

from myrmidon.apiserver.cel.declarations import function, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.functions.formatting import format_values
from myrmidon.apiserver.cel.values import Value
from myrmidon.apiserver.golang.text import ESCAPES

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def _out_of_range(index: int) -> CelEvaluationError:
    return CelEvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if not part:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator) if count < 0 else text.split(separator, count - 1)
    if count < 0 or count >= len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelEvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if index is not None and not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _join(items: list[Value], separator: str = "") -> str:
    for item in items:
        if type(item) is not str:
            raise CelEvaluationError(f"join: invalid input: {item}")
    return separator.join(items)


def _quote(text: str) -> str:
    return '"' + "".join(ESCAPES.get(char, char) for char in text) + '"'


OVERLOADS = (
    method("string_char_at_int", "charAt(string, int) -> string", _char_at),
    method("string_index_of_string", "indexOf(string, string) -> int", _index_of),
    method("string_index_of_string_int", "indexOf(string, string, int) -> int", _index_of),
    method("string_last_index_of_string", "lastIndexOf(string, string) -> int", _last_index_of),
    method(
        "string_last_index_of_string_int", "lastIndexOf(string, string, int) -> int", _last_index_of
    ),
    method("string_lower_ascii", "lowerAscii(string) -> string", lambda s: s.translate(_LOWER)),
    method("string_upper_ascii", "upperAscii(string) -> string", lambda s: s.translate(_UPPER)),
    method("string_replace_string_string", "replace(string, string, string) -> string", _replace),
    method(
        "string_replace_string_string_int",
        "replace(string, string, string, int) -> string",
        _replace,
    ),
    method("string_split_string", "split(string, string) -> list(string)", _split),
    method("string_split_string_int", "split(string, string, int) -> list(string)", _split),
    method("string_substring_int", "substring(string, int) -> string", _substring),
    method("string_substring_int_int", "substring(string, int, int) -> string", _substring),
    method("string_trim", "trim(string) -> string", lambda s: s.strip(_SPACE)),
    method("string_format", "format(string, list(dyn)) -> string", format_values),
    function("strings_quote", "strings.quote(string) -> string", _quote),
    method("list_join", "join(list(string)) -> string", _join),
    method("list_join_string", "join(list(string), string) -> string", _join),
)
