"""URLs: ``url(self).getHost()``, ``isURL(self)``, parsed as Go's ``net/url`` does."""

import re
from typing import Any, NamedTuple

from myrmidon.apiserver.cel.declarations import function, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.functions.addresses import AddressError, parse_address
from myrmidon.apiserver.cel.values import Opaque
from myrmidon.apiserver.golang.text import quote

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_PORT = re.compile(r"(:[0-9]*)?")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*")
_PATH_SAFE = "-_.~$&+,/:;=@"
_HOST_SAFE = frozenset("-_.~!$&'()*+,;=:[]<>\"")


class UrlError(ValueError):
    """The string is not a URL; the message is Go's, without the prefix ``parse "...": ``."""


class _Parts(NamedTuple):
    scheme: str
    user: str
    host: str
    path: str
    query: str
    fragment: str


class Url(Opaque):
    """A parsed URL."""

    __slots__ = ("parts",)
    type_name = "kubernetes.URL"

    def __init__(self, parts: _Parts) -> None:
        self.parts = parts

    def same(self, other: Any) -> bool:  # noqa: D102 - see Opaque
        return bool(self.parts == other.parts)

    def host_and_port(self) -> tuple[str, str]:
        """Return the host without brackets, and the port."""
        host, colon, port = self.parts.host.rpartition(":")
        if not colon or not _PORT.fullmatch(":" + port):
            host, port = self.parts.host, ""
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        return host, port

    def escaped_path(self) -> str:
        """Return the path as it was written if its escapes are valid; otherwise escape it again."""
        path = self.parts.path
        if _PLAIN_PATH.fullmatch(path):
            return path
        raw = _unescape(path)
        return "".join(_escaped(byte) for byte in raw)

    def query(self) -> dict[str, list[str]]:
        """Return all values of each key; pairs that cannot be decoded are omitted."""
        found: dict[str, list[str]] = {}
        for pair in self.parts.query.split("&"):
            if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
                continue
            key, _, value = pair.replace("+", " ").partition("=")
            found.setdefault(_text(key), []).append(_text(value))
        return found


def _escaped(byte: int) -> str:
    char = chr(byte)
    plain = byte < 128 and (char.isalnum() or char in _PATH_SAFE)
    return char if plain else f"%{byte:02X}"


def _unescape(text: str) -> bytes:
    return re.sub(
        rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found.group(1), 16)]), text.encode()
    )


def _text(escaped: str) -> str:
    return _unescape(escaped).decode(errors="replace")


def check_request_uri(text: str) -> None:
    """Raise ``UrlError`` if the string is not valid as the target of an HTTP request."""
    _parse(text, request=True)


def _parse(text: str, *, request: bool) -> _Parts:
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and request:
        raise UrlError("empty url")
    fragment = ""
    if not request:
        text, _, fragment = text.partition("#")
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/") and text != "*":
        if scheme:
            return _Parts(scheme, "", "", "", query, fragment)
        _check_relative(rest, request=request)
    user = host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(authority)
    if bad := _BAD_ESCAPE.search(rest):
        raise UrlError(f'invalid URL escape "{rest[bad.start() : bad.start() + 3]}"')
    return _Parts(scheme, user, host, rest, query, fragment)


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    found = _SCHEME.fullmatch(text)
    return (found.group(1).lower(), found.group(2)) if found else ("", text)


def _check_relative(rest: str, *, request: bool) -> None:
    if request:
        raise UrlError("invalid URI for request")
    if ":" in rest.partition("/")[0]:
        raise UrlError("first path segment in URL cannot contain colon")


def _authority(authority: str) -> tuple[str, str]:
    user, _, host = authority.rpartition("@")
    if not _USER.fullmatch(user):
        raise UrlError("net/url: invalid userinfo")
    return user, _host(host)


def _host(host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _literal_host(host)
    colon = host.find(":")
    if colon >= 0 and not _PORT.fullmatch(host[colon:]):
        raise UrlError(f'invalid port "{host[colon:]}" after host')
    return _checked_host(host)


def _literal_host(host: str) -> str:
    close = host.rfind("]")
    if close < 0:
        raise UrlError("missing ']' in host")
    if not _PORT.fullmatch(host[close + 1 :]):
        raise UrlError(f'invalid port "{host[close + 1 :]}" after host')
    inner = _text(host[1:close])
    try:
        address, _ = parse_address(inner)
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    if address.version == 4:
        raise UrlError("invalid IP-literal")
    return f"[{inner}]{host[close + 1 :]}"


def _checked_host(host: str) -> str:
    for found in re.finditer("%.{0,2}", host):
        # In a host, only bytes beyond ASCII may be escaped.
        escape = found.group()
        if not _ESCAPE.fullmatch(escape) or (int(escape[1], 16) < 8 and escape != "%25"):
            raise UrlError(f'invalid URL escape "{escape}"')
    for char in host:
        if char.isascii() and not char.isalnum() and char not in _HOST_SAFE and char != "%":
            raise UrlError(f"invalid character {quote(char)} in host name")
    return _text(host)


def uri_problem(text: str) -> str | None:
    """Return the error of a request URI, None if it is valid."""
    try:
        check_request_uri(text)
    except UrlError as error:
        return f"parse {quote(text)}: {error}"
    return None


def _url(text: str) -> Url:
    problem = uri_problem(text)
    if problem is None:
        try:
            # A request URI has no fragment, so the URL is parsed again to find it.
            return Url(_parse(text, request=False))
        except UrlError as error:
            problem = f"parse {quote(text)}: {error}"
    raise CelEvaluationError(f"URL parse error during conversion from string: {problem}")


_U = Url.type_name
OVERLOADS = (
    function("string_to_url", f"url(string) -> {_U}", _url),
    method("url_get_scheme", f"getScheme({_U}) -> string", lambda url: url.parts.scheme),
    method("url_get_host", f"getHost({_U}) -> string", lambda url: url.parts.host),
    method("url_get_hostname", f"getHostname({_U}) -> string", lambda url: url.host_and_port()[0]),
    method("url_get_port", f"getPort({_U}) -> string", lambda url: url.host_and_port()[1]),
    method("url_get_escaped_path", f"getEscapedPath({_U}) -> string", Url.escaped_path),
    method("url_get_query", f"getQuery({_U}) -> map(string, list(string))", Url.query),
    function("is_url_string", "isURL(string) -> bool", lambda text: uri_problem(text) is None),
)
