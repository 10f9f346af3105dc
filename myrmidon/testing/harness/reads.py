"""ClusterReads: what a test reads from the server, as JSON or typed.

A kind can be given in any of the ways that ``api.typed.object_types`` lists, and says what is returned:
``kinds.POD`` gives JSON, a Resource class or a kubernetes-asyncio model class gives instances of that
class.  The overloads tell type checkers the same.
"""

import asyncio
import builtins
from typing import Any, TypeVar, overload

from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.typed.object_types import kind_of, reader_of
from myrmidon.errors import NotFoundError, UsageError
from myrmidon.io.client import Client
from myrmidon.testing.harness.misuse import check_loop, not_a_kind

T = TypeVar("T")


class ClusterReads:
    """The reads of a test, see ``testing.harness.cluster``."""

    loop: asyncio.AbstractEventLoop
    namespace: str
    _user: Client

    @overload
    def get(self, kind: Kind, name: str, namespace: str | None = None) -> Json | None: ...

    @overload
    def get(self, kind: type[T], name: str, namespace: str | None = None) -> T | None: ...

    def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """Return an object from the server, None if it does not exist.

        It is JSON if ``kind`` is a ``Kind``, and an instance of ``kind`` if that is a class.
        """
        obj = self._read(self._ref(kind, name, namespace))
        return None if obj is None else reader_of(kind)(obj)

    @overload
    def require(self, kind: Kind, name: str, namespace: str | None = None) -> Json: ...

    @overload
    def require(self, kind: type[T], name: str, namespace: str | None = None) -> T: ...

    def require(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """Return an object from the server as ``get`` does; fail the test if it does not exist."""
        __tracebackhide__ = True
        ref = self._ref(kind, name, namespace)
        obj, early = self._read(ref), self._owes_a_pass()
        if obj is None:
            others = ", ".join(name_of(one) for one in self.list(ref.kind, ref.namespace))
            where = "its namespace" if ref.namespace else "the cluster"
            fix = ".\n  fix: call settle() before; the controllers are still at work" * early
            raise AssertionError(f"{ref} does not exist; {where} has {others or 'none'}{fix}")
        return reader_of(kind)(obj)

    @overload
    def list(self, kind: Kind, namespace: str | None = None) -> builtins.list[Json]: ...

    @overload
    def list(self, kind: type[T], namespace: str | None = None) -> builtins.list[T]: ...

    def list(self, kind: Any, namespace: str | None = None) -> builtins.list[Any]:
        """Return every object of a kind in a namespace, by default the one of the test.

        They are JSON if ``kind`` is a ``Kind``, and instances of ``kind`` if that is a class.
        """
        found = known_kind(kind)
        where = self.namespace if namespace is None else namespace
        objects = self._wait(self._user.list(found, where if found.namespaced else ""))
        read = reader_of(kind)
        return [read(obj) for obj in objects]

    def _read(self, ref: ObjectRef) -> Json | None:
        try:
            obj: Json = self._wait(self._user.get(ref))
        except NotFoundError:
            return None
        return obj

    def _ref(self, kind: Any, name: str, namespace: str | None) -> ObjectRef:
        found = known_kind(kind)
        where = self.namespace if namespace is None else namespace
        return ObjectRef(found, name, where if found.namespaced else "")

    def _owes_a_pass(self) -> bool:
        """Whether the controllers still have to reconcile an object."""
        raise NotImplementedError

    def _wait(self, asked: Any) -> Any:
        try:
            check_loop(self.loop)
        except UsageError:
            asked.close()  # otherwise Python warns that it was never awaited
            raise
        return self.loop.run_until_complete(asked)


def known_kind(wanted: Any) -> Kind:
    """Return the kind of a ``Kind`` or a class; fail the test for any other value."""
    found = kind_of(wanted)
    if found is None:
        raise not_a_kind(wanted)
    return found
