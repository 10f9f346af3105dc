"""Search for what notices each ablation: ``python -m tests.testing.simulation.write_ablations``.

It writes ``ablations.json``, which the tests replay, and the table in docs/internals/ablations.md.  It takes
two minutes.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from myrmidon.testing.harness.garbage import rare_collections
from tests.testing.simulation.ablations import ABLATIONS, Noticed, notice

FOUND = Path(__file__).with_name("ablations.json")
PAGE = Path(__file__).parents[3] / "docs" / "internals" / "ablations.md"

_HEAD = """# Safeguards that are switched off

The framework has safeguards against faults. The table shows for each of them what the [simulator](simulator.md) reports if it is switched off by a patch of a test; a user cannot switch it off. `python -m tests.testing.simulation.write_ablations` searches again and
writes this page; the tests replay the plans that it found, with the safeguard off (an oracle must fail) and on (none may).

{noticed} of {all} are noticed. What is not noticed has a second safeguard behind it, which the last column names.

| safeguard | oracle | object or property | the first plan that shows it | runs |
|---|---|---|---|---|
"""
BEHIND = {
    "S3 ambiguous writes are read back": "a repeated create is answered with AlreadyExists, and then read",
    "S6 absence is read live": "own writes are in the cache at once, and the first list of a process is consistent",
    "S12 403 is not 404": "an object that the cache has is tried again after a 404",
}


def read() -> list[Noticed]:
    """Return what was found."""
    return [Noticed(**one) for one in json.loads(FOUND.read_text(encoding="utf-8"))]


def page(found: list[Noticed]) -> str:
    """Return the page with the table."""
    noticed = sum(bool(one.oracle) for one in found)
    rows = []
    for one in found:
        if one.oracle:
            plan = one.told.replace("|", ", ")
            rows.append(f"| {one.safeguard} | {one.oracle} | {one.role} | {plan} | {one.runs} |")
        else:
            why = BEHIND[one.safeguard]
            rows.append(f"| {one.safeguard} | not noticed | | {why} | {one.runs} |")
    return _HEAD.format(noticed=noticed, all=len(found)) + "\n".join(rows) + "\n"


def main(words: list[str]) -> None:
    """Search, and write both files; with words, only for the safeguards that contain one of them."""
    known = {one.safeguard: one for one in read()} if words else {}
    with rare_collections():
        found = [
            notice(ablation)
            if ablation.safeguard not in known or any(word in ablation.safeguard for word in words)
            else known[ablation.safeguard]
            for ablation in ABLATIONS
        ]
    text = json.dumps([asdict(one) for one in found], indent=1)
    FOUND.write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
