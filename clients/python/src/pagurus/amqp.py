"""Orders and actions over AMQP, each with the receipt of the engine. Never returns before the engine has answered: a confirm of
the broker alone says that a message is kept, not that it is an order."""

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange, AbstractIncomingMessage
from aio_pika.exceptions import AMQPError, ChannelInvalidStateError

from .errors import Failure, Unreachable, problem
from .operations import Patience, with_id
from .types import Done, Order, Registered

DEFAULT_URL = "amqp://guest:guest@localhost:5672/%2f"
# Queue to which the broker sends receipts without a queue being there.
_DIRECT_REPLY = "amq.rabbitmq.reply-to"
# Everything by which a connection, or a message on it, is lost.
LOST = (AMQPError, ChannelInvalidStateError, OSError, asyncio.TimeoutError)
T = TypeVar("T")


class _Session:
    """A connection, with the receipts that are waited for by the correlation id of their message."""

    def __init__(self, connection: AbstractConnection, channel: AbstractChannel, exchange: AbstractExchange):
        self.connection, self.channel, self.exchange = connection, channel, exchange
        self.waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        channel.close_callbacks.add(lambda *_: self.lose())

    @classmethod
    async def open(cls, url: str, exchange: str) -> Self:
        connection = await aio_pika.connect(url)
        try:
            channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
            session = cls(connection, channel, await channel.get_exchange(exchange, ensure=False))
            receipts = await channel.get_queue(_DIRECT_REPLY, ensure=False)
            await receipts.consume(session.hand_out, no_ack=True)
        except BaseException:
            await connection.close()
            raise
        return session

    async def hand_out(self, message: AbstractIncomingMessage) -> None:
        waits = self.waiting.pop(message.correlation_id or "", None)
        if waits is not None and not waits.done():
            waits.set_result(json.loads(message.body))

    def lose(self) -> None:
        for waits in self.waiting.values():
            if not waits.done():
                waits.set_exception(ConnectionError("the connection was lost"))
        self.waiting.clear()


class AsyncAmqpSender:
    """A sender of orders, for the event loop in which it is used. It connects when it is first needed, and again after the
    connection was lost."""

    def __init__(self, url: str = DEFAULT_URL, prefix: str = "pagurus", patience: float = 60.0):
        """`prefix` is that of the engine's names at the broker. `patience` are the seconds for which a message is repeated, and its
        receipt awaited."""
        self._url, self._exchange, self.patience = url, f"{prefix}.orders", patience
        self._session: _Session | None = None
        self._turn = asyncio.Lock()

    async def close(self) -> None:
        """Closes the connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def register(self, order: Order, *, traceparent: str | None = None) -> Registered:
        """Registers an order, and returns its receipt. Repeats by itself while broker or engine are away: the id makes that
        harmless."""
        order = with_id(order)
        headers = {} if traceparent is None else {"traceparent": traceparent}
        return cast(Registered, await self._ask("order.create", order["id"], order, headers))

    async def act(self, order_id: str, action: str, reason: str, **more: Any) -> Done:
        """Does something to an order: `cancel`, `interrupt`, `kill` or `restart`. What the status does not allow raises
        `Refused`."""
        # The id of the message is the key under which the action is done once.
        body = {"id": order_id, "reason": reason, **more}
        return cast(Done, await self._ask(f"order.{action}", str(uuid.uuid4()), body, {}))

    async def _ask(self, key: str, message_id: str, body: Any, headers: Mapping[str, str]) -> dict[str, Any]:
        patience, sent = Patience(self.patience), int(time.time())
        while True:
            message = aio_pika.Message(
                json.dumps(body).encode(),
                content_type="application/json",
                delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
                message_id=message_id,
                correlation_id=str(uuid.uuid4()),
                reply_to=_DIRECT_REPLY,
                timestamp=sent,
                headers=dict(headers),
            )
            try:
                async with asyncio.timeout(self.patience):
                    receipt = await self._ask_once(key, message)
            except LOST as lost:
                failure: Failure = Unreachable(f"{key}: {lost or type(lost).__name__}")
            else:
                if receipt["status"] != "unavailable" and not receipt.get("error"):
                    return receipt
                failure = _failure(receipt)
            await asyncio.sleep(patience.pause(failure))

    async def _ask_once(self, key: str, message: aio_pika.Message) -> dict[str, Any]:
        session = await self._connected()
        correlation = message.correlation_id or ""
        receipt: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        session.waiting[correlation] = receipt
        try:
            await publish(session.exchange, message, key)
            return await receipt
        finally:
            session.waiting.pop(correlation, None)
            receipt.cancel()

    async def _connected(self) -> _Session:
        async with self._turn:
            if self._session is None or self._session.channel.is_closed or self._session.connection.is_closed:
                await self.close()
                with or_lost():
                    self._session = await _Session.open(self._url, self._exchange)
            return self._session


class AmqpSender:
    """A sender of orders, which many threads may use. Its connection lives in a thread of its own."""

    def __init__(self, url: str = DEFAULT_URL, prefix: str = "pagurus", patience: float = 60.0):
        """As `AsyncAmqpSender`."""
        self._loop = asyncio.new_event_loop()
        self._sender = AsyncAmqpSender(url, prefix, patience)
        self._thread = threading.Thread(target=self._loop.run_forever, name="pagurus-sender", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Closes the connection."""
        if not self._loop.is_closed():
            self._run(self._sender.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def register(self, order: Order, *, traceparent: str | None = None) -> Registered:
        """As `AsyncAmqpSender.register`."""
        return self._run(self._sender.register(order, traceparent=traceparent))

    def act(self, order_id: str, action: str, reason: str, **more: Any) -> Done:
        """As `AsyncAmqpSender.act`."""
        return self._run(self._sender.act(order_id, action, reason, **more))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def publish(exchange: AbstractExchange, message: aio_pika.Message, key: str) -> None:
    """Returns when the broker has the message in a queue. Raises one of `LOST` otherwise."""
    with or_lost():
        await exchange.publish(message, key, mandatory=True)


@contextmanager
def or_lost() -> Iterator[None]:
    """Raises one of `LOST` for whatever the library raises: where a connection is closed at this moment, that may be none of its
    errors, and it may cancel what waits."""
    try:
        yield
    except LOST:
        raise
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and is_canceled():
            raise
        raise ConnectionError(f"the connection was lost: {error or type(error).__name__}") from error


def is_canceled() -> bool:
    """True if somebody cancels the present task: a `CancelledError` without that is an error of the library."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failure(receipt: Mapping[str, Any]) -> Failure:
    if receipt["status"] == "unavailable":
        return Unreachable("whether it was done is not known")
    return problem(receipt["error"])
