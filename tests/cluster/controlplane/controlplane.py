"""A real API server with its etcd, for the length of a test run.

    folder/
      kubeconfig       the admin's
      pki/             ca.crt and the server's certificate, key of service accounts
      tokens.csv       who may log in with which token
      etcd/            the data
      *.log            what the processes print
      audit.log        who wrote what, if asked for

Everything listens on the loopback address alone.
"""

import json
import shutil
import signal
import tempfile
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.cluster.controlplane.binaries import Binaries
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.pki import write_pki
from tests.cluster.controlplane.processes import Group, Process, free_port

ADMIN_TOKEN = "admin-token"
DEV_TOKEN = "dev-token"
MANAGER_TOKEN = "kube-controller-manager-token"

# token, user, uid, groups.  The controller manager is an admin under its own name, so that the
# audit log tells its writes from ours.
TOKENS = f"""\
{ADMIN_TOKEN},admin,admin,system:masters
{DEV_TOKEN},dev,dev,devs
{MANAGER_TOKEN},system:kube-controller-manager,kcm,system:masters
"""

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}

# What the embedded server emulates, and no more: other controllers would put objects of their
# own (service accounts, root certificates) into every namespace.
CONTROLLERS = ("garbage-collector-controller", "namespace-controller")

START_SECONDS = 60.0


class ControlPlane:
    """etcd, kube-apiserver and, if controllers are named, kube-controller-manager.

    The folder is temporary unless one is given; a given one is kept, and started again on, it
    still has its objects.
    """

    def __init__(
        self,
        binaries: Binaries,
        *,
        folder: Path | None = None,
        port: int | None = None,
        controllers: tuple[str, ...] = (),
        audit: bool = False,
        audit_policy: Mapping[str, Any] = AUDIT_POLICY,
        manager_verbosity: int = 0,
        apiserver_flags: Mapping[str, object] | None = None,
    ) -> None:
        self.binaries = binaries
        self.port = port or free_port()
        self._etcd_ports = free_port(), free_port()
        self._manager_port = free_port()
        self._controllers = controllers
        self._audit = audit
        self._audit_policy = audit_policy
        self._manager_verbosity = manager_verbosity
        self._apiserver_flags = apiserver_flags or {}
        self._temporary = folder is None
        self.folder = (folder or Path(tempfile.mkdtemp(prefix="controlplane-"))).resolve()
        self._group: Group | None = None

    @property
    def url(self) -> str:
        """Where the API server is."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca(self) -> Path:
        """The CA certificate of the API server."""
        return self.folder / "pki" / "ca.crt"

    @property
    def kubeconfig(self) -> Path:
        """The path of the admin's kubeconfig."""
        return self.folder / "kubeconfig"

    def client(self, token: str = ADMIN_TOKEN, *, timeout: float = 30.0) -> Client:
        """Return a client for one of the tokens."""
        return Client(self.port, self.ca, token, timeout)

    def audit_events(self) -> list[dict[str, Any]]:
        """Read the audit log, oldest first; an event is logged before its request is answered."""
        assert self._audit, "this control plane was made without audit=True"
        text = (self.folder / "audit.log").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything and wait until it is ready; leave nothing behind if that fails."""
        self._write_files()
        self._group = group = Group()
        self._etcd = self._process(self._etcd_command(), group)
        self._apiserver = self._process(self._apiserver_command(), group)
        self._manager = self._process(self._manager_command(), group)
        try:
            self._etcd.start()
            self.start_apiserver()
            self._start_manager()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop everything, and remove the folder if it is temporary."""
        if self._group is None:
            return
        self._stop_processes()
        self._group.close()
        self._group = None
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def restart(self) -> None:
        """Stop and start all processes; the objects stay."""
        self._stop_processes()
        self._etcd.start()
        self.start_apiserver()
        self._start_manager()

    def kill_apiserver(self) -> None:
        """Let the API server crash: connections break, and its port refuses new ones."""
        self._apiserver.kill()

    def start_apiserver(self) -> None:
        """Start the API server on its old port and wait until it serves."""
        self._apiserver.start()
        ready = self.client(timeout=5)
        self._apiserver.wait_until(lambda: ready.status("/readyz") == 200, "ready", START_SECONDS)
        self._apiserver.wait_until(
            lambda: ready.status("/api/v1/namespaces/default") == 200,
            "namespace default",
            START_SECONDS,
        )

    def kill_etcd(self) -> None:
        """Let etcd crash: the API server stays, and fails every request."""
        self._etcd.kill()

    def start_etcd(self) -> None:
        """Start etcd on its old ports, with its old data."""
        self._etcd.start()

    def pause_etcd(self) -> None:
        """Pause etcd: writes hang, as they do when its disk hangs."""
        self._etcd.signal(signal.SIGSTOP)

    def resume_etcd(self) -> None:
        """Resume etcd."""
        self._etcd.signal(signal.SIGCONT)

    def compact_etcd(self) -> int:
        """Compact etcd's history; return the revision that is its oldest now."""
        found = self._ask_etcd("range", {"key": "AA==", "count_only": True})
        revision = int(found["header"]["revision"])
        self._ask_etcd("compaction", {"revision": revision, "physical": True})
        return revision

    def _ask_etcd(self, what: str, body: dict[str, Any]) -> Any:
        connection = HTTPConnection("127.0.0.1", self._etcd_ports[0], timeout=30)
        try:
            connection.request("POST", f"/v3/kv/{what}", json.dumps(body))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        assert answer.status == 200, content
        return json.loads(content)

    def restart_manager(self) -> None:
        """Restart kube-controller-manager, whose garbage collector then lists everything again."""
        self._manager.kill()
        self._start_manager()

    def pause_manager(self) -> None:
        """Pause the controllers: nothing is collected, no namespace is emptied."""
        self._manager.signal(signal.SIGSTOP)

    def resume_manager(self) -> None:
        """Resume the controllers."""
        self._manager.signal(signal.SIGCONT)

    def _stop_processes(self) -> None:
        """Stop etcd last, and not while it is paused: without it an API server waits to end."""
        self.resume_etcd()
        for process in (self._manager, self._apiserver, self._etcd):
            process.stop()

    def _start_manager(self) -> None:
        if not self._controllers:
            return
        self._manager.start()
        healthz = Client(self._manager_port, self.ca, MANAGER_TOKEN, timeout=5)
        self._manager.wait_until(
            lambda: healthz.status("/healthz") == 200, "healthy", START_SECONDS
        )

    def _process(self, command: list[str], group: Group) -> Process:
        return Process(command, self.folder / f"{Path(command[0]).name}.log", group)

    def _write_files(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.authority = write_pki(self.folder / "pki")
        (self.folder / "tokens.csv").write_text(TOKENS)
        (self.folder / "audit-policy.yaml").write_text(yaml.safe_dump(dict(self._audit_policy)))
        self._write_kubeconfig(self.kubeconfig, ADMIN_TOKEN)
        self._write_kubeconfig(self.folder / "manager.kubeconfig", MANAGER_TOKEN)

    def _write_kubeconfig(self, path: Path, token: str) -> None:
        name = "controlplane"
        cluster = {"server": self.url, "certificate-authority": str(self.ca)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config, sort_keys=False))

    def _etcd_command(self) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in self._etcd_ports)
        return command(
            self.binaries.etcd,
            data_dir=self.folder / "etcd",
            listen_client_urls=client,
            advertise_client_urls=client,
            listen_peer_urls=peer,
            initial_advertise_peer_urls=peer,
            initial_cluster=f"default={peer}",
            unsafe_no_fsync="true",  # this data need not survive a power failure
            log_level="warn",
        )

    def _apiserver_command(self) -> list[str]:
        pki = self.folder / "pki"
        audit = {
            "audit_policy_file": self.folder / "audit-policy.yaml",
            "audit_log_path": self.folder / "audit.log",
        }
        flags = dict(
            etcd_servers=f"http://127.0.0.1:{self._etcd_ports[0]}",
            bind_address="127.0.0.1",
            secure_port=self.port,
            tls_cert_file=pki / "server.crt",
            tls_private_key_file=pki / "server.key",
            token_auth_file=self.folder / "tokens.csv",
            client_ca_file=self.ca,
            authorization_mode="RBAC",
            service_account_issuer="https://kubernetes.default.svc",
            service_account_key_file=pki / "sa.pub",
            service_account_signing_key_file=pki / "sa.key",
            service_cluster_ip_range="10.0.0.0/24",
            # Pods can be created although no controller makes service accounts.
            disable_admission_plugins="ServiceAccount",
            # Off by default; where it is on, owner references need a right of their own.
            enable_admission_plugins="OwnerReferencesPermissionEnforcement",
            # Endpoints of the service `kubernetes` may not be on the loopback address.
            endpoint_reconciler_type="none",
            allow_privileged="true",
            **(audit if self._audit else {}),
        )
        return command(self.binaries.kube_apiserver, **{**flags, **self._apiserver_flags})

    def _manager_command(self) -> list[str]:
        pki = self.folder / "pki"
        return command(
            self.binaries.kube_controller_manager,
            kubeconfig=self.folder / "manager.kubeconfig",
            controllers=",".join(self._controllers),
            bind_address="127.0.0.1",
            secure_port=self._manager_port,
            tls_cert_file=pki / "server.crt",
            tls_private_key_file=pki / "server.key",
            root_ca_file=self.ca,
            service_account_private_key_file=pki / "sa.key",
            leader_elect="false",
            kube_api_qps=500,
            kube_api_burst=1000,
            v=self._manager_verbosity,
        )


def command(binary: Path, **flags: object) -> list[str]:
    """Write flags the way these programs take them: --etcd-servers=..."""
    return [str(binary), *(f"--{name.replace('_', '-')}={flags[name]}" for name in flags)]
