"""ExternalRefusedError: the answer of an external system that it did not act."""

from datetime import timedelta

from myrmidon.errors.root import MyrmidonError


class ExternalRefusedError(MyrmidonError):
    """The external system refused a call: it answered, and it did not act.

    Raise it in a method of ``External``.  Any other exception, and a timeout, means that the
    outcome is unknown: the call may have had its effect.

    - ``reason``: the reason of the state's condition, one word in CamelCase.
    - ``retry``: whether to try again with backoff.  Default: False, only when the object changes:
      the system has judged the request and its token, and would refuse it again.
    - ``after``: try again after this time, such as that of a Retry-After header.  Default: None.
    """

    def __init__(
        self, reason: str, message: str, *, retry: bool = False, after: timedelta | None = None
    ) -> None:
        self.reason, self.retry, self.after = reason, retry, after
        super().__init__(message)
