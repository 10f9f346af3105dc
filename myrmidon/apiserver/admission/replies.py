"""Read the HTTP answer of a webhook as the real server's client does: a document, or an error text."""

from typing import Any

from myrmidon.apiserver.golang.json import decode
from myrmidon.apiserver.golang.text import quote

_UNKNOWN = "unknown"
_BY_STATUS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be "
        "processing the request"
    ),
}


def read_reply(status: int, content_type: str, body: bytes) -> Any:
    """Return the document in an answer, or ``{"error": text}``."""
    document: Any = None
    is_json = True
    try:
        document = decode(body)
    except ValueError:
        is_json = False
    if 200 <= status < 300:
        if not body:
            said = f"0-length response with status code: {status} and content type: {content_type}"
            return {"error": said}
        return document if is_json else body.decode(errors="replace")
    if isinstance(document, dict) and document.get("kind") == "Status" and document.get("message"):
        return {"error": str(document["message"])}
    is_text = content_type.startswith("text/")
    return {"error": _said(status, body.decode(errors="replace").strip() if is_text else _UNKNOWN)}


def _said(status: int, message: str) -> str:
    """Return the text of a status code; some show the body of the answer, if that is text."""
    if status == 403:
        return message
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return (
            f"an error on the server ({quote(message)}) has prevented the request from succeeding"
        )
    return f"the server responded with the status code {status} but did not return more information"
