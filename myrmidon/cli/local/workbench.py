"""Workbench: an embedded API server and the controllers of a target, reloaded when their code changes.

`myrmidon dev` and the demo use it.  The server lives as long as the workbench, the manager until
the code changes: then the module is imported again, and a new manager finds the objects where the
last one left them, as after any restart of a controller.
"""

import asyncio
import importlib
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import CollectorRegistry

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, describe, name_of, namespace_of, ref_of
from myrmidon.api.objects.refs import Kind, ObjectRef, split_api_version
from myrmidon.api.requests.request import Request, Verb
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.apiserver.auth.users import ADMIN
from myrmidon.apiserver.fronts.http import serve
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.local.embedded_server import (
    RealEnvironment,
    cannot_listen,
    new_signing_key,
    new_token,
    write_kubeconfig,
)
from myrmidon.cli.targets.loading import load, load_admissions, made
from myrmidon.cli.targets.samples import folders_of, sample_files
from myrmidon.errors import ApiError, MyrmidonError, NotFoundError, UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.remote_clusters import clusters_of
from myrmidon.generate import crds
from myrmidon.generate.manifests.layout import defined_resources
from myrmidon.io.client import Client
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.webhooks import WebhookMetrics
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.runtime.observability.snapshot import Snapshot
from myrmidon.runtime.webhooks.dispatch import WebhookDispatch
from myrmidon.runtime.webhooks.reads import AdmissionReads
from myrmidon.testing.harness import generated_role
from myrmidon.testing.harness.conversions import convert_in_process
from myrmidon.testing.harness.misuse import documents
from myrmidon.testing.harness.webhooks import NAME as WEBHOOKS_NAME
from myrmidon.testing.harness.webhooks import asking, in_process_configurations, in_process_policies
from myrmidon.ui.recording.sources import ManagerSource
from myrmidon.ui.server import LivePage, serve_page
from myrmidon.webhooks.admission.rules import Admission
from myrmidon.webhooks.admission.webhooks import declared_subjects, webhooks_of

HOST = "127.0.0.1"
NAMESPACE = "default"
_FIELD_MANAGER = "myrmidon-dev"  # who wrote the samples, for `myrmidon explain`
_POLICY_KINDS = {
    kind.kind: kind
    for kind in (kinds.VALIDATING_ADMISSION_POLICY, kinds.VALIDATING_ADMISSION_POLICY_BINDING)
}
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Workbench:
    """A server, a target, and whatever manager runs the target at the moment."""

    def __init__(
        self, target: str, clock: Clock, samples: Sequence[Path] = (), *, as_account: bool = False
    ) -> None:
        self.target, self._clock, self._named_samples = target, clock, list(samples)
        self._as_account = as_account
        self._token = new_token()
        self.server = ApiServer(
            environment=RealEnvironment(),
            actors=cluster_actors(),
            users={self._token: ADMIN},
            rbac=as_account,
            signing_key=new_signing_key,
        )
        self.server.webhook_client = asking(lambda: self._dispatch)
        self._policies: list[ObjectRef] = []
        self.client = Client(LocalTransport(self.server, user=ADMIN), clock=clock)
        self.url = ""
        self.kubeconfig = Path()
        self.problem = ""
        """Why the current code cannot be loaded; the controllers loaded last keep running."""
        self.failure: MyrmidonError | None = None
        """What ended the manager."""
        self._classes: list[type[Controller[Any]]] = []
        self._admissions: list[type[Admission[Any]]] = []
        self._dispatch: WebhookDispatch | None = None
        self._remotes: dict[str, ApiServer] = {}
        self._folders: list[Path] = []
        self._unapplied: set[Path] = set()
        self._roles: list[Json] = []
        self._recorder = Recorder()  # outlives each manager, so that a reload keeps the history
        self._manager: Manager | None = None
        self._next: Manager | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def serving(self, port: int) -> AsyncIterator[None]:
        """Serve HTTP, for kubectl in a second terminal, until the block is left."""
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="myrmidon-"))
            listening = serve(self.server, host=HOST, port=port)
            try:
                self.url = await stack.enter_async_context(listening)
            except OSError as error:
                raise cannot_listen(HOST, port, error) from None
            self.kubeconfig = Path(folder, "kubeconfig")
            write_kubeconfig(self.kubeconfig, self.url, self._token)
            yield

    @asynccontextmanager
    async def showing(self, address: str) -> AsyncIterator[str]:
        """Serve the live page until the block is left; yield the address to open in a browser."""
        title = shown(Path(self.target))
        source = ManagerSource(lambda: self._manager, title, self._clock, self.client)
        live = LivePage(source, self._clock, writable=True)
        async with serve_page(live, address) as url:
            yield f"{url}/?token={live.token}"

    # -------------------------------------------------------------------- the controllers

    async def open(self) -> None:
        """Import the target, install its definitions, apply its samples."""
        self._load()
        self._next = self._prepared()
        await self._install()
        for path in self.samples():
            await self.apply_file(path)

    def start(self, group: asyncio.TaskGroup) -> None:
        """Run the controllers; a failure is kept in ``failure``."""
        assert self._next is not None, "opened or loaded before it is started"
        self._manager, self._next = self._next, None
        self._task = group.create_task(self._run(self._manager))

    async def stop(self) -> None:
        """Let passes under way finish."""
        if self._manager is not None and self._task is not None:
            self._manager.stop()
            await asyncio.wait([self._task])

    async def reload(self, group: asyncio.TaskGroup, changed: list[Path]) -> None:
        """Run the code as it is now; if that cannot be imported, say so and go on with the old."""
        self._unapplied.update(changed)
        try:
            self._forget_modules()
            self._load()
            self._next = self._prepared()
        except MyrmidonError as error:
            self.problem = str(error)
            return
        await self.stop()
        try:
            await self._install()
            for path in self.samples():
                if path in self._unapplied:
                    await self.apply_file(path)
            self.problem = ""
            self._unapplied.clear()
        except MyrmidonError as error:
            self.problem = str(error)
        self.start(group)

    def snapshot(self) -> Snapshot:
        """What the controllers see and do."""
        if self._manager is None:
            return Snapshot(self._clock.now(), is_working=False)
        return self._manager.snapshot()

    @property
    def is_idle(self) -> bool:
        """Whether all controllers are idle."""
        return self._manager is not None and self._manager.is_idle

    @property
    def controlled(self) -> list[Kind]:
        """The kinds of the controllers."""
        return [cls.kind() for cls in self._classes]

    # -------------------------------------------------------------------------- the files

    def samples(self) -> list[Path]:
        """Return the samples that were named, or else those beside the controllers."""
        return self._named_samples or sample_files(self._folders, self.target)

    def sources(self) -> dict[Path, int]:
        """Every file whose change matters, and when it was changed last."""
        found = [path for folder in self._folders for path in folder.rglob("*.py")]
        return {path: _changed_at(path) for path in (*found, *self.samples())}

    # ------------------------------------------------------------------------ the objects

    async def apply_file(self, path: Path) -> None:
        """Apply every document of a YAML file, as `kubectl apply -f` would."""
        for manifest in documents(Path(shown(path))):
            try:
                await self.apply(_as_kubectl_would(manifest))
            except ApiError as error:
                raise UsageError(
                    f"{shown(path)}: the server refuses {describe(manifest)}: {error.message}\n"
                    "  fix: correct the sample, or the model that its definition is made of"
                ) from None
            except UsageError as error:
                raise UsageError(f"{shown(path)}: {error}") from None

    async def apply(self, manifest: Json) -> None:
        """Create an object, or merge what the manifest says into it."""
        ref = self._ref(manifest)
        try:
            await self.client.get(ref)
            verb = Verb.PATCH
        except NotFoundError:
            verb = Verb.CREATE
        # Strict, as kubectl asks for: a misspelled field is refused, not dropped.
        query = (("fieldManager", _FIELD_MANAGER), ("fieldValidation", "Strict"))
        await self.client.send(Request(verb, ref, manifest, query=query))

    def _ref(self, manifest: Json) -> ObjectRef:
        group, version = split_api_version(str(manifest.get("apiVersion") or ""))
        known = self.server.core.registry.find_kind(group, version, str(manifest.get("kind")))
        if known is None:
            own = ", ".join(cls.kind().kind for cls in self._classes)
            raise UsageError(
                f"no definition is installed for the kind {manifest.get('kind')} "
                f"({manifest.get('apiVersion')}).\n  fix: use a built-in kind or one of {own}"
            )
        kind: Kind = known.kind
        where = (namespace_of(manifest) or NAMESPACE) if kind.namespaced else ""
        return ObjectRef(kind, name_of(manifest), where)

    # ---------------------------------------------------------------------------- inside

    async def _run(self, manager: Manager) -> None:
        try:
            await manager.run()
        except MyrmidonError as error:
            self.failure = error

    def _load(self) -> None:
        self._classes = load([self.target])
        self._admissions = load_admissions([self.target])
        self._folders = folders_of(self._classes)

    def _prepared(self) -> Manager:
        """A manager that is not started: what is wrong with the controllers shows here."""
        user = generated_role.service_account(NAMESPACE) if self._as_account else ADMIN
        manager = Manager(
            ManagerOptions(trace=True),
            transport=LocalTransport(self.server, user=user),
            clock=self._clock,
            recorder=self._recorder,
        )
        for rules in self._admissions:
            manager.add(made(rules))
        controllers = [made(cls) for cls in self._classes]
        self._roles = list(generated_role.manifests(controllers, NAMESPACE))
        for cls, controller in zip(self._classes, controllers, strict=True):
            manager.add(controller)
            for name in clusters_of(cls):
                remote = self._remotes.setdefault(name, ApiServer())
                manager.add_remote(name, LocalTransport(remote, user=ADMIN))
        return manager

    async def _install(self) -> None:
        """Install the definitions, and the role of the controllers, or bring them up to date."""
        for role in self._roles if self._as_account else ():
            await self.apply(role)
        kind = kinds.CUSTOM_RESOURCE_DEFINITION
        convert_in_process(self.server, self._classes)
        for definition in crds(
            each for each in defined_resources(self._classes) if each.KIND.group
        ):
            ref = ref_of(kind, definition)
            try:
                there = await self.client.get(ref)
            except NotFoundError:
                await self.client.create(kind, definition)
                continue
            await self.client.update(kind, {**there, "spec": definition["spec"]})
        await self._install_webhooks()

    async def _install_webhooks(self) -> None:
        """Install the webhook configurations, and delete those that are not needed any more.

        The workbench answers them itself, because samples are applied before the manager runs;
        validators read from the server.
        """
        subjects = [*declared_subjects(self._classes), *map(made, self._admissions)]
        webhooks = [each for subject in subjects for each in webhooks_of(subject)]
        log = Logger("myrmidon.webhooks")
        reads = AdmissionReads(webhooks, None, self.client, clock=self._clock, log=log)
        metrics = WebhookMetrics(CollectorRegistry())
        self._dispatch = WebhookDispatch(webhooks, reads, self._clock, metrics, log)
        wanted = {each["kind"]: each for each in in_process_configurations(subjects)}
        for kind in (
            kinds.MUTATING_WEBHOOK_CONFIGURATION,
            kinds.VALIDATING_WEBHOOK_CONFIGURATION,
        ):
            with suppress(NotFoundError):
                await self.client.delete(ObjectRef(kind, WEBHOOKS_NAME))
            if kind.kind in wanted:
                await self.client.create(kind, wanted[kind.kind])
        await self._install_policies(in_process_policies(subjects))

    async def _install_policies(self, policies: list[Json]) -> None:
        """Install the admission policies for rules in CEL, in place of those of the last start."""
        for ref in self._policies:
            with suppress(NotFoundError):
                await self.client.delete(ref)
        self._policies = []
        for policy in policies:
            kind = _POLICY_KINDS[policy["kind"]]
            await self.client.create(kind, policy)
            self._policies.append(ObjectRef(kind, policy["metadata"]["name"]))

    def _forget_modules(self) -> None:
        """Make the next import read the files again."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and any(Path(file).is_relative_to(folder) for folder in self._folders):
                del sys.modules[name]
        importlib.invalidate_caches()


def _as_kubectl_would(manifest: Json) -> Json:
    """With the note that `kubectl apply -f` looks for, should it be given the same file."""
    meta = manifest["metadata"]
    note = {_LAST_APPLIED: orjson.dumps(manifest).decode() + "\n"}
    annotations = {**(meta.get("annotations") or {}), **note}
    return {**manifest, "metadata": {**meta, "annotations": annotations}}


def shown(path: Path) -> str:
    """A path as it would be typed here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0  # it is just being replaced
