"""Against a running engine: PAGURUS_SERVER, AMQP_URL and PAGURUS_PREFIX say where. PAGURUS_BETWEEN leads to it past something that spoils the
first answer of some registrations. The scenario `greet` answers at once, `ask` asks somebody and waits."""

import asyncio
import os
import pathlib
import re
import unittest

import pagurus

SERVER = os.environ.get("PAGURUS_SERVER", "")
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def greet(order_id: str, name: str = "a") -> pagurus.Order:
    return {"id": order_id, "scenario": "greet", "params": {"name": name}}


@unittest.skipUnless(SERVER, "PAGURUS_SERVER names no engine")
class Orders(unittest.TestCase):
    def setUp(self) -> None:
        self.client = self.enterContext(pagurus.Client(SERVER))

    def test_the_example_of_the_readme(self) -> None:
        readme = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
        example = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0]
        exec(example.replace("http://127.0.0.1:8080", SERVER), {})
        self.assertEqual(self.client.status("shop-000123")["status"], "success")

    def test_an_order_is_registered_once_and_followed_to_its_end(self) -> None:
        order = greet("py/1")
        self.assertEqual(self.client.register(order, dry_run=True)["status"], "would_be_accepted")
        self.assertEqual(self.client.register(order)["status"], "accepted")
        self.assertTrue(self.client.wait("py/1", timeout=30)["final"])
        again = self.client.register(order)
        self.assertEqual((again["status"], again["orderStatus"]), ("duplicate", "success"))
        self.assertEqual(self.client.get("py/1")["result"], "hello a")
        with self.assertRaises(pagurus.Conflict):
            self.client.register(greet("py/1", "b"))
        unnamed = self.client.register({"scenario": "greet", "params": {"name": "c"}})
        self.assertTrue(self.client.wait(unnamed["id"], timeout=30)["final"])

    def test_an_answer_that_was_lost_or_refused_on_its_way_is_asked_for_again(self) -> None:
        with pagurus.Client(os.environ["PAGURUS_BETWEEN"]) as far:
            for order_id, status in {"cut-py": "duplicate", "busy-py": "accepted", "gate-py": "accepted"}.items():
                self.assertEqual(far.register(greet(order_id))["status"], status, order_id)

    def test_many_are_registered_and_found_page_by_page(self) -> None:
        orders = [pagurus.Order(**greet(f"py-many-{number}"), labels={"walk": "py"}) for number in range(250)]
        orders.insert(100, {"id": "py-wrong", "scenario": "nothing"})
        outcomes = self.client.register_many(orders)
        self.assertEqual((outcomes[100]["status"], outcomes[100]["id"]), ("rejected", "py-wrong"))
        self.assertEqual(sum(outcome["status"] == "accepted" for outcome in outcomes), 250)
        found = [order["id"] for order in self.client.find(labels={"walk": "py"}, limit=100)]
        self.assertEqual(sorted(found), sorted(order["id"] for order in orders if order["id"] != "py-wrong"))
        some = self.client.find(ids=["py-many-1", "py-many-2"])
        self.assertEqual({order["id"] for order in some}, {"py-many-1", "py-many-2"})

    def test_what_is_wrong_is_reported_with_its_place(self) -> None:
        with self.assertRaises(pagurus.Invalid) as wrong:
            self.client.register({"id": "py-2", "scenario": "greet", "priority": "urgent"})  # type: ignore[typeddict-item]
        self.assertEqual((wrong.exception.status, wrong.exception.errors[0]["pointer"]), (422, "/priority"))
        with self.assertRaises(pagurus.UnknownScenario):
            self.client.register({"id": "py-2", "scenario": "nothing"})
        with self.assertRaises(pagurus.NotFound):
            self.client.get("py-2")

    def test_a_call_asks_and_actions_act(self) -> None:
        self.client.register({"id": "py-3", "scenario": "ask"}, traceparent=TRACE)
        self.until("py-3", "wait")
        self.assertFalse(self.client.wait("py-3", timeout=0)["final"])
        self.assertEqual(self.client.call("py-3", "where")["answer"], {"place": "here"})
        with self.assertRaises(pagurus.Refused) as refused:
            self.client.restart("py-3", "too early")
        self.assertEqual(refused.exception.order_status, "wait")
        self.assertTrue(self.client.explain("py-3"))
        self.assertEqual(self.client.answer("nobody's", {"yes": True}, step_status="done"), "orphan")
        self.client.repair("py-3", "by hand", state="ask")
        self.until("py-3", "wait")
        self.assertTrue(self.client.kill("py-3", "nobody waits for it")["final"])
        self.assertEqual(self.client.clone("py-3", {"id": "py-4"})["status"], "accepted")
        self.client.register(greet("py-6"))
        self.client.wait("py-6", timeout=30)
        self.assertEqual(self.client.restart("py-6", "once more", "initial")["life"], 2)

    def test_an_order_that_has_not_begun_is_changed(self) -> None:
        self.client.register({**greet("py-5"), "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}})
        self.assertEqual(self.client.update("py-5", "urgent", priority="high")["priority"], "high")
        self.assertEqual(self.client.interrupt("py-5", "not now")["status"], "interrupted")
        self.assertEqual(self.client.cancel("py-5", "never")["status"], "canceled")

    def test_receipts_come_over_amqp(self) -> None:
        url, prefix = os.environ["AMQP_URL"], os.environ["PAGURUS_PREFIX"]
        with pagurus.AmqpSender(url, prefix) as sender:
            self.assertEqual(sender.register(greet("py-amqp"))["status"], "accepted")
            self.assertTrue(self.client.wait("py-amqp", timeout=30)["final"])
            again = sender.register(greet("py-amqp"))
            self.assertEqual((again["status"], again["orderStatus"]), ("duplicate", "success"))
            with self.assertRaises(pagurus.Conflict):
                sender.register(greet("py-amqp", "b"))
            with self.assertRaises(pagurus.UnknownScenario):
                sender.register({"id": "py-wrong", "scenario": "nothing"})
            with self.assertRaises(pagurus.Refused):
                sender.act("py-amqp", "kill", "too late")
            sender.register({"id": "py-amqp-3", "scenario": "ask"}, traceparent=TRACE)
            self.until("py-amqp-3", "wait")
            self.assertEqual(sender.act("py-amqp-3", "kill", "nobody waits for it")["orderStatus"], "canceled")
        with pagurus.AmqpSender(url, f"{prefix}.nobody", patience=1) as nobody, self.assertRaises(pagurus.Unreachable):
            nobody.register(greet("py-amqp-2"))

    def until(self, order_id: str, status: str) -> None:
        while self.client.status(order_id)["status"] != status:
            pass


@unittest.skipUnless(SERVER, "PAGURUS_SERVER names no engine")
class AtOnce(unittest.IsolatedAsyncioTestCase):
    async def test_the_asynchronous_client_does_the_same(self) -> None:
        async with pagurus.AsyncClient(SERVER) as client:
            orders = [pagurus.Order(**greet(f"py-async-{number}"), labels={"walk": "py-async"}) for number in range(20)]
            for registered in await asyncio.gather(*map(client.register, orders)):
                self.assertEqual(registered["status"], "accepted")
            for status in await asyncio.gather(*(client.wait(order["id"], timeout=30) for order in orders)):
                self.assertEqual(status["status"], "success")
            found = {order["id"] async for order in client.find(labels={"walk": "py-async"}, limit=7)}
            self.assertEqual(found, {order["id"] for order in orders})
            with self.assertRaises(pagurus.Refused):
                await client.cancel("py-async-1", "too late")

    async def test_a_sender_that_lost_its_connection_sends_again(self) -> None:
        async with pagurus.AsyncAmqpSender(os.environ["AMQP_URL"], os.environ["PAGURUS_PREFIX"]) as sender:
            self.assertEqual((await sender.register(greet("py-lost-0")))["status"], "accepted")
            sending = [asyncio.create_task(sender.register(greet(f"py-lost-{number}"))) for number in range(1, 50)]
            await asyncio.sleep(0)
            assert sender._session is not None
            await sender._session.connection.close()
            for receipt in await asyncio.gather(*sending):
                self.assertIn(receipt["status"], ("accepted", "duplicate"))


if __name__ == "__main__":
    unittest.main()
