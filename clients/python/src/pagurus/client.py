"""Clients over HTTP: `Client` waits in its thread, `AsyncClient` in its task. Both have the same methods."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx

from .errors import Unreachable
from .operations import ANSWER_TIMEOUT, Operation, Operations, Reply, Request
from .types import Answered, Found, Order, Registered, Status

T = TypeVar("T")


class _Base:
    """Where an installation is, and who asks it."""

    def __init__(self, server: str, patience: float = 60.0, token: str | None = None):
        """`patience` are the seconds for which a request is repeated while the engine is away or busy. `token` is that of this
        program, where the API asks for one; it goes to this server alone."""
        self.server = server.rstrip("/")
        self.patience = patience
        self._token = token
        self._operations = Operations(patience)

    def _arguments(self, request: Request) -> dict[str, Any]:
        is_path = request.place.startswith("/")
        url = self.server + request.place if is_path else request.place
        headers = dict(request.headers)
        if self._token is not None and url.startswith(self.server + "/"):
            headers["Authorization"] = f"Bearer {self._token}"
        content = None
        if request.method != "GET":
            headers["Content-Type"] = "application/json"
            content = json.dumps(request.body).encode()
        timeout = httpx.Timeout(ANSWER_TIMEOUT + request.wait)
        return {"method": request.method, "url": url, "headers": headers, "content": content, "timeout": timeout}


class Client(_Base):
    """A client of one installation, which many threads may use.

        with Client("http://127.0.0.1:8080") as client:
            client.register({"id": "shop-000123", "scenario": "change-tariff"})
            status = client.wait("shop-000123", timeout=600)
    """

    def __init__(self, server: str, patience: float = 60.0, token: str | None = None):
        super().__init__(server, patience, token)
        self._http = httpx.Client()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def register(self, order: Order, *, dry_run: bool = False, traceparent: str | None = None) -> Registered:
        """Registers an order, or only checks it. Repeats by itself while the engine is away or busy: the id makes that harmless."""
        return self._run(self._operations.register(order, dry_run, traceparent))

    def register_many(self, orders: Sequence[Order]) -> list[Registered]:
        """Registers many orders, and returns the outcome of each in their order. What is wrong with one of them is the `error` of
        its outcome. Repeats those of which the engine does not know whether they were registered."""
        return self._run(self._operations.register_many(orders))

    def get(self, order_id: str) -> dict[str, Any]:
        """Returns the order with everything that is known about it."""
        return cast(dict[str, Any], self._run(self._operations.part(order_id)))

    def status(self, order_id: str) -> Status:
        """Returns the status of the order."""
        return self._run(self._operations.status(order_id))

    def explain(self, order_id: str) -> str:
        """Explains why the order does not run."""
        return self._run(self._operations.explain(order_id))

    def wait(self, order_id: str, timeout: float | None = None) -> Status:
        """Follows the order until it has ended, or the time, in seconds, is over; `final` says which."""
        return self._run(self._operations.wait(order_id, timeout))

    def find(self, **conditions: Any) -> Iterator[Found]:
        """Finds the orders that fulfil all conditions, such as `scenario="change-tariff", status=["fail", "retry"],
        labels={"region": "north"}`. Fetches each page when it is needed; `limit` is its length."""
        cursor: str | None = None
        while True:
            page = self._run(self._operations.page(conditions, cursor))
            yield from page["items"]
            cursor = page.get("next")
            if cursor is None:
                return

    def cancel(self, order_id: str, reason: str, **more: Any) -> Status:
        """Ends an order that has not begun, rests, or failed. What the status does not allow raises `Refused`."""
        return self.act(order_id, "cancel", reason, **more)

    def interrupt(self, order_id: str, reason: str, **more: Any) -> Status:
        """Ends an order that has not begun, for somebody to decide later."""
        return self.act(order_id, "interrupt", reason, **more)

    def kill(self, order_id: str, reason: str, **more: Any) -> Status:
        """Ends an order where it stands."""
        return self.act(order_id, "kill", reason, **more)

    def restart(self, order_id: str, reason: str, state: str | None = None, **more: Any) -> Status:
        """Runs an order again, from its last entry point, from `initial`, or from a state."""
        return self.act(order_id, "restart", reason, **({} if state is None else {"from": state}), **more)

    def repair(self, order_id: str, reason: str, **more: Any) -> Status:
        """Lets an order that is stuck go on: `failedAction=True`, or `state=…` with perhaps `action` and `vars`."""
        return self.act(order_id, "repair", reason, **more)

    def act(self, order_id: str, action: str, reason: str, **more: Any) -> Status:
        """Does something to an order, with a reason for its history, and further fields of the action."""
        return self._run(self._operations.act(order_id, action, reason, more))

    def update(self, order_id: str, reason: str, **changes: Any) -> dict[str, Any]:
        """Changes an order that has not gone on yet: `params`, `priority`, `notify`, or `lifecycle`. Returns the order."""
        return self._run(self._operations.update(order_id, reason, changes))

    def clone(self, order_id: str, fields: Mapping[str, Any]) -> Registered:
        """Registers a new order like this one, with the given fields laid over it."""
        return self._run(self._operations.clone(order_id, fields))

    def call(self, order_id: str, name: str, body: Any = None, key: str | None = None, timeout: float = 30) -> Answered:
        """Calls a live order, and waits for its answer; without `answeredAt` it has not answered yet."""
        return self._run(self._operations.call(order_id, name, body, key, timeout))

    def answer(self, callback: str, body: Any, step_status: str | None = None) -> str:
        """Answers a request of an order, by its `${request.url}` or `${request.id}`; the verdict is `accepted`, `duplicate`,
        `late` or `orphan`."""
        return self._run(self._operations.answer(callback, body, step_status))

    def _run(self, operation: Operation[T]) -> T:
        try:
            request = next(operation)
            while True:
                time.sleep(request.pause)
                request = operation.send(self._send(request))
        except StopIteration as end:
            return cast(T, end.value)

    def _send(self, request: Request) -> Reply | Unreachable:
        try:
            return _reply(self._http.request(**self._arguments(request)))
        except httpx.TransportError as failure:
            return _unreachable(request, failure)


class AsyncClient(_Base):
    """A client of one installation, for the event loop in which it is used.

        async with AsyncClient("http://127.0.0.1:8080") as client:
            await client.register({"id": "shop-000123", "scenario": "change-tariff"})
            status = await client.wait("shop-000123", timeout=600)
    """

    def __init__(self, server: str, patience: float = 60.0, token: str | None = None):
        super().__init__(server, patience, token)
        self._http = httpx.AsyncClient()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def register(self, order: Order, *, dry_run: bool = False, traceparent: str | None = None) -> Registered:
        """As `Client.register`."""
        return await self._run(self._operations.register(order, dry_run, traceparent))

    async def register_many(self, orders: Sequence[Order]) -> list[Registered]:
        """As `Client.register_many`."""
        return await self._run(self._operations.register_many(orders))

    async def get(self, order_id: str) -> dict[str, Any]:
        """As `Client.get`."""
        return cast(dict[str, Any], await self._run(self._operations.part(order_id)))

    async def status(self, order_id: str) -> Status:
        """As `Client.status`."""
        return await self._run(self._operations.status(order_id))

    async def explain(self, order_id: str) -> str:
        """As `Client.explain`."""
        return await self._run(self._operations.explain(order_id))

    async def wait(self, order_id: str, timeout: float | None = None) -> Status:
        """As `Client.wait`."""
        return await self._run(self._operations.wait(order_id, timeout))

    async def find(self, **conditions: Any) -> AsyncIterator[Found]:
        """As `Client.find`, for `async for`."""
        cursor: str | None = None
        while True:
            page = await self._run(self._operations.page(conditions, cursor))
            for found in page["items"]:
                yield found
            cursor = page.get("next")
            if cursor is None:
                return

    async def cancel(self, order_id: str, reason: str, **more: Any) -> Status:
        """As `Client.cancel`."""
        return await self.act(order_id, "cancel", reason, **more)

    async def interrupt(self, order_id: str, reason: str, **more: Any) -> Status:
        """As `Client.interrupt`."""
        return await self.act(order_id, "interrupt", reason, **more)

    async def kill(self, order_id: str, reason: str, **more: Any) -> Status:
        """As `Client.kill`."""
        return await self.act(order_id, "kill", reason, **more)

    async def restart(self, order_id: str, reason: str, state: str | None = None, **more: Any) -> Status:
        """As `Client.restart`."""
        return await self.act(order_id, "restart", reason, **({} if state is None else {"from": state}), **more)

    async def repair(self, order_id: str, reason: str, **more: Any) -> Status:
        """As `Client.repair`."""
        return await self.act(order_id, "repair", reason, **more)

    async def act(self, order_id: str, action: str, reason: str, **more: Any) -> Status:
        """As `Client.act`."""
        return await self._run(self._operations.act(order_id, action, reason, more))

    async def update(self, order_id: str, reason: str, **changes: Any) -> dict[str, Any]:
        """As `Client.update`."""
        return await self._run(self._operations.update(order_id, reason, changes))

    async def clone(self, order_id: str, fields: Mapping[str, Any]) -> Registered:
        """As `Client.clone`."""
        return await self._run(self._operations.clone(order_id, fields))

    async def call(
        self, order_id: str, name: str, body: Any = None, key: str | None = None, timeout: float = 30
    ) -> Answered:
        """As `Client.call`."""
        return await self._run(self._operations.call(order_id, name, body, key, timeout))

    async def answer(self, callback: str, body: Any, step_status: str | None = None) -> str:
        """As `Client.answer`."""
        return await self._run(self._operations.answer(callback, body, step_status))

    async def _run(self, operation: Operation[T]) -> T:
        try:
            request = next(operation)
            while True:
                await asyncio.sleep(request.pause)
                request = operation.send(await self._send(request))
        except StopIteration as end:
            return cast(T, end.value)

    async def _send(self, request: Request) -> Reply | Unreachable:
        try:
            return _reply(await self._http.request(**self._arguments(request)))
        except httpx.TransportError as failure:
            return _unreachable(request, failure)


def _reply(response: httpx.Response) -> Reply:
    return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.content)


def _unreachable(request: Request, failure: Exception) -> Unreachable:
    unreachable = Unreachable(f"{request.method} {request.place}: {failure or type(failure).__name__}")
    unreachable.__cause__ = failure
    return unreachable
