"""An object of a recording in words, for ``myrmidon explain --file``."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError

_SIGNS = {"True": "✓", "False": "…", "Unknown": "?"}
_PASSES_SHOWN = 10


def find_story(document: Json, kind: str, name: str, namespace: str | None) -> Json:
    """Return the story of one object; raise ``UsageError`` if the recording does not have it."""
    rows = [one["row"] for one in document["objects"]]
    found: list[Json] = [
        one
        for one in document["objects"]
        if one["row"]["name"] == name
        and kind.lower() in (one["row"]["kind"].lower(), f"{one['row']['kind'].lower()}s")
        and namespace in (None, one["row"]["namespace"])
    ]
    if not found:
        listed = ", ".join(f"{row['kind']} {row['namespace']}/{row['name']}" for row in rows[:10])
        raise UsageError(
            f"the recording has no {kind} {name}.\n  fix: name one that it has: {listed or 'none'}"
        )
    return found[0]


def story_lines(story: Json) -> Iterator[str]:
    """Yield what the recording says about an object."""
    row = story["row"]
    yield f"{row['kind']} {row['namespace']}/{row['name']}  {row['phase']}"
    if row["reason"]:
        yield f"  {row['reason']}: {row['message']}"
    for one in story["conditions"]:
        yield f"  {_SIGNS.get(one['status'], '?')} {one['type']}  {one['reason']} {one['message']}".rstrip()
    for one in story["children"]:
        yield f"  child {one['kind']} {one['name']}: {one['readiness']}"
    yield f"passes, newest first ({len(story['passes'])} recorded):"
    for one in [*reversed(story["passes"])][:_PASSES_SHOWN]:
        yield from _pass_lines(one)


def _pass_lines(one: Json) -> Iterator[str]:
    path = " → ".join(step["state"] for step in one["steps"]) or "no state"
    repeats = f", {one['repeats'] + 1} times" if one["repeats"] else ""
    yield f"  {one['at'][11:19]}  {path}{repeats}"
    yield from (f"    woken by {cause}" for cause in one["causes"])
    for write in one["writes"]:
        refused = f", refused: {write['error']}" if write["error"] else ""
        yield (
            f"    {write['verb']} {write['external'] or write['kind'] + ' ' + write['name']} {write['part']}".rstrip()
            + refused
        )
        for field in write["fields"]:
            if not field.get("hidden"):
                yield f"      {field['path']}: {field['before']} → {field['after']}"
    if one["failure"]:
        yield f"    failed: {one['failure']}"
