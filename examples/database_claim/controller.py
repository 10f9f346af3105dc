"""Gives every DatabaseClaim a database in a service outside the cluster.

credentials ──▶ provisioned ──▶ published

dropped                                      when the claim is deleted

A DatabaseClass, made by an administrator, says where the service is.  The password is generated
once and lives in a Secret; the service creates the database exactly once, whatever crashes.
"""

from base64 import b64decode
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from secrets import token_urlsafe

import aiohttp
from pydantic import Field

from myrmidon import (
    Context,
    Controller,
    ControllerOptions,
    Done,
    External,
    ExternalRefusedError,
    ExternalStatus,
    Failed,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    kinds,
    state,
)
from myrmidon.api import Json

# ------------------------------------------------------------------------ the resources


class DatabaseClassSpec(Model):
    """Where databases of this class run."""

    service: str = Field(min_length=1)
    """The address of the database service, such as ``http://databases.example.com``."""


class DatabaseClass(
    Resource[DatabaseClassSpec, Status],
    group="demo.myrmidon.dev",
    version="v1",
    plural="databaseclasses",
    namespaced=False,
):
    """A kind of database that claims can ask for by name."""


class DatabaseClaimSpec(Model):
    """What the user asks for."""

    class_name: str = Field(min_length=1)
    """The name of a DatabaseClass."""
    size: int = Field(default=1, ge=1)
    """The size in GiB; it can be changed."""
    version: str | None = None
    """The version of the database; if it is left out, the service chooses one."""
    copy_to: str | None = None
    """A namespace that gets a copy of the Secret, for an application that runs there."""


class DatabaseClaimStatus(ExternalStatus):
    """What the controller has observed."""

    service: str | None = None
    """The address of the service that has the database."""
    host: str | None = None
    """Where clients connect to."""


class DatabaseClaim(
    Resource[DatabaseClaimSpec, DatabaseClaimStatus],
    group="demo.myrmidon.dev",
    version="v1",
    columns={
        "Class": ".spec.className",
        "Size": ".spec.size",
        "Host": ".status.host",
        "Ready": ".status.conditions[?(@.type=='Ready')].status",
    },
):
    """A database, and a Secret with its credentials."""


# ------------------------------------------------------------------------- the database


class Database(External[DatabaseClaim, Json]):
    """A database of the service, which honours idempotency keys."""

    grace = timedelta(0)  # the service shows a new database at once
    timeout = timedelta(seconds=10)
    recreate = False  # it holds data: an empty one in its place would hide the loss

    def __init__(self, service: str, password: str = "") -> None:
        self._root, self._password = f"{service.rstrip('/')}/databases", password

    async def observe(self, claim: DatabaseClaim, id: str) -> Json | None:  # noqa: A002
        """Read the database."""
        return await call("GET", f"{self._root}/{id}")

    async def create(self, claim: DatabaseClaim, token: str) -> str:
        """Create the database."""
        wanted = {"version": claim.spec.version, **self._wanted(claim)}
        made = await call("POST", self._root, wanted, {"Idempotency-Key": token})
        assert made is not None, "the service answers a POST with the database"
        return str(made["id"])

    def differs(self, claim: DatabaseClaim, observed: Json) -> bool:
        """Compare the size, and the password by its digest."""
        digest = sha256(self._password.encode()).hexdigest()
        return (observed["size"], observed["digest"]) != (claim.spec.size, digest)

    async def update(self, claim: DatabaseClaim, id: str, observed: Json) -> None:  # noqa: A002
        """Change the size and the password."""
        await call("PATCH", f"{self._root}/{id}", self._wanted(claim))

    async def delete(self, claim: DatabaseClaim, id: str, observed: Json) -> None:  # noqa: A002
        """Drop the database."""
        await call("DELETE", f"{self._root}/{id}")

    def late_init(self, claim: DatabaseClaim, observed: Json) -> Json:
        """Write the version that the service chose to the claim, so that it stays."""
        return {"version": observed["version"]}

    def _wanted(self, claim: DatabaseClaim) -> Json:
        return {"size": claim.spec.size, "password": self._password}


async def call(
    method: str, url: str, body: Json | None = None, headers: dict[str, str] | None = None
) -> Json | None:
    """Send a request; return the answer, None if there is nothing at that address."""
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, json=body, headers=headers) as answer,
    ):
        if answer.status == 404:
            return None
        if 400 <= answer.status < 500:  # after any other error the outcome is not known
            raise ExternalRefusedError("ServiceRefused", await answer.text())
        answer.raise_for_status()
        found: Json | None = await answer.json() if answer.status != 204 else None
        return found


# ----------------------------------------------------------------------- the controller


class DatabaseClaims(Controller[DatabaseClaim]):
    """Provisions the database of every claim."""

    manages = (kinds.SECRET,)
    reads = (DatabaseClass,)
    externals = (Database,)
    options = ControllerOptions(prune=True)  # deletes the copy if `copyTo` changes

    def __init__(self, new_password: Callable[[], str] = token_urlsafe) -> None:
        self._new_password = new_password

    @state(initial=True, condition="CredentialsMade", then="provisioned")
    def credentials(self, claim: DatabaseClaim, out: OutputSet) -> Result:
        """There is a Secret with a password, which never changes."""
        data = {"username": "app", "password": self._new_password()}
        out.apply(secret(claim, claim.namespace, stringData=data), create_only=True)
        return Done()

    @state(condition="Provisioned", then="published")
    async def provisioned(self, claim: DatabaseClaim, out: OutputSet, ctx: Context) -> Result:
        """The database is as the claim says."""
        chosen = await ctx.get(DatabaseClass, claim.spec.class_name)
        made = await ctx.get(kinds.SECRET, secret_name(claim))
        if chosen is None or made is None:
            return Wait("NoClass", f"there is no DatabaseClass {claim.spec.class_name}")
        claim.status.service = claim.status.service or chosen.spec.service
        password = b64decode(made["data"]["password"]).decode()
        database = await ctx.ensure(Database(claim.status.service, password))
        if isinstance(database, Wait | Failed):
            return database
        claim.status.host = database["host"]
        return Done()

    @state(condition="Published")
    async def published(self, claim: DatabaseClaim, out: OutputSet, ctx: Context) -> Result:
        """The namespace of the application has a copy of the Secret."""
        made = await ctx.get(kinds.SECRET, secret_name(claim))
        if made is not None and claim.spec.copy_to:
            # Kubernetes does not allow owner references across namespaces: track it by label.
            out.apply(secret(claim, claim.spec.copy_to, data=made["data"]), owner_refs=False)
        return Done()

    @state(finalizer=True, condition="Dropped")
    async def dropped(self, claim: DatabaseClaim, out: OutputSet, ctx: Context) -> Result:
        """The service has no database of this claim any more."""
        chosen = await ctx.get(DatabaseClass, claim.spec.class_name)
        service = claim.status.service or (chosen and chosen.spec.service)
        return await ctx.remove(Database(service or ""))


def secret_name(claim: DatabaseClaim) -> str:
    """Return the name of the Secret, in the namespace of the claim and in that of its copy."""
    return f"{claim.name}-database"


def secret(claim: DatabaseClaim, namespace: str, **content: Json) -> Json:
    """Build a Secret."""
    metadata = {"name": secret_name(claim), "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **content}
