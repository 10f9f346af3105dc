"""OutputTask: one output that an applicator is writing, and what can be said about it without I/O."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import orjson

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, is_controlled_by, version_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.errors import (
    ApiError,
    FieldConflictError,
    InvalidError,
    MyrmidonError,
    NotFoundError,
)
from myrmidon.io.writes.stall_guard import Wish
from myrmidon.sets.outputs.edits import basis_of
from myrmidon.sets.outputs.options import DEFAULT
from myrmidon.sets.outputs.outputs import Apply, Edit, Output, describe_output
from myrmidon.sets.ownership.adoption import is_adoption
from myrmidon.sets.ownership.owner_references import Parent, reference_to

_FIRST = (kinds.NAMESPACE, kinds.CUSTOM_RESOURCE_DEFINITION)
"""Kinds that other outputs may need; they are written first."""


Confirm: TypeAlias = Callable[[], Awaitable[None]]
"""Reads the parent from the server; raises an error if nothing may be created for it any more."""

Send: TypeAlias = Callable[[Request], Awaitable[Json]]
"""Sends a request and returns its answer."""


class Written(NamedTuple):
    """The outcome of one output."""

    output: Output
    outcome: Literal["changed", "noop", "skipped", "failed"]
    verb: Verb | None = None
    error: MyrmidonError | None = None
    adopted: bool = False  # the write made another party's object a child of the parent

    def __str__(self) -> str:
        return f"{self.verb or self.outcome} {describe_output(self.output)}"


class OpenOutput(NamedTuple):
    """An output about which no earlier decision holds: its position, question and wish."""

    number: int
    question: int
    wish: Wish


@dataclass(eq=False)  # without slots: most tasks leave most fields at their defaults
class OutputTask:
    """One output being written: its parent and author, the last decision about it, its outcome."""

    output: Output
    parent: Parent
    creating: bool
    by: str
    question: int
    wish: Wish  # the key under which decisions about the output are remembered
    is_open: bool = False  # known to need a decision, without looking for an earlier one
    confirm: Confirm | None = None  # called before a child that vanished is created again
    current: Json | None = field(default=None, init=False)
    is_child: bool = field(default=False, init=False)
    """Whether ``current`` names the parent in its controller reference."""
    child_at: int | None = field(default=None, init=False)
    """The stamp of the cached object that the request was decided on, if it is absent (0) or such a
    child."""
    request: Request | None = field(default=None, init=False)
    needs_read: bool = field(default=False, init=False)
    """Whether the cached object lacks managedFields, and they matter."""
    replaced: Json | None = field(default=None, init=False)
    """The object that was deleted to be created again."""
    written: Written | None = field(default=None, init=False)

    @property
    def adopts(self) -> bool:
        """Whether writing the output makes another party's object a child of the parent."""
        return (
            self.current is not None
            and not self.is_child
            and isinstance(self.output, Apply)
            and is_adoption(self.current, self.output, self.parent)
        )

    def found_child(self, answer: Json) -> int | None:
        """Return ``child_at`` if the answer to the write is such a child as well, otherwise None.

        Then the write concerns no other parent, as long as the cache holds what it held.
        """
        return self.child_at if is_controlled_by(answer, self.parent.uid) else None

    def settled_on(self, obj: Json) -> tuple[int, str]:
        """Return what a decision about the output depends on, if the object is as given.

        For a patch that is the content alone, so that a change of the object's status does not
        send it again.
        """
        output = self.output
        if isinstance(output, Edit) and output.subresource in ("", "status"):
            return self.question, basis_of(output, obj)
        return self.question, version_of(obj)

    def is_settled(self, obj: Json, settled: tuple[int, str] | None) -> bool:
        """Whether ``settled`` is what the decision depends on, if the object is as given."""
        known = settled is not None and settled[0] == self.question
        return known and settled == self.settled_on(obj)


def wish_of(output: Output) -> Wish:
    """Return the key of an output: two states may apply different fields of one object."""
    if type(output) is Apply:
        return output.ref, output.author
    if isinstance(output, Edit):
        return output.ref, f"{output.author}:{output.subresource}:{output.type}"
    return output.ref, ""


def question_of(output: Output, parent: Parent, creating: bool) -> int:
    """Return a hash of everything that the decision about an output depends on, but for the object."""
    if type(output) is Apply:
        wanted, options = output.text or orjson.dumps(output.manifest), output.options
        if options is DEFAULT:  # as most outputs have; hashing the options is dear
            return hash((wanted, output.author, parent, creating))
        owner = None if options.owner is None else orjson.dumps(reference_to(options.owner))
        return hash((wanted, owner, options, output.author, parent, creating))
    if isinstance(output, Edit):
        return hash((orjson.dumps(output.body), output._replace(body=None), parent, creating))
    return hash((output, parent, creating))


def tasks_of(
    outputs: Sequence[Output],
    parent: Parent,
    creating: bool,
    by: str,
    first: OpenOutput | None,
    *,
    confirm: Confirm | None = None,
) -> list[OutputTask]:
    """Return a task for each output; ``first`` is one about which more is known already."""
    tasks: list[OutputTask] = []
    for number, output in enumerate(outputs):
        if first is not None and number == first.number:
            question, wish, is_open = first.question, first.wish, True
        else:
            question, wish, is_open = question_of(output, parent, creating), wish_of(output), False
        tasks.append(OutputTask(output, parent, creating, by, question, wish, is_open, confirm))
    return tasks


def has_failed(task: OutputTask) -> bool:
    """Whether an output was not written, or was refused."""
    return task.written is None or task.written.error is not None


def waves(tasks: list[OutputTask]) -> list[tuple[list[OutputTask], bool]]:
    """Return the tasks in the order in which they may be written; those of one list are independent.

    True goes with a list that the later ones need: Namespaces and CustomResourceDefinitions.
    Patches come after the objects, because a state may create an object and write its status, and
    patches of one object come one by one.
    """
    special = [
        task for task in tasks if type(task.output) is Edit or _is_first(task.output.ref.kind)
    ]
    if not special:
        return [(tasks, False)]
    edits = [task for task in special if type(task.output) is Edit]
    first = [task for task in special if task not in edits]
    ordered = [(first, True), ([task for task in tasks if task not in special], False)]
    while edits:
        wave = _one_each(edits)
        ordered.append((wave, False))
        edits = [task for task in edits if task not in wave]
    return ordered


def _is_first(kind: Kind) -> bool:
    return (kind.at("") if kind.cluster else kind) in _FIRST


def _one_each(tasks: Iterable[OutputTask]) -> list[OutputTask]:
    by_object: dict[ObjectRef, OutputTask] = {}
    for task in tasks:
        by_object.setdefault(task.output.ref, task)
    return list(by_object.values())


def is_worth_another_look(task: OutputTask, refused: ApiError) -> bool:
    """Whether a refused write may be decided again on a fresh read.

    An optimistic lock that the user asked for is never overridden, and a field that another manager
    owns is refused however often it is sent.
    """
    output = task.output
    if isinstance(refused, InvalidError):
        if any(cause.get("field") == "metadata.uid" for cause in refused.causes):
            return True  # the object was deleted and created again
        # A JSON patch tests the resourceVersion; the refusal of a failed test has no causes.
        return task.request is not None and task.request.patch is Patch.JSON and not refused.causes
    if not isinstance(output, Apply):
        return True
    if output.options.optimistic_lock:
        return False
    if isinstance(refused, NotFoundError):
        # The object of a patch is gone; a create that finds no namespace or no kind stays refused.
        return refused.details.get("name") == output.ref.name
    return not isinstance(refused, FieldConflictError)
