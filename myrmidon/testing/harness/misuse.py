"""Slips in a test, answered where they happen instead of deep inside the event loop.

A harness is synchronous and has an event loop of its own, takes timedeltas, controller objects and
kinds.  A number, a class, a text or an ``async def`` in the wrong place would otherwise end in an
AttributeError or RuntimeError of asyncio that does not name the test's line.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.api.objects.refs import Kind
from myrmidon.api.values.texts import nearest
from myrmidon.errors import ApiError, InvalidError, NotFoundError, UnknownFieldError, UsageError
from myrmidon.runtime import ManagerOptions

_CONSTANTS = {name: kind for name, kind in vars(kinds).items() if isinstance(kind, Kind)}


def check_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Raise if the loop of the test's cluster cannot run now."""
    if loop.is_closed():
        raise UsageError(
            "the cluster of this test is closed.\n"
            "  fix: use it inside its `with` block, and before close()"
        )
    check_not_async()


def check_not_async() -> None:
    """Raise if an event loop is running already: the test is an ``async def``."""
    if asyncio._get_running_loop() is not None:  # noqa: SLF001 - the public function raises instead
        raise UsageError(
            "the cluster of a test has an event loop of its own and cannot run inside another one.\n"
            "  fix: write `def test_...` instead of `async def test_...`; its calls need no await"
        )


def check_duration(value: Any, caller: str) -> None:
    """Raise if a duration is not a timedelta."""
    if value is not None and not isinstance(value, timedelta):
        seconds = value if isinstance(value, int | float) else "..."
        raise UsageError(
            f"{caller} got {value!r}, which is not a timedelta.\n"
            f"  fix: write timedelta(seconds={seconds})"
        )
    if value is not None and value < timedelta(0):
        raise UsageError(
            f"{caller} got {value!r}, and time does not go backwards.\n  fix: pass a positive timedelta"
        )


def check_function(value: Any) -> None:
    """Raise if the argument of ``eventually`` is not a function."""
    if not callable(value):
        raise UsageError(
            f"eventually got {value!r}, which was computed once and never changes.\n"
            "  fix: write eventually(lambda: ...), which is asked again and again"
        )


def check_options(options: Any) -> None:
    """Raise if the options are not ``ManagerOptions``."""
    if not isinstance(options, ManagerOptions):
        raise UsageError(
            f"options is {options!r}, which is not a ManagerOptions.\n"
            "  fix: write options=ManagerOptions(...)"
        )


def check_manifests(manifests: Any) -> None:
    """Raise if ``manifests`` is one object, or the name of a file, instead of a list of objects."""
    if isinstance(manifests, str | Path):
        raise UsageError(
            f"manifests is {str(manifests)!r}, not a list of objects.\n"
            "  fix: write cluster.apply_file(...) for the objects of a file"
        )
    if isinstance(manifests, Mapping) or hasattr(manifests, "to_json"):
        raise UsageError("manifests is one object, not a list.\n  fix: write manifests=[...]")


def check_status_kept(answer: Json, changes: Any, subresource: str) -> Json:
    """Return the answer to a patch; raise if it was to change the status, and the server ignored it."""
    wanted = changes.get("status") if isinstance(changes, dict) else None
    if subresource or not isinstance(wanted, dict):
        return answer
    stored = answer.get("status") or {}
    if any(stored.get(name) != value for name, value in wanted.items() if value is not None):
        raise UsageError(
            f"the status of a {answer['kind']} is a subresource, so the server ignored the change.\n"
            '  fix: write patch(..., {"status": ...}, subresource="status")'
        )
    return answer


def check_user(run_as: Any) -> None:
    """Raise if ``run_as`` is a text other than the one that is known."""
    if isinstance(run_as, str) and run_as != "generated-role":
        raise UsageError(
            f"run_as is {run_as!r}.\n"
            '  fix: write run_as="generated-role", or run_as=User(name, groups)'
        )


def check_condition(wanted: str, declared: Iterable[str]) -> None:
    """Raise if a condition that does not exist looks like a misspelled one."""
    known = list(declared)
    close = nearest(wanted, known)
    if close and wanted not in known:
        raise UsageError(
            f"no state of these controllers has the condition {wanted!r}.\n"
            f"  fix: did you mean {close!r}?"
        )


def not_a_kind(wanted: Any) -> UsageError:
    """Return the error for a value that names no kind."""
    fix = "use a constant of myrmidon.kinds, such as kinds.CONFIG_MAP, or a Resource class"
    if isinstance(wanted, str) and (close := nearest(wanted, _CONSTANTS)):
        fix = f"write kinds.{close}"
    shown = wanted.__name__ if isinstance(wanted, type) else repr(wanted)
    return UsageError(f"{shown} is not a kind.\n  fix: {fix}")


def unknown_kind(manifest: Json, known: Iterable[str]) -> UsageError:
    """Return the error for an object of a kind that no controller of the test uses."""
    close = nearest(manifest["kind"], known)
    also = f"did you mean {close}? Otherwise " if close else ""
    return UsageError(
        f"no controller of this test knows the kind {manifest['kind']} ({manifest['apiVersion']}).\n"
        f"  fix: {also}pass its controller to harness(...)"
    )


def explained(error: ApiError) -> ApiError:
    """Return the server's refusal of a test's request, with a note that says how to go on."""
    message = error.message
    if isinstance(error, NotFoundError) and message.startswith("namespaces "):
        error.add_note("  fix: create the namespace before, with cluster.add_namespace(...)")
    elif isinstance(error, NotFoundError):
        error.add_note("  fix: apply the object before, or look at its name and namespace")
    elif isinstance(error, UnknownFieldError | InvalidError):
        error.add_note("  fix: correct the manifest, or the model that the definition is made of")
    return error


def documents(path: Path) -> list[Json]:
    """Return the manifests of a YAML file; raise ``UsageError`` if it does not hold objects."""
    try:
        found = list(yaml.safe_load_all(path.read_text()))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}.\n"
            f"  fix: check the path; it is relative to {Path.cwd()}"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else path
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UsageError(
            f"{where} is not YAML: {problem}.\n  fix: correct that line or the one before it"
        ) from None
    for document in found:
        if document is not None and not (isinstance(document, Mapping) and name_of(document)):
            raise UsageError(
                f"{path} holds a document that is not a Kubernetes object.\n"
                "  fix: write apiVersion, kind and metadata.name"
            )
    return [dict(document) for document in found if document is not None]
