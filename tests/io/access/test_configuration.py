"""A Configuration of kubernetes-asyncio becomes an Endpoint."""

from base64 import b64encode
from typing import Any

import pytest
from kubernetes_asyncio.client import Configuration

from myrmidon.errors import UnreachableError, UsageError
from myrmidon.io.access.configuration import endpoint_of
from myrmidon.io.access.kubeconfig import Tls
from myrmidon.testing import run


def configuration(**fields: Any) -> Configuration:
    """Build a configuration as a program does."""
    made = Configuration(host="https://example.com:6443/")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def header(made: Configuration) -> str:
    """Return the header of a request."""
    return run(endpoint_of(made).credentials.authorization(0.0))


def test_address_and_certificates() -> None:
    """They get the names that an Endpoint has for them."""
    fields = {"ssl_ca_cert": "ca", "cert_file": "cert", "key_file": "key", "verify_ssl": False}
    found = endpoint_of(configuration(**fields, tls_server_name="kube", proxy="http://proxy:1"))
    assert found.server == "https://example.com:6443"
    assert found.tls == Tls("ca", "cert", "key", verify=False, server_name="kube")
    assert found.proxy == "http://proxy:1"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ""),
        ({"api_key": {"BearerToken": "Bearer abc"}}, "Bearer abc"),
        ({"api_key": {"BearerToken": "abc"}}, "Bearer abc"),
        ({"api_key": {"authorization": "abc"}, "api_key_prefix": {"authorization": "X"}}, "X abc"),
        ({"username": "me", "password": "pw"}, f"Basic {b64encode(b'me:pw').decode()}"),
    ],
)
def test_credentials(fields: dict[str, Any], expected: str) -> None:
    """A token, with or without its prefix, or a user and password."""
    assert header(configuration(**fields)) == expected


def test_the_hook_renews_the_token() -> None:
    """It is called for each request, and after a refusal by the server."""
    tokens = iter("abc")

    async def hook(made: Configuration) -> None:
        made.api_key["BearerToken"] = f"Bearer {next(tokens)}"

    credentials = endpoint_of(configuration(refresh_api_key_hook=hook)).credentials
    assert run(credentials.authorization(0.0)) == "Bearer a"
    assert run(credentials.renew("Bearer a"))
    assert not run(credentials.renew("Bearer c"))
    assert repr(credentials) == "Configured()"


def test_a_hook_that_fails_is_a_request_that_was_not_sent() -> None:
    """Its message, which may contain a secret, is not shown."""

    def hook(_made: Configuration) -> None:
        raise RuntimeError("secret")

    with pytest.raises(UnreachableError, match="refresh_api_key_hook failed: RuntimeError"):
        header(configuration(refresh_api_key_hook=hook))


def test_a_configuration_that_was_not_loaded_is_refused() -> None:
    """It names no server."""
    with pytest.raises(UsageError, match="not an http or https URL"):
        endpoint_of(configuration(host=""))
