"""Every error that myrmidon raises, as a tree.

MyrmidonError
  DefinitionError          the controller or resource is written wrong; raised at import
    InitialStateError        none or two initial states
    FinalizerStateError      two finalizer starts
    UnknownStateError        an edge to a state that does not exist
    StateCycleError          a state that can reach itself
    UnreachableStateError    a state that no path leads to
    ForkError                branches of a fork that are not independent
    ConditionError           a condition type used twice, missing, or reserved
    StateSignatureError      a state method that cannot be called as one
    ManagedKindError         an entry of manages or reads that is not a kind
  ProgrammingError         the controller did what it does not declare; not retried
    UndeclaredEdgeError      a result goes to a state that is not in the state's ``then``
    UndeclaredKindError      a state used a kind that its controller does not declare
      UndeclaredOutputError  an output of a kind that is not managed
      UndeclaredReadError    a read of a kind that is neither managed nor read
    NotAKindError            a read of a value that does not stand for a kind
    UndeclaredExternalError  an External that the controller does not list
    OutputError              an output that cannot be written as it is
      UnidentifiedObjectError  an output without apiVersion, kind or name
      GeneratedNameError       an output with generateName
      MissingLockError         optimistic_lock without a resourceVersion
      OwnerReferenceError      an owner reference that Kubernetes does not allow
      SelfOutputError          an output that is the parent itself
      SelfDeletionError        a delete by name of the kind that is reconciled
      UnselectedOutputError    an output without the labels by which its kind is cached
      UnwatchedNamespaceError  an output in a namespace that the controller does not watch
    StatusError              a status field that a state has set cannot be written
      ForeignStatusError       a status field of an object whose status is not the controller's
    StateResultError         a state returned a value that is not a result
    FinalizerScheduleError   a finalizer state returned Done(again=...)
    MalformedNameError       a name, namespace or kind that cannot be part of a path
  AlreadyOwnedError        the object belongs to another parent
  NotAdoptedError          the object exists, names no parent, and its adoption was not asked for
  StalledError             the object is changed back after each of our writes
    DeletedAgainError        the object is deleted after each creation
  PruneRefusedError        more objects would be pruned at once than prune_max allows
  TerminatingError         the object is being deleted; it can be created when it is gone
  MissingObjectError       the object that should be patched does not exist
  ManagersUnknownError     a decision needs the managedFields of a live read
  UnfitObjectError         an object on the server does not fit its model
  ConversionError          an object cannot be converted to another version of its kind
  UnknownClusterError      a child is on a remote cluster that the controller no longer declares
  UnreadableObjectError    an object on the server cannot be read at all
  ExternalRefusedError     an external system answered that it did not act
  ApiError                 the server refused the request
    BadRequestError          400
    UnknownFieldError        400, 422 or 500, a field that the schema does not have
    UnauthorizedError        401
    ForbiddenError           403
      NamespaceTerminatingError  403, the namespace is being deleted
      QuotaExceededError         403, a ResourceQuota is used up
      AdmissionDeniedError       403 or 400, a webhook or an admission policy refused the write
    NotFoundError            404
    ConflictError            409, the object has changed since it was read
      AlreadyExistsError       409, the object to create exists already
      FieldConflictError       409, a server-side apply of a field that another manager owns
    ExpiredError             410, the resourceVersion asked for is no longer available
    TooLargeError            413
    InvalidError             422
    TooManyRequestsError     429
    ServerError              5xx
  TransportError           the request got no answer
    UnreachableError         the request was not sent
    AmbiguousError           the request was sent; whether it took effect is unknown
    RemoteUnavailableError   a remote cluster was not listed yet
  LeadershipLostError      another replica may lead; this process must stop writing
  TaskEndedError           a task that should run as long as the process has ended
  UsageError               a wrong argument, file or setting; shown without a traceback
"""

from myrmidon.errors.api import (
    RETRY_AFTER_SECONDS_MAX,
    AdmissionDeniedError,
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
    is_denial,
    retry_seconds,
)
from myrmidon.errors.definitions import (
    ConditionError,
    DefinitionError,
    FinalizerStateError,
    ForkError,
    InitialStateError,
    ManagedKindError,
    StateCycleError,
    StateSignatureError,
    UnknownStateError,
    UnreachableStateError,
)
from myrmidon.errors.external import ExternalRefusedError
from myrmidon.errors.objects import (
    AlreadyOwnedError,
    ConversionError,
    DeletedAgainError,
    ManagersUnknownError,
    MissingObjectError,
    NotAdoptedError,
    PruneRefusedError,
    RemoteUnavailableError,
    StalledError,
    TerminatingError,
    UnfitObjectError,
    UnknownClusterError,
    UnreadableObjectError,
)
from myrmidon.errors.process import (
    LeadershipLostError,
    TaskEndedError,
    UsageError,
)
from myrmidon.errors.programming import (
    FinalizerScheduleError,
    ForeignStatusError,
    GeneratedNameError,
    MalformedNameError,
    MissingLockError,
    NotAKindError,
    OutputError,
    OwnerReferenceError,
    ProgrammingError,
    SelfDeletionError,
    SelfOutputError,
    StateResultError,
    StatusError,
    UndeclaredEdgeError,
    UndeclaredExternalError,
    UndeclaredKindError,
    UndeclaredOutputError,
    UndeclaredReadError,
    UnidentifiedObjectError,
    UnselectedOutputError,
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
    "AdmissionDeniedError",
    "AlreadyExistsError",
    "AlreadyOwnedError",
    "AmbiguousError",
    "ApiError",
    "BadRequestError",
    "ConditionError",
    "ConflictError",
    "ConversionError",
    "DefinitionError",
    "DeletedAgainError",
    "ExpiredError",
    "ExternalRefusedError",
    "FieldConflictError",
    "FinalizerScheduleError",
    "FinalizerStateError",
    "ForbiddenError",
    "ForeignStatusError",
    "ForkError",
    "GeneratedNameError",
    "InitialStateError",
    "InvalidError",
    "LeadershipLostError",
    "MalformedNameError",
    "ManagedKindError",
    "ManagersUnknownError",
    "MissingLockError",
    "MissingObjectError",
    "MyrmidonError",
    "NamespaceTerminatingError",
    "NotAKindError",
    "NotAdoptedError",
    "NotFoundError",
    "OutputError",
    "OwnerReferenceError",
    "ProgrammingError",
    "PruneRefusedError",
    "QuotaExceededError",
    "RemoteUnavailableError",
    "SelfDeletionError",
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
    "UndeclaredExternalError",
    "UndeclaredKindError",
    "UndeclaredOutputError",
    "UndeclaredReadError",
    "UnfitObjectError",
    "UnidentifiedObjectError",
    "UnknownClusterError",
    "UnknownFieldError",
    "UnknownStateError",
    "UnreachableError",
    "UnreachableStateError",
    "UnreadableObjectError",
    "UnselectedOutputError",
    "UnwatchedNamespaceError",
    "UsageError",
    "api_error",
    "is_denial",
    "retry_seconds",
]
