"""Every error myrmidon raises.

MyrmidonError
  DefinitionError          the controller or resource is written wrong; raised at import
    InitialStateError        none or two initial states
    FinalizerStateError      two finalizer starts
    UnknownStateError        an edge to a state that does not exist
    StateCycleError          a state that can reach itself
    UnreachableStateError    a state that no path leads to
    ConditionError           a condition type used twice, missing, or reserved
    StateSignatureError      a state method that cannot be called as one
    ManagedKindError         an entry of manages or reads that is not a kind
  ProgrammingError         the controller did something it never declared; not retried
    UndeclaredEdgeError      a result goes to a state that the edge list lacks
    UndeclaredOutputError    an output of a kind that is not managed
    UndeclaredReadError      a read of a kind that is neither managed nor read
    OutputError              an output that cannot be written as it is
      UnidentifiedObjectError  without apiVersion, kind or name
      GeneratedNameError       with generateName
      MissingLockError         optimistic_lock without a resourceVersion
      OwnerReferenceError      an owner reference that Kubernetes does not allow
      SelfOutputError          of an object that is the parent itself
      UnwatchedNamespaceError  in a namespace that the controller does not watch
    StatusError              a status field that a state has set cannot be written as JSON
    StateResultError         a state returned a value that is not a result
    MalformedNameError       a name, namespace or kind that cannot be part of a path
  AlreadyOwnedError        the object belongs to another parent
  NotAdoptedError          the object exists, names no parent, and its adoption was not asked for
  StalledError             the object is changed back after each of our writes
  PruneRefusedError        more would be deleted at once than the guard allows
  TerminatingError         the object is on its way out and cannot be made to exist
  UnfitObjectError         an object of the server does not fit its model
  UnreadableObjectError    an object of the server cannot be read at all
  ApiError                 the server said no
    BadRequestError          400
    UnknownFieldError        400, 422 or 500, a field that the schema does not have
    UnauthorizedError        401
    ForbiddenError           403
      NamespaceTerminatingError  403, the namespace is on its way out
      QuotaExceededError         403, a ResourceQuota is used up
    NotFoundError            404
    ConflictError            409, somebody else wrote first
      AlreadyExistsError       409, a create of something that is there
      FieldConflictError       409, a server-side apply of a field that another manager owns
    ExpiredError             410, the version asked for is compacted away
    TooLargeError            413
    InvalidError             422
    TooManyRequestsError     429
    ServerError              5xx
  TransportError           no answer came
    UnreachableError         the request was not sent
    AmbiguousError           the request was sent; whether it took effect is unknown
  LeadershipLostError      another replica may lead; this process must stop writing
  TaskEndedError           a task that runs as long as the process has ended
  UsageError               a wrong argument, file or setting; shown without a traceback
"""

from myrmidon.errors.api import (
    RETRY_AFTER_SECONDS_MAX,
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    FieldConflictError,
    ForbiddenError,
    InvalidError,
    NamespaceTerminatingError,
    NotFoundError,
    QuotaExceededError,
    ServerError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownFieldError,
    api_error,
    retry_seconds,
)
from myrmidon.errors.definitions import (
    ConditionError,
    DefinitionError,
    FinalizerStateError,
    InitialStateError,
    ManagedKindError,
    StateCycleError,
    StateSignatureError,
    UnknownStateError,
    UnreachableStateError,
)
from myrmidon.errors.objects import (
    AlreadyOwnedError,
    NotAdoptedError,
    PruneRefusedError,
    StalledError,
    TerminatingError,
    UnfitObjectError,
    UnreadableObjectError,
)
from myrmidon.errors.process import (
    LeadershipLostError,
    TaskEndedError,
    UsageError,
)
from myrmidon.errors.programming import (
    GeneratedNameError,
    MalformedNameError,
    MissingLockError,
    OutputError,
    OwnerReferenceError,
    ProgrammingError,
    SelfOutputError,
    StateResultError,
    StatusError,
    UndeclaredEdgeError,
    UndeclaredOutputError,
    UndeclaredReadError,
    UnidentifiedObjectError,
    UnwatchedNamespaceError,
)
from myrmidon.errors.root import (
    MyrmidonError,
)
from myrmidon.errors.transport import (
    AmbiguousError,
    TransportError,
    UnreachableError,
)

__all__ = [
    "RETRY_AFTER_SECONDS_MAX",
    "AlreadyExistsError",
    "AlreadyOwnedError",
    "AmbiguousError",
    "ApiError",
    "BadRequestError",
    "ConditionError",
    "ConflictError",
    "DefinitionError",
    "ExpiredError",
    "FieldConflictError",
    "FinalizerStateError",
    "ForbiddenError",
    "GeneratedNameError",
    "InitialStateError",
    "InvalidError",
    "LeadershipLostError",
    "MalformedNameError",
    "ManagedKindError",
    "MissingLockError",
    "MyrmidonError",
    "NamespaceTerminatingError",
    "NotAdoptedError",
    "NotFoundError",
    "OutputError",
    "OwnerReferenceError",
    "ProgrammingError",
    "PruneRefusedError",
    "QuotaExceededError",
    "SelfOutputError",
    "ServerError",
    "StalledError",
    "StateCycleError",
    "StateResultError",
    "StateSignatureError",
    "StatusError",
    "TaskEndedError",
    "TerminatingError",
    "TooLargeError",
    "TooManyRequestsError",
    "TransportError",
    "UnauthorizedError",
    "UndeclaredEdgeError",
    "UndeclaredOutputError",
    "UndeclaredReadError",
    "UnfitObjectError",
    "UnidentifiedObjectError",
    "UnknownFieldError",
    "UnknownStateError",
    "UnreachableError",
    "UnreachableStateError",
    "UnreadableObjectError",
    "UnwatchedNamespaceError",
    "UsageError",
    "api_error",
    "retry_seconds",
]
