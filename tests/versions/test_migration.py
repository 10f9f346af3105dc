"""Which migration a definition needs, how far it is, and when it is done."""

import json
from typing import Any

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.generate.schema.definitions import crd
from myrmidon.webhooks.versions.migration import (
    PROGRESS,
    MigrationProgress,
    finishing_patch,
    is_in_progress,
    migration_of,
    progress_of,
    progress_patch,
)
from tests.versions.apps import GROUP, App

HALF = MigrationProgress("token", 250, 200, 1)


def definition(stored: list[str] | None = None, progress: Any = None) -> Json:
    """Return the definition as a server has it."""
    made = crd(App)
    made["metadata"] |= {"generation": 3, "resourceVersion": "77"}
    if progress is not None:
        made["metadata"]["annotations"] = {PROGRESS: progress}
    return {**made, "status": {"storedVersions": stored or ["v1beta1", "v1"]}}


def test_versions_that_were_stored_before_need_a_migration() -> None:
    """To the storage version; objects are listed in the version that needs no conversion."""
    migration = migration_of(definition())

    assert migration is not None
    assert migration.definition == f"apps.{GROUP}"
    assert migration.kind == Kind(GROUP, "v1", "App", "apps", namespaced=True)
    assert (migration.stale, migration.generation, migration.listed) == (("v1beta1",), 3, "v1beta1")


def test_a_version_that_is_not_served_cannot_be_listed() -> None:
    """Then the storage version is."""
    made = definition()
    made["spec"]["versions"][1]["served"] = False

    migration = migration_of(made)
    assert migration is not None
    assert migration.listed == "v1"


@pytest.mark.parametrize("status", [{"storedVersions": ["v1"]}, {}, None])
def test_nothing_else_needs_one(status: Any) -> None:
    """For example a definition that is not established yet."""
    assert migration_of({**definition(), "status": status}) is None


def test_progress_is_read_where_it_was_written() -> None:
    """As long as the spec of the definition is the same."""
    migration = migration_of(definition())
    assert migration is not None
    text = progress_patch(HALF, migration)["metadata"]["annotations"][PROGRESS]

    assert progress_of(definition(progress=text), migration) == HALF
    assert progress_of(definition(progress=text), migration._replace(generation=4)) == (
        MigrationProgress()
    )
    assert is_in_progress(definition(progress=text))
    assert not is_in_progress(definition())
    assert progress_patch(None) == {"metadata": {"annotations": {PROGRESS: None}}}


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", "{}", json.dumps({"generation": 3, "token": 1, "seen": 1, "rewritten": 1, "failed": 1}),
     json.dumps({"generation": 3, "token": "", "seen": True, "rewritten": 1, "failed": 1})],
)  # fmt: skip
def test_an_annotation_that_is_not_progress_means_the_beginning(text: Any) -> None:
    """A client can write anything there."""
    migration = migration_of(definition())
    assert migration is not None

    assert progress_of(definition(progress=text), migration) == MigrationProgress()


@pytest.mark.law("V3")
def test_only_the_migration_that_began_can_finish() -> None:
    """With another storage version, the objects would have to be written once more."""
    migration = migration_of(definition())
    assert migration is not None
    changed = definition()
    changed["metadata"]["generation"] = 4

    assert finishing_patch(definition(), migration) == {
        "metadata": {"resourceVersion": "77"},
        "status": {"storedVersions": ["v1"]},
    }
    assert finishing_patch(changed, migration) is None
    assert finishing_patch(definition(["v1"]), migration) is None


def test_progress_is_told_in_one_line() -> None:
    """With the total if that is known."""
    assert HALF.told(50) == "250 of 300 objects seen, 200 rewritten, 1 failed"
    assert MigrationProgress(seen=3).told() == "3 objects seen, 0 rewritten"
