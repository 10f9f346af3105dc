"""``find`` and ``findAll`` of the Kubernetes library."""

from myrmidon.apiserver.cel.declarations import method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.go_regex import PatternError, translate

# The position of the pattern among the arguments: constant ones are compiled with the rule.
PATTERN_FUNCTIONS = {"matches": 1, "find": 1, "findAll": 1}


def _find(text: str, pattern: str) -> str:
    try:
        found = translate(pattern).search(text)
    except PatternError as error:
        raise CelEvaluationError(f"Illegal regex: {error}") from None
    return found.group() if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    try:
        search = translate(pattern).search
    except PatternError as error:
        raise CelEvaluationError(f"Illegal regex: {error}") from None
    found: list[str] = []
    at, end = 0, -1
    while at <= len(text) and (match := search(text, at)):
        # Nothing, right behind something that was found, is not worth mentioning to Go.
        if match.group() or match.start() != end:
            found.append(match.group())
        end = match.end()
        at = end if match.group() else end + 1
    return found if limit < 0 else found[:limit]


OVERLOADS = (
    method("string_find_string", "find(string, string) -> string", _find),
    method("string_find_all_string", "findAll(string, string) -> list(string)", _find_all),
    method("string_find_all_string_int", "findAll(string, string, int) -> list(string)", _find_all),
)
