"""Actors: programs that work for orders. An actor takes tasks, runs a function for each, and sends the result to the engine.

    actor = Actor()

    @actor.task("scoring")
    def score(task: Task) -> object:
        return {"score": task.body["income"] / 100_000}

    actor.run()

A function may be a coroutine, too. A task may come twice, after a lost connection or a work time-out: `task.task` stays the same,
so that a function can drop doubles by it. Never acknowledges a task before the broker has its decision, unless the engine gave it up.
"""

import asyncio
import inspect
import json
import logging
import os
import random
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from aio_pika.exceptions import AMQPError

from .amqp import DEFAULT_URL, LOST, is_canceled, publish

log = logging.getLogger("pagurus.actor")

# Seconds between attempts to connect: the first pause, and the longest after doubling.
_PAUSES = (0.5, 15.0)
# Most seconds for a connection, and for the questions before tasks come: a broker that does not answer is tried again.
_ANSWER = 30.0
# Seconds without news after which the tasks at work are looked through.
_LOOK = 5.0
# Most decided tasks that are remembered because their message will come again.
_DECIDED = 1000

Handler = Callable[["Task"], Any]
H = TypeVar("H", bound=Handler)


class Fail(Exception):
    """Raised by a function to decide `fail` with a class that retry policies know. After `retry_after` seconds the actor may be
    given tasks again."""

    def __init__(self, error_class: str, message: str, result: Any = None, retry_after: int | None = None):
        super().__init__(message)
        self.error_class, self.result, self.retry_after = error_class, result, retry_after


@dataclass(frozen=True)
class Task:
    """A task as the engine hands it out."""

    # The same over all hand-outs.
    task: str
    # The token of this hand-out.
    pass_: str
    actor: str
    order: str
    transaction_id: str | None
    # Number of the hand-out, from 1.
    hand_out: int
    # Seconds that a hand-out lasts without a decision or a heartbeat.
    work_timeout: float
    body: Any
    # Set once the engine has given the task up: nothing that the function returns is sent, and one that takes long looks at it,
    # or waits for it, and returns. A coroutine is canceled.
    canceled: threading.Event = field(default_factory=threading.Event, compare=False)

    @classmethod
    def read(cls, body: bytes) -> "Task":
        """The task of a message. Raises `ValueError` or one of its kind if it is none."""
        fields: Mapping[str, Any] = json.loads(body)
        return cls(
            task=fields["task"],
            pass_=fields["pass"],
            actor=fields["actor"],
            order=fields["order"],
            transaction_id=fields.get("transactionId"),
            hand_out=fields["handOut"],
            work_timeout=fields["workTimeoutMs"] / 1000,
            body=fields["body"],
        )


class Actor:
    """A program that takes the tasks of one name or several. `prefetch` of each name are at work at once."""

    def __init__(self, url: str | None = None, prefix: str | None = None, prefetch: int = 4):
        """`AMQP_URL` and `PAGURUS_PREFIX` stand for what is left out."""
        self._url = url or os.environ.get("AMQP_URL", DEFAULT_URL)
        self._prefix = prefix or os.environ.get("PAGURUS_PREFIX", "pagurus")
        self._prefetch = prefetch
        self._handlers: dict[str, Handler] = {}
        self._stopping = asyncio.Event()
        self._desks: list[_Desk] = []
        self._connection: AbstractConnection | None = None
        self._turn = asyncio.Lock()

    def task(self, name: str) -> Callable[[H], H]:
        """Names the function that works on the tasks of this name. It returns the result, any JSON value, or raises `Fail`."""

        def named(handler: H) -> H:
            if name in self._handlers:
                raise ValueError(f"the tasks `{name}` have a function already")
            self._handlers[name] = handler
            return handler

        return named

    def run(self) -> None:
        """Serves until SIGTERM or SIGINT; then takes nothing new, finishes what runs, and returns. For the main thread: no other
        gets signals."""

        async def served() -> None:
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, self.stop)
            await self.serve()

        asyncio.run(served())

    async def serve(self) -> None:
        """Serves until `stop` is called in this event loop; then takes nothing new, finishes what runs, and returns."""
        if not self._handlers:
            raise ValueError("no function is named for any tasks")
        self._desks = [
            _Desk(name, handler, self._prefix, self._prefetch, self._stopping) for name, handler in self._handlers.items()
        ]
        try:
            async with asyncio.TaskGroup() as group:
                for desk in self._desks:
                    group.create_task(self._serve(desk))
        finally:
            if self._connection is not None:
                await _closed(self._connection)
            for desk in self._desks:
                desk.pool.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """Lets `serve` return when what runs has ended."""
        self._stopping.set()
        for desk in self._desks:
            desk.news.set()

    async def _serve(self, desk: "_Desk") -> None:
        pause = _PAUSES[0]
        while desk.works or not self._stopping.is_set():
            try:
                async with asyncio.timeout(_ANSWER):
                    await desk.open(await self._connected())
                pause = _PAUSES[0]
                await desk.serve()
                return
            except asyncio.CancelledError:
                # The library ends its calls like this, too, where a connection is lost at that moment.
                if is_canceled():
                    raise
                log.warning("%s: no connection: the call was canceled; trying again", desk.queue)
            except AMQPError as error:
                # NOT_FOUND before the first task of this name: the engine makes the queue with it.
                log.warning("%s: %s; looking again", desk.queue, error)
            except LOST as error:
                log.warning("%s: no connection: %s; trying again", desk.queue, error or type(error).__name__)
            except Exception:
                # The library raises what is none of its errors where the connection is closed at that moment.
                log.exception("%s: trying again", desk.queue)
            finally:
                await desk.close()
            # The results of what still runs must be sent before the end; nothing else holds it up.
            rest = pause * random.uniform(0.5, 1.0)
            if desk.works:
                await asyncio.sleep(rest)
            else:
                await _within(self._stopping, rest)
            pause = min(pause * 2, _PAUSES[1])

    async def _connected(self) -> AbstractConnection:
        async with self._turn:
            if self._connection is None or self._connection.is_closed:
                self._connection = await aio_pika.connect(self._url)
            return self._connection


@dataclass
class _Work:
    """A task at work, with its messages: none after the connection that brought them was lost."""

    task: Task
    job: "asyncio.Future[str]"
    next_heartbeat: float
    messages: list[AbstractIncomingMessage]


class _Desk:
    """The tasks of one name. Each is at work once, however often it comes meanwhile."""

    def __init__(self, name: str, handler: Handler, prefix: str, prefetch: int, stopping: asyncio.Event):
        self.name, self.handler, self.prefix, self.prefetch = name, handler, prefix, prefetch
        self.queue = f"{prefix}.actors.{name}"
        self.stopping = stopping
        self.works: dict[str, _Work] = {}
        self.pool = ThreadPoolExecutor(prefetch, thread_name_prefix=f"actor-{name}")
        # Decided after their message had gone back to the queue with a lost connection: the next that comes is a double.
        self.decided: dict[str, None] = {}
        # Set by whatever the loop of `serve` has to look at.
        self.news = asyncio.Event()
        self.is_removed = False
        self.channels: list[AbstractChannel] = []

    async def open(self, connection: AbstractConnection) -> None:
        """Opens the channel of tasks, decisions and heartbeats, and that of tasks that are given up."""
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        self.channels = [channel]
        await channel.set_qos(prefetch_count=self.prefetch)
        self.is_removed = False
        underlay = await channel.get_underlay_channel()
        underlay.on_consumer_cancel_callbacks.add(self._removed)
        channel.close_callbacks.add(lambda *_: self.news.set())
        self.tasks = await channel.declare_queue(self.queue, passive=True)
        self.callbacks = await channel.get_exchange(f"{self.prefix}.callbacks", ensure=False)
        await self._listen(connection)

    async def _listen(self, connection: AbstractConnection) -> None:
        channel = await connection.channel()
        try:
            queue = await channel.declare_queue(exclusive=True, auto_delete=True)
            await queue.bind(f"{self.prefix}.actors", f"cancel:{self.name}")
            await queue.consume(self._give_up, no_ack=True)
            self.channels.append(channel)
        except aio_pika.exceptions.ChannelClosed as error:
            # A user of the broker who may not do that works as before: what is given up comes as a double.
            log.warning("hears of no task that is given up: %s", error)

    async def close(self) -> None:
        for work in self.works.values():
            work.messages.clear()
        channels, self.channels = self.channels, []
        for channel in channels:
            await _closed(channel)

    async def serve(self) -> None:
        """Takes tasks until `stopping`, and returns when all that were taken are decided."""
        consumer = None if self.stopping.is_set() else await self.tasks.consume(self._take)
        log.info("serving %s", self.queue)
        while self.works or not self.stopping.is_set():
            self.news.clear()
            if self.stopping.is_set() and consumer is not None:
                await self.tasks.cancel(consumer)
                consumer = None
            elif self.channels[0].is_closed:
                raise ConnectionError("the channel was closed")
            elif self.is_removed and consumer is not None:
                raise ConnectionError(f"the queue {self.queue} was removed")
            for passed, work in list(self.works.items()):
                if work.job.done():
                    await self._end(passed, work)
                elif _now() >= work.next_heartbeat:
                    await self._publish("heartbeat", passed, "{}")
                    work.next_heartbeat = _now() + work.task.work_timeout / 3
            next_look = min((work.next_heartbeat for work in self.works.values()), default=_now() + _LOOK)
            if self.works or not self.stopping.is_set():
                await _within(self.news, max(0.0, next_look - _now()))

    async def _removed(self, *_: Any) -> None:
        self.is_removed = True
        self.news.set()

    async def _take(self, message: AbstractIncomingMessage) -> None:
        try:
            task = Task.read(message.body)
        except (ValueError, TypeError, KeyError) as error:
            log.error("dropped what is no task: %r", error)
            await message.reject(requeue=False)
            return
        if task.pass_ in self.decided:
            del self.decided[task.pass_]
            await message.ack()
        elif task.pass_ in self.works:  # It runs, and comes again: after a lost connection, or handed out again.
            self.works[task.pass_].messages.append(message)
        else:
            self._start(task, message)

    def _start(self, task: Task, message: AbstractIncomingMessage) -> None:
        job = asyncio.ensure_future(self._perform(task))
        job.add_done_callback(lambda _: self.news.set())
        self.works[task.pass_] = _Work(task, job, _now() + task.work_timeout / 3, [message])
        self.news.set()

    async def _perform(self, task: Task) -> str:
        if inspect.iscoroutinefunction(self.handler):
            result = await self.handler(task)
        else:
            result = await asyncio.get_running_loop().run_in_executor(self.pool, self.handler, task)
        return json.dumps({"decision": "success", "result": result})

    async def _give_up(self, message: AbstractIncomingMessage) -> None:
        """The engine gives a task up: its function is notified, and its result is not sent. If the task has come again already,
        its function starts again."""
        try:
            passed = json.loads(message.body)["pass"]
        except (ValueError, TypeError, KeyError) as error:
            log.error("dropped what gives no task up: %r", error)
            return
        work = self.works.pop(passed, None)
        if work is None:
            return
        work.task.canceled.set()
        work.job.cancel()
        again = work.messages.pop() if len(work.messages) > 1 else None
        for copy in work.messages:
            await copy.ack()
        if again is not None:
            self._start(Task.read(again.body), again)
        log.info("task %s of order %s is given up", work.task.task, work.task.order)

    async def _end(self, passed: str, work: _Work) -> None:
        """Returns when the broker has the decision; only then the task is acknowledged."""
        decision, retry_after = _decision(work.job)
        await self._publish("decision", passed, decision, retry_after)
        # It may have been given up meanwhile.
        if self.works.get(passed) is work:
            for message in work.messages:
                await message.ack()
            if not work.messages:
                self.decided[passed] = None
                if len(self.decided) > _DECIDED:
                    del self.decided[next(iter(self.decided))]
            del self.works[passed]

    async def _publish(self, kind: str, passed: str, body: str, retry_after: int | None = None) -> None:
        message = aio_pika.Message(
            body.encode(),
            type=kind,
            correlation_id=passed,
            content_type="application/json",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            headers={} if retry_after is None else {"retry-after": retry_after},
        )
        await publish(self.callbacks, message, f"actor.{kind}")


def _decision(job: "asyncio.Future[str]") -> tuple[str, int | None]:
    """The decision as the engine reads it, as JSON, and the seconds for which the actor is to be left alone."""
    error = asyncio.CancelledError() if job.cancelled() else job.exception()
    if error is None:
        return job.result(), None
    is_foreseen = isinstance(error, Fail)
    if not is_foreseen:
        log.error("the function failed", exc_info=error)
    named = error.error_class if isinstance(error, Fail) else f"actor.{type(error).__name__}"
    result, retry_after = (error.result, error.retry_after) if isinstance(error, Fail) else (None, None)
    decision = {"decision": "fail", "result": result, "error": {"class": named, "message": str(error)}}
    return json.dumps(decision, default=str), retry_after


async def _closed(link: AbstractChannel | AbstractConnection) -> None:
    """Closes a channel or a connection, which may be closed already, or whose broker may not answer."""
    try:
        async with asyncio.timeout(_ANSWER):
            await link.close()
    except asyncio.CancelledError:
        if is_canceled():
            raise
    except Exception as error:
        log.debug("not closed: %r", error)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Waits for the event for so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
