"""The regex functions ``find`` and ``findAll`` of the Kubernetes library."""

from myrmidon.apiserver.cel.declarations import method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.golang.regex import Pattern, PatternError, compile_pattern

# The index of the pattern among the arguments.  Constant patterns are compiled with the rule.
PATTERN_FUNCTIONS = {"matches": 1, "find": 1, "findAll": 1}


def _compile(pattern: str) -> Pattern:
    try:
        return compile_pattern(pattern)
    except PatternError as error:
        raise CelEvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _compile(pattern).find(text)
    return text[found.start : found.end] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    find = _compile(pattern).find
    matches: list[str] = []
    at, last_end = 0, -1
    while at <= len(text) and (found := find(text, at)) and len(matches) != limit:
        start, end = found
        # Go omits an empty match directly after another match.
        if end > start or start != last_end:
            matches.append(text[start:end])
        last_end = end
        at = end if end > start else end + 1
    return matches


OVERLOADS = (
    method("string_find_string", "find(string, string) -> string", _find),
    method("string_find_all_string", "findAll(string, string) -> list(string)", _find_all),
    method("string_find_all_string_int", "findAll(string, string, int) -> list(string)", _find_all),
)
