"""The package without an engine: types, repeats, webhooks, and the order of things in an actor."""

import asyncio
import inspect
import json
import pathlib
import threading
import typing
import unittest
from typing import Any
from unittest import mock

import pagurus
from pagurus import actor, errors, operations, types

DOCUMENT = pathlib.Path(__file__).parents[3] / "docs/openapi.json"
BUSY = {"type": "urn:pagurus:problem:busy", "title": "t", "status": 429, "detail": "d"}


class Types(unittest.TestCase):
    def test_types_are_those_of_the_document(self) -> None:
        schemas = json.loads(DOCUMENT.read_text())["components"]["schemas"]
        for ours, theirs in {
            types.Order: "OrderBody",
            types.Lifecycle: "LifecycleBody",
            types.After: "AfterBody",
            types.Notify: "NotifyBody",
            types.Group: "GroupBody",
            types.Registered: "RegisteredView",
            types.Status: "StatusView",
            types.Answered: "CallView",
            types.Found: "OrderLine",
            types.Page: "PageOfOrderLine",
        }.items():
            fields, required = schemas[theirs]["properties"], set(schemas[theirs].get("required", ()))
            self.assertEqual(set(typing.get_type_hints(ours)), set(fields), theirs)
            # The client gives an id to an order without one.
            self.assertEqual(set(ours.__required_keys__) | ({"id"} if ours is types.Order else set()), required, theirs)

    def test_problems_are_those_of_the_engine(self) -> None:
        pages = {page.stem for page in (DOCUMENT.parent / "errors").glob("*.md")}
        self.assertLessEqual({one.kind for one in pagurus.Problem.__subclasses__()}, pages)
        self.assertIsInstance(errors.problem(BUSY), pagurus.Busy)
        self.assertIs(type(errors.problem({"type": "urn:pagurus:problem:of-tomorrow"})), pagurus.Problem)

    def test_both_clients_and_both_senders_have_the_same_words(self) -> None:
        def words(one: type) -> dict[str, list[str]]:
            public = {name: what for name, what in inspect.getmembers(one, inspect.isfunction) if name[0] != "_"}
            return {name: list(inspect.signature(what).parameters) for name, what in public.items()}

        self.assertEqual(words(pagurus.Client), words(pagurus.AsyncClient))
        self.assertEqual(words(pagurus.AmqpSender), words(pagurus.AsyncAmqpSender))


class Repeats(unittest.TestCase):
    """Operations are generators: the test answers in place of the engine."""

    def setUp(self) -> None:
        self.now = 1000.0
        self.enterContext(mock.patch.object(operations.time, "monotonic", lambda: self.now))
        self.enterContext(mock.patch.object(operations.random, "uniform", lambda _, most: most))

    def run_through(self, operation: Any, replies: list[Any]) -> tuple[Any, list[operations.Request]]:
        requests = [next(operation)]
        try:
            for reply in replies:
                requests.append(operation.send(reply))
                self.now += requests[-1].pause
        except StopIteration as end:
            return end.value, requests
        raise AssertionError(f"it asks again: {requests}")

    @staticmethod
    def reply(status: int, body: Any, **headers: str) -> operations.Reply:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        return operations.Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, text)

    def test_the_same_order_is_sent_until_the_engine_answers(self) -> None:
        replies = [
            pagurus.Unreachable("refused"),
            self.reply(429, BUSY),
            self.reply(503, b"<html>", retry_after="7"),
            self.reply(502, b""),
            self.reply(201, {"id": "x", "status": "accepted"}),
        ]
        result, requests = self.run_through(operations.Operations(60).register({"scenario": "s"}, False, None), replies)
        self.assertEqual(result["status"], "accepted")
        self.assertEqual([request.pause for request in requests], [0.0, 0.2, 0.4, 7.8, 1.6])
        self.assertEqual(len({request.body["id"] for request in requests}), 1, "one id over all repeats")

    def test_patience_ends(self) -> None:
        operation = operations.Operations(0.5).status("a")
        with self.assertRaises(pagurus.Unreachable):
            self.run_through(operation, [pagurus.Unreachable("refused")] * 9)
        self.assertLessEqual(self.now, 1000.5)
        with self.assertRaises(pagurus.Busy) as busy:
            self.run_through(operations.Operations(10).status("a"), [self.reply(429, BUSY, retry_after="11")])
        self.assertEqual(busy.exception.retry_after, 11.0)

    def test_what_helps_nobody_is_not_repeated(self) -> None:
        for reply, expected in [
            (self.reply(404, b"<html>"), pagurus.Foreign),
            (self.reply(200, b"<html>"), pagurus.Foreign),
            (self.reply(500, {**BUSY, "type": "urn:pagurus:problem:internal"}), pagurus.Internal),
            (self.reply(409, {**BUSY, "type": "urn:pagurus:problem:conflict"}), pagurus.Conflict),
        ]:
            with self.assertRaises(expected):
                self.run_through(operations.Operations(60).status("a"), [reply])

    def test_an_action_has_one_key_over_all_repeats(self) -> None:
        done = self.reply(200, {"id": "a", "status": "canceled", "final": True, "life": 1})
        operation = operations.Operations(60).act("a", "kill", "r", {})
        _, requests = self.run_through(operation, [self.reply(429, BUSY), done])
        self.assertEqual(len({request.headers["Idempotency-Key"] for request in requests}), 1)

    def test_of_many_only_those_are_repeated_whose_outcome_is_not_known(self) -> None:
        def outcomes(*statuses: str) -> operations.Reply:
            return self.reply(200, [{"id": "x", "status": status} for status in statuses])

        orders: list[pagurus.Order] = [{"id": name, "scenario": "s"} for name in "abc"]
        result, requests = self.run_through(
            operations.Operations(60).register_many(orders),
            [outcomes("accepted", "unavailable", "unavailable"), outcomes("unavailable", "duplicate"), outcomes("rejected")],
        )
        self.assertEqual([one["status"] for one in result], ["accepted", "rejected", "duplicate"])
        self.assertEqual([[one["id"] for one in request.body] for request in requests], [["a", "b", "c"], ["b", "c"], ["b"]])

    def test_retry_after_may_be_a_date(self) -> None:
        with mock.patch.object(operations.time, "time", lambda: 784111777.0):
            self.assertEqual(operations._seconds("Sun, 06 Nov 1994 08:49:47 GMT"), 10.0)
        self.assertIsNone(operations._seconds("soon"))


class Webhooks(unittest.TestCase):
    def test_webhooks_are_taken_from_those_who_know_the_secret(self) -> None:
        secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
        headers = {
            "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,other v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        verify = pagurus.verify_webhook
        self.assertEqual(verify(headers, body, secret, now=1614265331), {"test": 2432232314})
        self.assertEqual(verify(headers, body, secret, 1000, now=1614266000), {"test": 2432232314})
        for wrong, at, by in [
            (body + b" ", 1614265331, secret),
            (body, 1614266000, secret),
            (body, 1614265000, secret),
            (body, 1614265331, "another"),
        ]:
            with self.assertRaises(pagurus.NotGenuine):
                verify(headers, wrong, by, now=at)
        for field in headers:
            with self.assertRaises(pagurus.NotGenuine):
                verify({name: value for name, value in headers.items() if name != field}, body, secret, now=1614265331)


class Message:
    """A task as it comes from the queue."""

    def __init__(self, passed: str):
        fields = {"task": "t", "pass": passed, "actor": "a", "order": "o", "handOut": 1, "workTimeoutMs": 60_000, "body": {}}
        self.body = json.dumps(fields).encode()
        self.acknowledged = 0

    async def ack(self) -> None:
        self.acknowledged += 1


class Desks(unittest.IsolatedAsyncioTestCase):
    """Tasks that come again, and that are given up."""

    def desk(self, handler: Any) -> Any:
        desk = actor._Desk("a", handler, "p", 4, asyncio.Event())
        self.addCleanup(desk.pool.shutdown)
        desk.published = []

        async def publish(kind: str, passed: str, body: str, retry_after: int | None = None) -> None:
            desk.published.append((kind, passed, json.loads(body), retry_after))

        desk._publish = publish
        return desk

    async def test_a_task_that_comes_again_is_worked_on_once(self) -> None:
        ended, begun = asyncio.Event(), []

        async def work(task: pagurus.Task) -> str:
            begun.append(task.hand_out)
            await ended.wait()
            return "done"

        desk, first, second = self.desk(work), Message("p"), Message("p")
        await desk._take(first)
        await desk._take(second)
        ended.set()
        await desk.works["p"].job
        await desk._end("p", desk.works["p"])
        self.assertEqual((begun, first.acknowledged, second.acknowledged, desk.works), ([1], 1, 1, {}))
        self.assertEqual(desk.published, [("decision", "p", {"decision": "success", "result": "done"}, None)])

    async def test_a_task_that_was_decided_over_another_connection_is_not_worked_on_again(self) -> None:
        desk, again = self.desk(lambda task: 1), Message("p")
        await desk._take(Message("p"))
        await desk.close()
        await desk.works["p"].job
        await desk._end("p", desk.works["p"])
        await desk._take(again)
        self.assertEqual((again.acknowledged, desk.works), (1, {}))

    async def test_a_coroutine_is_canceled_when_its_task_is_given_up_and_begins_again(self) -> None:
        begun, canceled = [], []

        async def work(task: pagurus.Task) -> str:
            begun.append(task.pass_)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                canceled.append(task.canceled.is_set())
                raise
            return "never"

        desk, first, second = self.desk(work), Message("p"), Message("p")
        await desk._take(first)
        await desk._take(second)
        await asyncio.sleep(0)
        cancel = Message("p")
        await desk._give_up(cancel)
        await asyncio.sleep(0.01)
        self.assertEqual((len(begun), canceled), (2, [True]))
        self.assertEqual((first.acknowledged, second.acknowledged, desk.published), (1, 0, []))
        desk.works["p"].job.cancel()

    async def test_failures_are_decisions(self) -> None:
        def fails(task: pagurus.Task) -> None:
            raise pagurus.Fail("scoring.busy", "later", {"a": 1}, retry_after=30)

        def breaks(task: pagurus.Task) -> None:
            raise KeyError("income")

        decisions = []
        with self.assertLogs("pagurus.actor"):
            for handler in fails, breaks, lambda task: threading.Event():
                desk = self.desk(handler)
                await desk._take(Message("p"))
                await asyncio.wait([desk.works["p"].job])
                await desk._end("p", desk.works["p"])
                decisions.append(desk.published[0])
        self.assertEqual(decisions[0][2]["error"], {"class": "scoring.busy", "message": "later"})
        self.assertEqual((decisions[0][2]["result"], decisions[0][3]), ({"a": 1}, 30))
        self.assertEqual(decisions[1][2]["error"]["class"], "actor.KeyError")
        self.assertEqual(decisions[2][2]["error"]["class"], "actor.TypeError")

    async def test_what_the_library_cancels_or_leaves_open_is_tried_again(self) -> None:
        one, tries = pagurus.Actor(), 0

        async def connected() -> Any:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise asyncio.CancelledError("the connection is closed")
            if tries == 2:
                await asyncio.Event().wait()
            one.stop()
            raise ConnectionError

        one.task("a")(print)
        with (
            mock.patch.object(one, "_connected", connected),
            mock.patch.object(actor, "_PAUSES", (0.0, 0.0)),
            mock.patch.object(actor, "_ANSWER", 0.01),
            self.assertLogs("pagurus.actor", "WARNING") as logs,
        ):
            await one.serve()
        self.assertEqual((tries, len(logs.output)), (3, 3), logs.output)

    async def test_a_connection_that_the_library_cancels_is_a_lost_one_for_a_sender_too(self) -> None:
        sender = pagurus.AsyncAmqpSender(patience=0.0)
        with mock.patch("aio_pika.connect", side_effect=asyncio.CancelledError), self.assertRaises(ConnectionError):
            await sender._connected()

    async def test_one_name_has_one_function(self) -> None:
        one = pagurus.Actor()
        one.task("a")(print)
        with self.assertRaises(ValueError):
            one.task("a")(print)
        with self.assertRaises(ValueError):
            await pagurus.Actor().serve()


if __name__ == "__main__":
    unittest.main()
