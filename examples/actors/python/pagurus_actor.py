"""A client for actors: takes tasks, runs a function for each, and tells the engine what came of it.

One file to copy; needs Python 3.9 and pika (`pip install pika`). A task may come twice, after a lost
connection or a work time-out: `task["task"]` stays the same, so a handler can drop doubles by it.
"""

import json
import logging
import os
import random
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pika
from pika.exceptions import AMQPError, ChannelClosedByBroker

log = logging.getLogger("pagurus_actor")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0  # seconds between attempts to connect


class Fail(Exception):
    """Raised by a handler to decide `fail` with a class that retry policies know."""

    def __init__(self, error_class, message, result=None):
        super().__init__(message)
        self.error_class, self.result = error_class, result


@dataclass
class Work:
    """A task at work: `tag` acknowledges it, and is None after the connection that brought it was lost."""

    task: dict
    future: Future
    tag: int
    next_heartbeat: float = 0.0


class Actor:
    """`handler(task)` gets the task (`task`, `order`, `body`, …) and returns the result, any JSON value.

    Handlers run in `prefetch` threads. The connection belongs to the thread that called `run`.
    """

    def __init__(self, name, handler, url=None, prefix=None, prefetch=4):
        self.handler = handler
        self.url = url or os.environ.get("AMQP_URL", "amqp://guest:guest@localhost:5672/%2f")
        prefix = prefix or os.environ.get("PAGURUS_PREFIX", "pagurus")
        self.queue, self.callbacks = f"{prefix}.actors.{name}", f"{prefix}.callbacks"
        self.prefetch = prefetch
        self.works = {}  # pass: Work
        self.stopping = threading.Event()
        self.connection = self.channel = None

    def run(self):
        """Serves until SIGTERM or SIGINT; then takes nothing new, finishes what runs, and returns.

        Only the main thread can call it: no other gets signals.
        """
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: self.stopping.set())
        pause = FIRST_PAUSE
        with ThreadPoolExecutor(self.prefetch) as self.pool:
            while not self.stopping.is_set() or self.works:
                try:
                    self._connect()
                    pause = FIRST_PAUSE
                    self._serve()
                except ChannelClosedByBroker as error:
                    # 404 before the first task of this name: the engine makes the queue with it.
                    log.warning("%s; looking again", error)
                except (AMQPError, OSError) as error:
                    log.warning("no connection: %s; trying again", error or type(error).__name__)
                else:
                    break
                finally:
                    self._disconnect()
                # What still runs has to be told before the end; nothing else holds it up.
                (time.sleep if self.works else self.stopping.wait)(pause * random.uniform(0.5, 1))
                pause = min(pause * 2, LONGEST_PAUSE)

    def _connect(self):
        self.connection = pika.BlockingConnection(pika.URLParameters(self.url))
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()
        self.channel.basic_qos(prefetch_count=self.prefetch)
        self.channel.queue_declare(self.queue, passive=True)
        log.info("serving %s", self.queue)

    def _disconnect(self):
        for work in self.works.values():
            work.tag = None
        if self.connection and self.connection.is_open:
            self.connection.close()

    def _serve(self):
        consumer = None if self.stopping.is_set() else self.channel.basic_consume(self.queue, self._begin)
        while self.works or not self.stopping.is_set():
            if self.stopping.is_set() and consumer:
                self.channel.basic_cancel(consumer)
                consumer = None
            elif not self.stopping.is_set() and not self.channel.consumer_tags:
                raise ConnectionError(f"the queue {self.queue} was removed")
            self.connection.process_data_events(time_limit=0.5)
            for passed, work in list(self.works.items()):
                if work.future.done():
                    self._end(passed, work)
                elif time.monotonic() >= work.next_heartbeat:
                    self._heartbeat(passed, work)

    def _begin(self, channel, method, properties, body):
        try:
            task = json.loads(body)
            passed, work_timeout = task["pass"], task["workTimeoutMs"] / 1000
        except (ValueError, TypeError, KeyError) as error:
            log.error("dropped what is no task: %r", error)
            return channel.basic_reject(method.delivery_tag, requeue=False)
        if passed in self.works:  # it runs, and comes again after a lost connection
            self.works[passed].tag = method.delivery_tag
            return
        future = self.pool.submit(self._perform, task)
        self.works[passed] = Work(task, future, method.delivery_tag, time.monotonic() + work_timeout / 3)
        future.add_done_callback(self._wake)

    def _perform(self, task):
        return json.dumps({"decision": "success", "result": self.handler(task)})

    def _wake(self, _):
        try:
            self.connection.add_callback_threadsafe(lambda: None)  # ends the wait of _serve
        except AMQPError:
            pass  # lost: the decision goes out over the next connection

    def _heartbeat(self, passed, work):
        self._publish("actor.heartbeat", "heartbeat", passed, "{}")
        work.next_heartbeat = time.monotonic() + work.task["workTimeoutMs"] / 3000

    def _end(self, passed, work):
        """Returns when the broker has the decision; only then the task is acknowledged."""
        self._publish("actor.decision", "decision", passed, decision_of(work.future))
        if work.tag is not None:
            self.channel.basic_ack(work.tag)
        del self.works[passed]

    def _publish(self, key, kind, passed, body):
        properties = pika.BasicProperties(
            type=kind, correlation_id=passed, content_type="application/json", delivery_mode=2
        )
        self.channel.basic_publish(self.callbacks, key, body, properties, mandatory=True)


def decision_of(future):
    """The decision as the engine reads it, as JSON."""
    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, Fail):
        log.error("the handler failed", exc_info=error)
    told = {"class": getattr(error, "error_class", f"actor.{type(error).__name__}"), "message": str(error)}
    return json.dumps({"decision": "fail", "result": getattr(error, "result", None), "error": told}, default=str)
