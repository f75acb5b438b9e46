"""Sends orders to Pagurus over HTTP, follows them, and acts on them. Needs Python 3.11 and nothing else.

    client = Client("http://127.0.0.1:8080")
    client.register({"id": "shop-000123", "scenario": "change-tariff", "params": {"msisdn": "79110000001"}})
    order = client.wait("shop-000123", timeout=600)

An order has an id of the client's choice, so that sending it again is harmless: `register` repeats by itself what got no
answer, and a program that was interrupted calls it again with the same order.
"""

import base64
import hashlib
import hmac
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Iterator, Literal, NotRequired, TypedDict

# Longest single question, in seconds, and longest wait that one question asks for.
QUESTION = 60
LONG_POLL = 30
# Seconds for which a webhook is good: one that was caught on its way cannot be played again later.
TOLERANCE = 300


class After(TypedDict):
    """An order that must have ended before, with the acceptable final states."""

    order: str
    states: list[str]
    otherwise: NotRequired[str]


class Lifecycle(TypedDict, total=False):
    """Conditions of the start."""

    startAt: str
    periodToStart: int
    after: list[After]


class Notify(TypedDict):
    """Request for notifications of an order."""

    url: str
    correlationId: NotRequired[str]
    timezone: NotRequired[str]
    on: NotRequired[list[Literal["final", "transitions", "parked"]]]
    format: NotRequired[Literal["pagurus", "cloudevents", "cloudevents-binary"]]


class Order(TypedDict):
    """An order to be registered."""

    id: str
    scenario: str
    scenarioVersion: NotRequired[int]
    params: NotRequired[dict[str, Any]]
    mode: NotRequired[Literal["parallel", "sequential"]]
    queue: NotRequired[str]
    priority: NotRequired[Literal["high", "normal", "low"]]
    flow: NotRequired[dict[str, Any]]
    transactionId: NotRequired[str]
    notify: NotRequired[Notify]
    lifecycle: NotRequired[Lifecycle]


class Registered(TypedDict):
    """Result of a registration: `accepted`, or `duplicate` with the present status of the order."""

    id: str
    status: Literal["accepted", "duplicate"]
    orderStatus: NotRequired[str]
    note: NotRequired[str]


class Status(TypedDict):
    """Status of an order; `final` is true if this life is over."""

    id: str
    status: str
    final: bool
    life: int
    note: NotRequired[str]


class Failure(Exception):
    """Anything that is not the answer that was asked for."""


class Unreachable(Failure):
    """The engine did not answer: nobody knows whether the request was done. Repeating it is harmless."""


class NotGenuine(Failure):
    """A webhook that was not signed with the secret, or not just now."""


class Problem(Failure):
    """The engine says no, as RFC 9457 describes it. The classes below are its types."""

    kind = ""

    def __init__(self, body: dict[str, Any], retry_after: float | None = None):
        errors = body.get("errors") or []
        faults = "; ".join(f"{one['pointer']}: {one['message']}" for one in errors)
        super().__init__(f"{body.get('detail', '')} ({faults})" if faults else body.get("detail", ""))
        self.type: str = body.get("type", "about:blank")
        self.title: str = body.get("title", "")
        self.status: int = body.get("status", 0)
        self.detail: str = body.get("detail", "")
        # The first field at fault, and all that is wrong: `pointer`, `message`, and mostly `hint`.
        self.pointer: str | None = body.get("pointer")
        self.errors: list[dict[str, Any]] = errors
        # The status of the order, where that is the reason.
        self.order_status: str | None = body.get("orderStatus")
        # Seconds after which the same request may succeed.
        self.retry_after = retry_after


class Malformed(Problem):
    kind = "malformed"


class Invalid(Problem):
    kind = "invalid"


class UnknownScenario(Problem):
    kind = "unknown-scenario"


class Conflict(Problem):
    """Another order has the id: the one that was sent before had another content."""

    kind = "conflict"


class Refused(Problem):
    """The status of the order does not allow the action."""

    kind = "refused"


class NotFound(Problem):
    kind = "not-found"


class TooLarge(Problem):
    kind = "too-large"


class Busy(Problem):
    """Too much at once: try again later."""

    kind = "busy"


class Unavailable(Problem):
    """The database is away: try again later."""

    kind = "unavailable"


TYPES = {f"urn:pagurus:problem:{one.kind}": one for one in Problem.__subclasses__()}


class Client:
    """One installation. Holds no connection, and may be used by many threads."""

    def __init__(self, server: str, patience: float = 60, token: str | None = None):
        self.server = server.rstrip("/")
        # Token of this program, where the API asks for one. It goes to this server alone.
        self.token = token
        # Seconds for which a registration is repeated, and an order followed, while the engine is away or busy.
        self.patience = patience

    def register(self, order: Order) -> Registered:
        """Registers an order. Repeats by itself while the engine is away or busy: the id makes that harmless."""
        return self._patiently(lambda: self._ask("POST", "/v1/orders", order), time.monotonic() + self.patience)

    def get(self, order_id: str) -> dict[str, Any]:
        """Returns the order with everything that is known about it."""
        return self._ask("GET", _path(order_id))

    def status(self, order_id: str) -> Status:
        """Returns the status of the order."""
        return self._ask("GET", _path(order_id, "status"))

    def explain(self, order_id: str) -> str:
        """Explains why the order does not run."""
        return self._ask("GET", _path(order_id, "explain"))["explanation"]

    def wait(self, order_id: str, timeout: float | None = None) -> Status:
        """Follows the order until it has ended, or the time, in seconds, is over; `final` says which."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = LONG_POLL if until is None else max(0.0, min(LONG_POLL, until - time.monotonic()))
            poll = _path(order_id, "wait") + f"?timeout={int(left * 1000)}ms"
            patience = time.monotonic() + self.patience
            begun = time.monotonic()
            answer = self._patiently(lambda: self._ask("GET", poll), patience if until is None else min(until, patience))
            if answer["final"] or (until is not None and time.monotonic() >= until):
                return answer
            # An engine that stops answers at once.
            time.sleep(max(0.0, min(0.2, left) - (time.monotonic() - begun)))

    def find(self, **conditions: Any) -> Iterator[dict[str, Any]]:
        """Orders that fulfil all conditions, such as `scenario="change-tariff", status="fail"`."""
        while True:
            page = self._ask("GET", "/v1/orders?" + urllib.parse.urlencode(conditions))
            yield from page["items"]
            if not page.get("next"):
                return
            conditions["cursor"] = page["next"]

    def cancel(self, order_id: str, reason: str, **more: Any) -> Status:
        return self.act(order_id, "cancel", reason, **more)

    def interrupt(self, order_id: str, reason: str, **more: Any) -> Status:
        return self.act(order_id, "interrupt", reason, **more)

    def kill(self, order_id: str, reason: str, **more: Any) -> Status:
        return self.act(order_id, "kill", reason, **more)

    def restart(self, order_id: str, reason: str, **more: Any) -> Status:
        """Runs the order again; `**{"from": "initial"}` or a state says where it begins."""
        return self.act(order_id, "restart", reason, **more)

    def act(self, order_id: str, action: str, reason: str, **more: Any) -> Status:
        """Does something to an order, with a reason for its history. What the status does not allow raises `Refused`."""
        # The same key over all repeats: the action is done once.
        key = {"Idempotency-Key": str(uuid.uuid4())}
        request = lambda: self._ask("POST", _path(order_id, action), {"reason": reason, **more}, key)  # noqa: E731
        return self._patiently(request, time.monotonic() + self.patience)

    def call(self, order_id: str, name: str, body: Any = None, key: str | None = None, timeout: float = 30) -> dict[str, Any]:
        """Asks a live order something, and waits for what it answers; without `answeredAt` it has not answered yet."""
        asked = {"name": name, "body": body, "key": key or str(uuid.uuid4())}
        path = _path(order_id, "calls") + f"?timeout={int(timeout * 1000)}ms"
        return self._patiently(lambda: self._ask("POST", path, asked, wait=timeout), time.monotonic() + self.patience)

    def answer(self, callback: str, body: Any, step_status: str | None = None) -> str:
        """Answers a request of an order, by its `${request.url}` or `${request.id}`; the verdict is `accepted`,
        `duplicate`, `late` or `orphan`."""
        place = callback if callback.startswith(("http://", "https://")) else f"/v1/callbacks/{_quoted(callback)}"
        headers = {} if step_status is None else {"step-status": step_status}
        answered = self._patiently(lambda: self._ask("POST", place, body, headers), time.monotonic() + self.patience)
        return answered["status"]

    def _patiently(self, request, until: float):
        pause = 0.2
        while True:
            try:
                return request()
            except (Unreachable, Busy, Unavailable) as failure:
                # At random, so that those who were turned away together do not come back together.
                rest = getattr(failure, "retry_after", None) or pause * random.uniform(0.5, 1.0)
                if time.monotonic() + rest >= until:
                    raise
                time.sleep(rest)
                pause = min(pause * 2, 5.0)

    def _ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, wait: float = 0) -> Any:
        url = path if path.startswith(("http://", "https://")) else self.server + path
        data = None if method == "GET" else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
        if self.token is not None and url.startswith(self.server + "/"):
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=QUESTION + wait) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            raise _problem(refusal) from None
        except (OSError, ValueError) as failure:
            raise Unreachable(f"{url}: {failure}") from failure


def notification(secret: str, headers: Any, body: bytes, now: float | None = None) -> dict[str, Any]:
    """Returns the content of a webhook, if it is genuine; otherwise raises `NotGenuine`.

    `headers` is anything with `get` that does not mind case, such as those of `http.server`; `body` is as it came, byte for
    byte. A notification may come twice, under the same `webhook-id`: the receiver must be able to handle that.
    """
    prefix = "whsec_"
    key = base64.b64decode(secret[len(prefix) :]) if secret.startswith(prefix) else secret.encode()
    message, seconds = headers.get("webhook-id") or "", headers.get("webhook-timestamp") or ""
    if not (seconds.isascii() and seconds.isdigit()) or abs((time.time() if now is None else now) - int(seconds)) > TOLERANCE:
        raise NotGenuine("the webhook was not sent just now")
    expected = b"v1," + base64.b64encode(hmac.digest(key, f"{message}.{seconds}.".encode() + body, hashlib.sha256))
    # There are several while the secret changes.
    given = (headers.get("webhook-signature") or "").encode().split()
    if not any(hmac.compare_digest(expected, one) for one in given):
        raise NotGenuine("the webhook is not signed with the secret")
    return json.loads(body)


def _path(order_id: str, part: str = "") -> str:
    return f"/v1/orders/{_quoted(order_id)}" + (f"/{part}" if part else "")


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _problem(refusal: urllib.error.HTTPError) -> Failure:
    try:
        body = json.load(refusal)
    except (OSError, ValueError):
        body = None
    after = refusal.headers.get("Retry-After") or ""
    if not isinstance(body, dict) or "type" not in body:
        # Something in between has answered, and not the engine.
        return Unreachable(f"{refusal.url}: status {refusal.code}")
    return TYPES.get(body["type"], Problem)(body, float(after) if after.isdigit() else None)
