"""A client for actors: takes tasks, runs a function for each, and sends the result to the engine.

One file to copy; needs Python 3.9 and pika (`pip install pika`). A task may come twice, after a lost
connection or a work time-out: `task["task"]` stays the same, so a handler can drop doubles by it. The
engine may give a task up, because it is handed out again: `task.canceled` is set then.
"""

import json
import logging
import os
import random
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pika
from pika.exceptions import AMQPError, ChannelClosedByBroker

log = logging.getLogger("pagurus_actor")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0  # seconds between attempts to connect


class Fail(Exception):
    """Raised by a handler to decide `fail` with a class that retry policies know."""

    def __init__(self, error_class, message, result=None):
        super().__init__(message)
        self.error_class, self.result = error_class, result


class Task(dict):
    """A task as the engine hands it out. `canceled` is a `threading.Event`: once it is set, nothing that the
    handler returns is sent, and a handler that takes long looks at it, or waits for it, and returns."""

    def __init__(self, fields):
        super().__init__(fields)
        self.canceled = threading.Event()


@dataclass
class Work:
    """A task at work: `tags` acknowledge its copies; there are none after the connection that brought them was lost."""

    task: Task
    future: Future
    next_heartbeat: float
    tags: list = field(default_factory=list)


class Actor:
    """`handler(task)` gets a `Task` (`task`, `order`, `body`, …) and returns the result, any JSON value.

    Handlers run in `prefetch` threads. The connection belongs to the thread that called `run`.
    """

    def __init__(self, name, handler, url=None, prefix=None, prefetch=4):
        self.handler = handler
        self.url = url or os.environ.get("AMQP_URL", "amqp://guest:guest@localhost:5672/%2f")
        prefix = prefix or os.environ.get("PAGURUS_PREFIX", "pagurus")
        self.queue, self.callbacks = f"{prefix}.actors.{name}", f"{prefix}.callbacks"
        self.tasks, self.cancel_key = f"{prefix}.actors", f"cancel:{name}"
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
                # The results of what still runs must be sent before the end; nothing else holds it up.
                (time.sleep if self.works else self.stopping.wait)(pause * random.uniform(0.5, 1))
                pause = min(pause * 2, LONGEST_PAUSE)

    def _connect(self):
        self.connection = pika.BlockingConnection(pika.URLParameters(self.url))
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()
        self.channel.basic_qos(prefetch_count=self.prefetch)
        self.channel.queue_declare(self.queue, passive=True)
        self._listen()
        log.info("serving %s", self.queue)

    def _listen(self):
        """Listens for tasks that the engine gives up, on a channel and a queue of its own."""
        channel = self.connection.channel()
        try:
            queue = channel.queue_declare("", exclusive=True, auto_delete=True).method.queue
            channel.queue_bind(queue, self.tasks, self.cancel_key)
            channel.basic_consume(queue, self._give_up, auto_ack=True)
        except ChannelClosedByBroker as error:
            # A user of the broker who may not do that works as before: what is given up comes as a double.
            log.warning("hears of no task that is given up: %s", error)

    def _disconnect(self):
        for work in self.works.values():
            work.tags.clear()
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
            task = Task(json.loads(body))
            passed, work_timeout = task["pass"], task["workTimeoutMs"] / 1000
        except (ValueError, TypeError, KeyError) as error:
            log.error("dropped what is no task: %r", error)
            return channel.basic_reject(method.delivery_tag, requeue=False)
        if passed in self.works:  # it runs, and comes again: after a lost connection, or handed out again
            self.works[passed].tags.append(method.delivery_tag)
            return
        self._start(passed, task, work_timeout, method.delivery_tag)

    def _start(self, passed, task, work_timeout, tag):
        future = self.pool.submit(self._perform, task)
        self.works[passed] = Work(task, future, time.monotonic() + work_timeout / 3, [tag])
        future.add_done_callback(self._wake)

    def _give_up(self, channel, method, properties, body):
        """The engine gives a task up: its handler is notified, and its result is not sent. If the task has come again
        already, a handler starts again."""
        try:
            passed = json.loads(body)["pass"]
        except (ValueError, TypeError, KeyError) as error:
            return log.error("dropped what gives no task up: %r", error)
        work = self.works.pop(passed, None)
        if work is None:
            return
        work.task.canceled.set()
        work.future.cancel()  # if no thread has it yet
        *old, last = work.tags or [None]
        for tag in old or work.tags:
            self.channel.basic_ack(tag)
        if old:
            self._start(passed, Task(work.task), work.task["workTimeoutMs"] / 1000, last)
        log.info("task %s of order %s is given up", work.task["task"], work.task["order"])

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
        for tag in work.tags:
            self.channel.basic_ack(tag)
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
    problem = {"class": getattr(error, "error_class", f"actor.{type(error).__name__}"), "message": str(error)}
    return json.dumps({"decision": "fail", "result": getattr(error, "result", None), "error": problem}, default=str)
