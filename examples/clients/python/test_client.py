"""Against a running engine: PAGURUS_SERVER says where. The scenario `greet` answers at once, `ask` asks somebody and waits."""

import json
import os
import pathlib
import threading
import typing
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

import pagurus_client as pagurus

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
DOCUMENT = pathlib.Path(__file__).parents[3] / "docs/openapi.json"


class Types(unittest.TestCase):
    def test_types_are_those_of_the_document(self):
        schemas = json.loads(DOCUMENT.read_text())["components"]["schemas"]
        for ours, theirs in {
            pagurus.Order: "OrderBody",
            pagurus.Lifecycle: "LifecycleBody",
            pagurus.After: "AfterBody",
            pagurus.Notify: "NotifyBody",
            pagurus.Registered: "RegisteredView",
            pagurus.Status: "StatusView",
        }.items():
            fields, required = schemas[theirs]["properties"], set(schemas[theirs].get("required", ()))
            self.assertLessEqual(set(typing.get_type_hints(ours)), set(fields), theirs)
            self.assertEqual(set(ours.__required_keys__), required, theirs)

    def test_problems_are_those_of_the_engine(self):
        pages = {page.stem for page in (DOCUMENT.parent / "errors").glob("*.md")}
        self.assertLessEqual({one.rpartition(":")[2] for one in pagurus.TYPES}, pages)

    def test_webhooks_are_taken_from_those_who_know_the_secret(self):
        body = b'{"test": 2432232314}'
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,other v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        self.assertEqual(pagurus.notification(SECRET, headers, body, now=1614265331), {"test": 2432232314})
        for wrong, at, by in [(body + b" ", 1614265331, SECRET), (body, 1614266000, SECRET), (body, 1614265331, "another")]:
            with self.assertRaises(pagurus.NotGenuine):
                pagurus.notification(by, headers, wrong, now=at)

    def test_who_is_away_is_called_again_and_then_reported(self):
        class Turns(BaseHTTPRequestHandler):
            asked = []

            def do_POST(self):
                length = int(self.headers["content-length"])
                self.asked.append(json.loads(self.rfile.read(length))["id"])
                busy = {"type": "urn:pagurus:problem:busy", "title": "t", "status": 429, "detail": "d"}
                reply = busy if len(self.asked) < 3 else {"id": "a", "status": "accepted"}
                self.send_response(429 if reply is busy else 201)
                self.end_headers()
                self.wfile.write(json.dumps(reply).encode())

            def log_message(self, *words):
                """Says nothing of each request."""

        server = HTTPServer(("127.0.0.1", 0), Turns)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = pagurus.Client(f"http://127.0.0.1:{server.server_port}")
        self.assertEqual(client.register({"id": "a", "scenario": "s"})["status"], "accepted")
        self.assertEqual(Turns.asked, ["a", "a", "a"])
        server.shutdown()
        server.server_close()
        with self.assertRaises(pagurus.Unreachable):
            pagurus.Client(client.server, patience=0.5).register({"id": "a", "scenario": "s"})


@unittest.skipUnless("PAGURUS_SERVER" in os.environ, "PAGURUS_SERVER names no engine")
class Orders(unittest.TestCase):
    def setUp(self):
        self.client = pagurus.Client(os.environ["PAGURUS_SERVER"])

    def test_an_order_is_registered_once_and_followed_to_its_end(self):
        order: pagurus.Order = {"id": "py/1", "scenario": "greet", "params": {"name": "a"}}
        self.assertEqual(self.client.register(order)["status"], "accepted")
        self.assertTrue(self.client.wait("py/1", timeout=30)["final"])
        again = self.client.register(order)
        self.assertEqual((again["status"], again["orderStatus"]), ("duplicate", "success"))
        self.assertEqual(self.client.get("py/1")["result"], "hello a")
        self.assertEqual([one["id"] for one in self.client.find(ids="py/1")], ["py/1"])
        with self.assertRaises(pagurus.Conflict):
            self.client.register({**order, "params": {"name": "b"}})

    def test_what_is_wrong_is_reported_with_its_place(self):
        with self.assertRaises(pagurus.Invalid) as wrong:
            self.client.register({"id": "py-2", "scenario": "greet", "priority": "urgent"})
        self.assertEqual((wrong.exception.status, wrong.exception.errors[0]["pointer"]), (422, "/priority"))
        with self.assertRaises(pagurus.UnknownScenario):
            self.client.register({"id": "py-2", "scenario": "nothing"})
        with self.assertRaises(pagurus.NotFound):
            self.client.get("py-2")

    def test_a_request_is_answered_a_call_asks_and_actions_act(self):
        self.client.register({"id": "py-3", "scenario": "ask"})
        self.assertFalse(self.client.wait("py-3", timeout=1)["final"])
        self.assertEqual(self.client.call("py-3", "where")["answer"], {"place": "here"})
        with self.assertRaises(pagurus.Refused) as refused:
            self.client.restart("py-3", "too early")
        self.assertEqual(refused.exception.order_status, "wait")
        self.assertIn("wait", self.client.status("py-3")["status"])
        self.assertTrue(self.client.explain("py-3"))
        self.assertEqual(self.client.answer("nobody's", {"yes": True}, step_status="done"), "orphan")
        self.assertTrue(self.client.kill("py-3", "nobody waits for it")["final"])
        self.client.register({"id": "py-4", "scenario": "greet", "params": {"name": "b"}})
        self.client.wait("py-4", timeout=30)
        self.assertEqual(self.client.restart("py-4", "once more", **{"from": "initial"})["life"], 2)
        self.assertEqual(self.client.wait("py-4", timeout=30)["status"], "success")


if __name__ == "__main__":
    unittest.main()
