"""What the clients do, without I/O: each operation is a generator that yields requests, gets replies, and returns a result.
The clients send them; repeats, keys and pages stand here, once for both."""

import json
import random
import time
import urllib.parse
import uuid
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

from .errors import Failure, Foreign, Unreachable, problem
from .types import Answered, Order, Page, Registered, Status

# Longest time for an answer in seconds, besides the wait that a request asks for, and the longest of these waits.
ANSWER_TIMEOUT = 60.0
LONG_POLL = 30.0
# Shortest time between two requests that wait: an engine that stops answers at once.
_LEAST_POLL = 0.2
# Bound of the first pause between two tries, which doubles with each, and of the longest.
_PAUSES = (0.2, 5.0)
# Most orders of one request.
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the API. `place` is a path, or the whole address of a callback."""

    method: str
    place: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # Seconds that the answer may take longer.
    wait: float = 0.0
    # Seconds to rest before it is sent.
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer over HTTP; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


T = TypeVar("T")
Operation = Generator[Request, Reply | Unreachable, T]


class Patience:
    """What is left of the time for repeats."""

    def __init__(self, longest: float, until: float | None = None):
        end = time.monotonic() + longest
        self._until = end if until is None else min(until, end)
        self._bound = _PAUSES[0]

    def pause(self, failure: Failure) -> float:
        """Seconds before the next try. Raises the failure if it does not pass, or the time would be over then."""
        if not failure.is_passing:
            raise failure
        # At random, so that those who were turned away together do not come back together.
        pause = (failure.retry_after or 0.0) + random.uniform(0.0, self._bound)
        self._bound = min(self._bound * 2, _PAUSES[1])
        if time.monotonic() + pause >= self._until:
            raise failure
        return pause


class Operations:
    """The operations of a client that is patient for so many seconds."""

    def __init__(self, patience: float):
        self.patience = patience

    def ask(self, request: Request, until: float | None = None) -> Operation[Any]:
        """Asks until the engine answers, for as long as it is away or busy and the time is not over."""
        patience = Patience(self.patience, until)
        while True:
            reply = yield request
            try:
                return read(reply)
            except Failure as failure:
                request = replace(request, pause=patience.pause(failure))

    def register(self, order: Order, dry_run: bool, traceparent: str | None) -> Operation[Registered]:
        headers = {} if traceparent is None else {"traceparent": traceparent}
        place = "/v1/orders?dryRun=true" if dry_run else "/v1/orders"
        outcome: Registered = yield from self.ask(Request("POST", place, with_id(order), headers))
        return outcome

    def register_many(self, orders: Sequence[Order]) -> Operation[list[Registered]]:
        outcomes: list[Registered] = []
        for first in range(0, len(orders), _BATCH):
            part = [with_id(order) for order in orders[first : first + _BATCH]]
            outcomes += yield from self._register_part(part)
        return outcomes

    def _register_part(self, part: list[Order]) -> Operation[list[Registered]]:
        patience, outcomes, pause = Patience(self.patience), [cast(Registered, {})] * len(part), 0.0
        rest = list(range(len(part)))
        while True:
            again = [part[index] for index in rest]
            answer = yield from self.ask(Request("POST", "/v1/orders/batch", again, pause=pause))
            for index, outcome in zip(rest, answer, strict=True):
                outcomes[index] = outcome
            rest = [index for index in rest if outcomes[index]["status"] == "unavailable"]
            try:
                pause = patience.pause(Unreachable("whether it was registered is not known")) if rest else 0.0
            except Unreachable:
                return outcomes
            if not rest:
                return outcomes

    def part(self, order_id: str, part: str = "") -> Operation[Any]:
        return self.ask(Request("GET", _path(order_id, part)))

    def status(self, order_id: str) -> Operation[Status]:
        return self.part(order_id, "status")

    def explain(self, order_id: str) -> Operation[str]:
        explanation = yield from self.part(order_id, "explain")
        return str(explanation["explanation"])

    def wait(self, order_id: str, timeout: float | None) -> Operation[Status]:
        until = None if timeout is None else time.monotonic() + timeout
        pause = 0.0
        while True:
            left = LONG_POLL if until is None else max(0.0, min(LONG_POLL, until - time.monotonic()))
            place = _path(order_id, "wait") + f"?timeout={int(left * 1000)}ms"
            begun = time.monotonic()
            status: Status = yield from self.ask(Request("GET", place, pause=pause), until)
            if status["final"] or (until is not None and time.monotonic() >= until):
                return status
            pause = max(0.0, min(_LEAST_POLL, left) - (time.monotonic() - begun))

    def page(self, conditions: Mapping[str, Any], cursor: str | None) -> Operation[Page]:
        query: list[tuple[str, str]] = []
        for name, value in conditions.items():
            if name == "labels":
                query += [(f"labels.{key}", str(wanted)) for key, wanted in value.items()]
            elif isinstance(value, bool):
                query.append((name, str(value).lower()))
            elif isinstance(value, list | tuple | set | frozenset):
                query.append((name, ",".join(map(str, value))))
            else:
                query.append((name, str(value)))
        if cursor is not None:
            query.append(("cursor", cursor))
        return self.ask(Request("GET", "/v1/orders?" + urllib.parse.urlencode(query)))

    def act(self, order_id: str, action: str, reason: str, more: Mapping[str, Any]) -> Operation[Status]:
        return self._once("POST", _path(order_id, action), {"reason": reason, **more})

    def update(self, order_id: str, reason: str, changes: Mapping[str, Any]) -> Operation[dict[str, Any]]:
        return self._once("PATCH", _path(order_id), {"reason": reason, **changes})

    def clone(self, order_id: str, fields: Mapping[str, Any]) -> Operation[Registered]:
        return self._once("POST", _path(order_id, "clone"), dict(fields))

    def _once(self, method: str, place: str, body: Any) -> Operation[Any]:
        # The same key over all repeats: it is done once.
        return self.ask(Request(method, place, body, {"Idempotency-Key": str(uuid.uuid4())}))

    def call(self, order_id: str, name: str, body: Any, key: str | None, timeout: float) -> Operation[Answered]:
        asked = {"name": name, "body": body, "key": key or str(uuid.uuid4())}
        place = _path(order_id, "calls") + f"?timeout={int(timeout * 1000)}ms"
        return self.ask(Request("POST", place, asked, wait=timeout))

    def answer(self, callback: str, body: Any, step_status: str | None) -> Operation[str]:
        is_address = callback.startswith(("http://", "https://"))
        place = callback if is_address else f"/v1/callbacks/{_quoted(callback)}"
        headers = {} if step_status is None else {"step-status": step_status}
        taken = yield from self.ask(Request("POST", place, body, headers))
        return str(taken["status"])


def read(reply: Reply | Unreachable) -> Any:
    """The content of a reply. Raises what stands in place of it."""
    if isinstance(reply, Unreachable):
        raise reply
    try:
        body = json.loads(reply.body)
    except ValueError:
        body = None
    if 200 <= reply.status < 300 and body is not None:
        return body
    retry_after = _seconds(reply.headers.get("retry-after", ""))
    if not isinstance(body, dict) or "type" not in body:
        raise Foreign(reply.status, retry_after)
    raise problem(body, retry_after)


def with_id(order: Order) -> Order:
    """The order, with an id of its own if it has none."""
    return order if "id" in order else {**order, "id": str(uuid.uuid4())}


def _seconds(retry_after: str) -> float | None:
    """The seconds of `Retry-After`, which may be a date."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None


def _path(order_id: str, part: str = "") -> str:
    return f"/v1/orders/{_quoted(order_id)}" + (f"/{part}" if part else "")


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")
