"""Webhooks: check of their sender, and their content."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from .errors import NotGenuine

# Age, in seconds, for which a webhook is usually good: one that was caught on its way cannot be played again later.
MAX_AGE = 300
_PREFIX = "whsec_"


def verify_webhook(
    headers: Mapping[str, str], body: bytes, secret: str, max_age: float = MAX_AGE, *, now: float | None = None
) -> dict[str, Any]:
    """Returns the content of a webhook, if it is genuine; otherwise raises `NotGenuine`.

    `headers` are those of any framework, whatever the case of their names; `body` is as it came, byte for byte. A notification
    may come twice, under the same `webhook-id`: the receiver must be able to handle that.
    """
    fields = {name.lower(): value for name, value in headers.items() if name.lower().startswith("webhook-")}
    message, seconds = fields.get("webhook-id", ""), fields.get("webhook-timestamp", "")
    age = abs((time.time() if now is None else now) - int(seconds)) if seconds.isascii() and seconds.isdigit() else None
    if age is None or age > max_age:
        raise NotGenuine("the webhook was not sent just now")
    key = base64.b64decode(secret[len(_PREFIX) :]) if secret.startswith(_PREFIX) else secret.encode()
    expected = b"v1," + base64.b64encode(hmac.digest(key, f"{message}.{seconds}.".encode() + body, hashlib.sha256))
    # There are several while the secret changes.
    given = fields.get("webhook-signature", "").encode().split()
    if not any(hmac.compare_digest(expected, one) for one in given):
        raise NotGenuine("the webhook is not signed with the secret")
    content: dict[str, Any] = json.loads(body)
    return content
