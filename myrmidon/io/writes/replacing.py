"""Delete an object whose change was refused, so that it can be created again (``recreate=True``).

``sets.recreation`` decides whether a refusal is worth a new object; this module sends its two requests:
the trial, a create with ``dryRun=All``, and the removal if the trial shows that the output is valid.
"""

from myrmidon.api.objects.accessors import is_deleting
from myrmidon.errors import AlreadyExistsError, InvalidError, TerminatingError
from myrmidon.io.writes.output_task import OutputTask, Send
from myrmidon.sets.outputs.outputs import Apply
from myrmidon.sets.recreation import plan_recreate


async def make_way(task: OutputTask, refused: InvalidError, *, trial: Send, removal: Send) -> None:
    """Delete the object of a task if it can be created again; else raise the refusal.

    ``trial`` and ``removal`` send a request and return its answer.
    """
    output, recreation = task.output, None
    if isinstance(output, Apply) and task.current is not None:
        recreation = plan_recreate(output, task.current, task.parent, refused)
    if recreation is None:
        raise refused
    try:
        await trial(recreation.trial)
    except AlreadyExistsError:
        task.replaced = task.current
        answer = await removal(recreation.removal)
        if is_deleting(answer):
            raise TerminatingError(str(output.ref)) from refused
