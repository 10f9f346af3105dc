"""Finding the API server: files, contexts, pods, and one-sentence errors."""

import asyncio
import base64
import sys
from base64 import b64encode
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest
import yaml

from myrmidon.errors import UsageError
from myrmidon.io.access.addresses import Address
from myrmidon.io.access.credentials import Fixed, TokenFile
from myrmidon.io.access.exec_plugin import Given
from myrmidon.io.access.kubeconfig import Endpoint, load_endpoint


def kubeconfig(path: Path, user: dict[str, Any], **cluster: Any) -> Path:
    """Write a kubeconfig with the contexts one and two."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "here", "cluster": {"server": "https://here:6443/", **cluster}},
            {"name": "there", "cluster": {"server": "http://there:8080"}},
        ],
        "users": [{"name": "me", "user": user}],
        "contexts": [
            {"name": "one", "context": {"cluster": "here", "user": "me", "namespace": "team"}},
            {"name": "two", "context": {"cluster": "there", "user": "me"}},
        ],
        "current-context": "one",
    }
    path.write_text(yaml.safe_dump(content))
    return path


def load(path: Path | str | None = None, context: str | None = None, **environ: str) -> Endpoint:
    """Load with an environment of the test."""
    return asyncio.run(load_endpoint(path, context, environ={"HOME": "/nowhere", **environ}))


def header(endpoint: Endpoint) -> str:
    """Return the Authorization header of the first request."""

    async def ask() -> str:
        return await endpoint.credentials.authorization(0.0)

    return asyncio.run(ask())


def test_the_current_context_is_taken(tmp_path: Path) -> None:
    """Server, namespace, token, TLS."""
    path = kubeconfig(tmp_path / "k", {"token": "t"}, **{"tls-server-name": "api.internal"})
    endpoint = load(path)
    assert endpoint.server == "https://here:6443"
    assert endpoint.host == "here:6443"
    assert endpoint.namespace == "team"
    assert endpoint.context == "one"
    assert endpoint.tls.server_name == "api.internal"
    assert endpoint.tls.verify
    assert header(endpoint) == "Bearer t"


def test_another_context_can_be_named(tmp_path: Path) -> None:
    """Its namespace becomes the default."""
    endpoint = load(kubeconfig(tmp_path / "k", {"token": "t"}), "two")
    assert endpoint.server == "http://there:8080"
    assert endpoint.namespace == "default"


def test_an_unknown_context_names_the_known_ones(tmp_path: Path) -> None:
    """The fix is in the message."""
    with pytest.raises(UsageError, match=r"no context 'three'; it has: one, two"):
        load(kubeconfig(tmp_path / "k", {"token": "t"}), "three")


def test_lists_of_files_are_merged_as_kubectl_does(tmp_path: Path) -> None:
    """The first current context wins; a missing file is skipped."""
    first = kubeconfig(tmp_path / "k1", {"token": "first"})
    second = tmp_path / "k2"
    second.write_text(first.read_text().replace("current-context: one", "current-context: two"))
    endpoint = load(KUBECONFIG=f"{tmp_path / 'missing'}:{first}:{second}")
    assert endpoint.context == "one"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
        ({}, ""),
    ],
    ids=["token", "password", "none"],
)
def test_users_without_a_plugin(tmp_path: Path, user: dict[str, Any], expected: str) -> None:
    """Users with a token, with a password, and without credentials."""
    assert header(load(kubeconfig(tmp_path / "k", user), "two")) == expected


def test_a_token_file_is_relative_to_its_kubeconfig(tmp_path: Path) -> None:
    """And read again when it rotates."""
    (tmp_path / "token").write_text("one\n")
    endpoint = load(kubeconfig(tmp_path / "k", {"tokenFile": "token"}))

    async def main() -> None:
        assert await endpoint.credentials.authorization(0.0) == "Bearer one"
        (tmp_path / "token").write_text("two\n")
        assert await endpoint.credentials.authorization(61.0) == "Bearer two"

    asyncio.run(main())


def test_impersonation_and_proxies_of_the_file_are_kept(tmp_path: Path) -> None:
    """They are sent as kubectl would send them."""
    user: dict[str, Any] = {"token": "t", "as": "dev", "as-uid": "7", "as-groups": ["devs", "ops"]}
    user["as-user-extra"] = {"Example.org/Scopes": ["view", "edit"]}
    endpoint = load(kubeconfig(tmp_path / "k", user, **{"proxy-url": "http://proxy:3128"}))
    assert endpoint.headers == (
        ("impersonate-user", "dev"),
        ("impersonate-uid", "7"),
        ("impersonate-group", "devs"),
        ("impersonate-group", "ops"),
        ("impersonate-extra-example.org%2Fscopes", "view"),
        ("impersonate-extra-example.org%2Fscopes", "edit"),
    )
    assert endpoint.proxy == "http://proxy:3128"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("just text", "is not a kubeconfig"),
        ("{", "cannot be read"),
        ("contexts: []", "has no current context"),
        ("current-context: x", "has no context 'x'; it has: none"),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: gone}}]",
            "cannot be used",
        ),
    ],
    ids=["text", "broken", "nothing chosen", "no contexts", "no cluster"],
)
def test_wrong_files_are_explained(tmp_path: Path, content: str, message: str) -> None:
    """Each in one sentence that names the file."""
    path = tmp_path / "k"
    path.write_text(content)
    with pytest.raises(UsageError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_missing_files_are_explained(tmp_path: Path) -> None:
    """Whether a file was named or not."""
    with pytest.raises(UsageError, match="there is no kubeconfig at /nowhere/k"):
        load("/nowhere/k")
    with pytest.raises(UsageError, match="no cluster configured"):
        load()


def test_a_pod_finds_its_own_cluster(tmp_path: Path) -> None:
    """The address comes from the environment, the rest from mounted files; the token rotates."""
    for name, text in [("token", "t1"), ("ca.crt", "x"), ("namespace", "mine\n")]:
        (tmp_path / name).write_text(text)

    async def main() -> None:
        environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
        endpoint = await load_endpoint(environ=environ, service_account=tmp_path)
        assert endpoint.server == "https://[fd00::1]:443"
        assert endpoint.namespace == "mine"
        assert endpoint.tls.ca_file == str(tmp_path / "ca.crt")
        assert await endpoint.credentials.authorization(0.0) == "Bearer t1"
        (tmp_path / "token").unlink()
        with pytest.raises(UsageError, match="looks like a pod"):
            await load_endpoint(environ=environ, service_account=tmp_path)

    asyncio.run(main())


def test_a_token_file_that_is_missing_is_named(tmp_path: Path) -> None:
    """At the start, instead of as a refused request later."""
    with pytest.raises(UsageError, match=rf"cannot be used: the file {tmp_path}/gone of tokenFile"):
        load(kubeconfig(tmp_path / "k", {"tokenFile": "gone"}))


def test_certificates_are_relative_to_the_file_of_their_entry(tmp_path: Path) -> None:
    """That of the cluster and that of the user may be in different folders."""
    for folder, name in (("clusters", "ca.crt"), ("users", "me.crt"), ("users", "me.key")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(name)
    whole = yaml.safe_load(
        kubeconfig(
            tmp_path / "whole",
            {"client-certificate": "me.crt", "client-key": "me.key"},
            **{"certificate-authority": "ca.crt", "insecure-skip-tls-verify": True},
        ).read_text()
    )
    users = {"users": whole.pop("users")}
    (tmp_path / "clusters/config").write_text(yaml.safe_dump(whole))
    (tmp_path / "users/config").write_text(yaml.safe_dump(users))

    tls = load(f"{tmp_path}/clusters/config:{tmp_path}/users/config").tls
    assert [Path(file).read_text() for file in (tls.ca_file, tls.cert_file, tls.key_file)] == [
        "ca.crt",
        "me.crt",
        "me.key",
    ]
    assert not tls.verify


def test_certificates_in_the_file(tmp_path: Path) -> None:
    """They are decoded into files that only this user can read; the same data give the same file."""
    data = base64.b64encode(b"a certificate").decode()
    path = kubeconfig(tmp_path / "k", {}, **{"certificate-authority-data": data})
    first, second = load(path).tls.ca_file, load(path).tls.ca_file

    assert Path(first).read_bytes() == b"a certificate"
    assert first == second
    assert Path(first).stat().st_mode & 0o077 == 0
    assert Path(first).parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"certificate-authority-data": "%"}, "certificate-authority-data is not base64"),
        ({"certificate-authority": "gone"}, "gone of certificate-authority does not exist"),
    ],
)
def test_wrong_certificates_are_explained(
    tmp_path: Path, cluster: dict[str, Any], message: str
) -> None:
    """Which key it is, and not what it holds."""
    with pytest.raises(UsageError, match=message):
        load(kubeconfig(tmp_path / "k", {}, **cluster))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("clusters: {}\ncontexts: x", "contexts is not a list"),
        ("current-context: x\ncontexts: [{}]", "an entry of contexts has no name"),
        ("current-context: x\ncontexts: [{name: x, context: [1]}]", "the context x is not a map"),
    ],
)
def test_malformed_lists_are_explained(tmp_path: Path, content: str, message: str) -> None:
    """Without a traceback."""
    (tmp_path / "k").write_text(content)
    with pytest.raises(UsageError, match=message):
        load(tmp_path / "k")


def test_an_auth_provider_of_kubernetes_asyncio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its loader gets the token; the package is optional."""
    provider = {"name": "gcp", "config": {"access-token": "google"}}
    path = kubeconfig(tmp_path / "k", {"auth-provider": provider})
    assert header(load(path)) == "Bearer google"

    monkeypatch.setitem(sys.modules, "kubernetes_asyncio.config.kube_config", None)
    with pytest.raises(UsageError, match=r"fix: pip install kubernetes-asyncio"):
        load(path)


@pytest.mark.parametrize(
    "server",
    ["here:6443", "https://", "https://here:no", "https://here:99999", "https://[::1", "ftp://a"],
)
def test_a_server_that_is_not_an_address_is_explained(tmp_path: Path, server: str) -> None:
    """When it is loaded, not with the first request."""
    with pytest.raises(UsageError, match=r"not an http or https URL.*\n  fix: .*https://host:port"):
        load(kubeconfig(tmp_path / "k", {"token": "t"}, server=server))


def test_a_password_in_the_address_of_the_server_is_not_shown(tmp_path: Path) -> None:
    """It is sent as Basic credentials if there are no others, as client-go does."""
    url = "https://us%40er:p%3Ass@here:6443/prefix"
    endpoint = load(kubeconfig(tmp_path / "k", {}, server=url))
    assert (endpoint.server, endpoint.host) == ("https://here:6443/prefix", "here:6443")
    assert header(endpoint) == "Basic " + b64encode(b"us@er:p:ss").decode()
    assert "p%3Ass" not in repr(endpoint) + str(endpoint)
    assert header(load(kubeconfig(tmp_path / "k", {"token": "t"}, server=url))) == "Bearer t"


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    """Neither an endpoint nor its parts show them."""
    endpoint = Endpoint(
        "https://u:secret@here", credentials=Fixed("Bearer secret"), proxy="http://u:secret@proxy"
    )
    shown = [endpoint, endpoint.credentials, Given("Bearer secret", "secret", "secret")]
    address = Address.of("https://here", None, "", endpoint.proxy)
    for it in [*shown, address, address.proxy, TokenFile(tmp_path / "token")]:
        assert "secret" not in f"{it!r} {it}".replace(str(tmp_path), "")
        assert b64encode(b"u:secret").decode() not in f"{it!r} {it}"


@pytest.mark.parametrize("token", ["secret\nsecret", "secret\x00", "secr\u00e9t"])
def test_a_token_that_cannot_be_sent_is_a_wrong_setting(tmp_path: Path, token: str) -> None:
    """It is refused when it is loaded, and not shown."""
    with pytest.raises(UsageError, match=r"cannot be sent.*\n  fix: ") as caught:
        load(kubeconfig(tmp_path / "k", {"token": token}))
    assert "secr" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["a: [token: secret", "token: secret\n\tb: secret", "\x00secret"]
)
def test_a_broken_kubeconfig_is_not_shown(tmp_path: Path, content: str) -> None:
    """Errors of YAML quote the line, which may contain the token."""
    path = tmp_path / "k"
    path.write_text(content)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        load(path)
    assert "secret" not in "".join(format_exception(caught.value))
    assert caught.value.__context__ is None
    path.write_bytes(b"token: secret\xff")
    with pytest.raises(UsageError, match="it is not UTF-8") as caught:
        load(path)
    assert "secret" not in "".join(format_exception(caught.value))
    assert caught.value.__context__ is None
